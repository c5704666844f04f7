// Drops from the history what is older, or more, than may be kept, a bounded number of rows at a
// time, and counts it. Within a transaction. See HistoryFile.
//
// Rows are dropped in the order in which they were written; of what there is no room for,
// the leases or the issues of one user, whichever are most, and gaps last. One is too
// old by its own date; or, if that is in the future because the clock was ahead, by the date of a
// stamp that was made behind it: "up to these numbers everything was written by then".
#pragma once

#include "daemon/store/history/history_file.h"

namespace seqd {

struct Pruned {
  bool dropped = false;  // something is gone
  bool more = false;     // more may be too old: to be called again
};
// Removes the sequence of that row if the daemon has it no more and nothing of it is left.
Status drop_ended_sequence(HistoryDatabase& database, std::int64_t row);
Result<Pruned> prune_history(HistoryDatabase& database, const HistoryLimits& limits,
                             SpanShares& shares, std::int64_t now_ms);

// Bytes of the file that hold something.
Result<std::int64_t> history_used_bytes(HistoryDatabase& database);

}  // namespace seqd
