// IdleTrim: gives memory that is free inside of the process back to the system when the daemon
// rests: what a start, a storm of requests or a reload needed may be as much as everything that
// stays. Not while it works, since that takes milliseconds. Owned by the Daemon; loop thread.
#pragma once

#include <malloc.h>

#include "daemon/core/log/remainder_log.h"

namespace seqd {

class IdleTrim {
 public:
  // To be called regularly. `position`: of the log; if it has changed since the last call, the
  // daemon is not idle.
  void check(LogPosition position) {
    const bool rests = position == seen_;
    seen_ = position;
    if (!rests || position == trimmed_) return;
    malloc_trim(0);
    trimmed_ = position;
  }

 private:
  static constexpr LogPosition kNone = ~LogPosition{0};

  LogPosition seen_ = kNone;
  LogPosition trimmed_ = kNone;
};

}  // namespace seqd
