// What the daemon reports about itself: the status line for systemd, and the state of each store.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "daemon/core/table/sequence_table.h"
#include "daemon/main/config/config.h"
#include "daemon/main/stores.h"
#include "daemon/rpc/control.h"

namespace seqd {

// Called every second, so it does not visit every sequence.
std::string status_line(const SequenceTable& table, const SequenceAccounts::Sums& sums,
                        std::size_t connections);
std::vector<StoreFacts> store_facts(const Configuration& configuration, const SequenceTable& table,
                                    const Stores& stores);

}  // namespace seqd
