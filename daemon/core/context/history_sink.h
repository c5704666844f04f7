// HistorySink: receives every issue with its caller, for the history. Everything else in the
// history comes from the log's entries (see history_log.h). Loop thread; must not call back into
// the core.
#pragma once

#include <cstdint>

#include "daemon/core/words/caller.h"

namespace seqd {

class HistorySink {
 public:
  virtual ~HistorySink() = default;
  // [begin, end) went to `session` in this turn. The log records the same IDs in this turn, perhaps
  // in other pieces. Called once for IDs that one session took one after the other.
  virtual void issued(SequenceId sequence, std::int64_t begin, std::int64_t end,
                      SessionId session) = 0;
};

}  // namespace seqd
