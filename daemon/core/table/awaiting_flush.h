// AwaitingFlush: who is told when a position of the log is on the medium. Of the SequenceTable.
#pragma once

#include <functional>

#include "daemon/core/log/log_types.h"
#include "daemon/core/log/remainder_log.h"

namespace seqd {

struct AwaitingFlush {
  LogPosition position = 0;
  SequenceId sequence = 0;  // 0: what is below
  ScopeId scope = 0;
  std::function<void()> purge = {};  // not null: of a purge
};

}  // namespace seqd
