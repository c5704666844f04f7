// AwaitingFlush: what follows when a position of the log is on the medium. Of the SequenceTable.
#pragma once

#include <deque>
#include <functional>

#include "daemon/core/log/remainder_log.h"
#include "daemon/core/words/log_types.h"

namespace seqd {

struct AwaitingFlush {
  LogPosition position = 0;
  SequenceId sequence = 0;  // of this one, which is not forgotten before; 0: of none
  std::function<void()> then;
};

// In the order of their positions.
using AwaitingFlushes = std::deque<AwaitingFlush>;

}  // namespace seqd
