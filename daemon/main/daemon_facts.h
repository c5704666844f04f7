// What a daemon tells of itself: to systemd in a line, to clients by store.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "daemon/core/table/sequence_table.h"
#include "daemon/main/config/config.h"
#include "daemon/main/stores.h"
#include "daemon/rpc/control.h"

namespace seqd {

// Every second: it does not walk past all sequences.
std::string status_line(const SequenceTable& table, const SequenceAccounts::Sums& sums,
                        std::size_t connections);
std::vector<StoreFacts> store_facts(const Configuration& configuration, const SequenceTable& table,
                                    const Stores& stores);

}  // namespace seqd
