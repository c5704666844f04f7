// Backoff: how long to wait before the next try: doubling, bounded, with jitter so that many hosts
// do not come back in step. An unreachable store is tried less and less often; a conflict with
// other hosts ends within milliseconds, so the pause after it stays short and is spread over all of
// its step. Owned by the object that retries; loop thread.
#pragma once

#include <cstdint>

#include "daemon/base/random.h"

namespace seqd {

class Backoff {
 public:
  static constexpr std::int64_t kFirstMs = 50;
  static constexpr std::int64_t kMostMs = 10'000;
  static constexpr std::int64_t kFirstConflictMs = 20;
  static constexpr std::int64_t kMostConflictMs = 200;

  // The delay before the next try, within [half, whole] of the current step; the step doubles.
  std::int64_t next_ms(Random& random);
  // The same after a conflict, within [0, step] of a step of its own.
  std::int64_t next_after_conflict_ms(Random& random);
  // The last try succeeded: start over.
  void reset() { *this = Backoff(); }

 private:
  std::int64_t step_ms_ = kFirstMs;
  std::int64_t conflict_step_ms_ = kFirstConflictMs;
};

}  // namespace seqd
