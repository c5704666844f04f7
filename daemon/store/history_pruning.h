// Drops from the history what is older, or more, than may be kept, a bounded number of rows at a
// time, and counts it. Within the transaction of a batch. See HistoryFile.
#pragma once

#include "daemon/store/history_file.h"

namespace seqd {

Status prune_history(HistoryDatabase& database, const HistoryLimits& limits, std::int64_t now_ms);

// Bytes of the file that hold something.
Result<std::int64_t> history_size(HistoryDatabase& database);

}  // namespace seqd
