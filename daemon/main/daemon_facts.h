// What the daemon reports about itself: the status line for systemd, the state of each store, and
// the log.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "daemon/core/table/sequence_table.h"
#include "daemon/main/config/config.h"
#include "daemon/main/stores.h"
#include "daemon/rpc/control.h"
#include "daemon/state/state_log.h"

namespace seqd {

// Called every second, so it does not visit every sequence.
std::string status_line(SequenceTable& table, std::size_t connections);
std::vector<StoreFacts> store_facts(const Configuration& configuration, const SequenceTable& table,
                                    const Stores& stores);
// Of the process and its log, which outlives the facts; nothing of the state or the stores.
DaemonFacts process_facts(const StateLog& log);

}  // namespace seqd
