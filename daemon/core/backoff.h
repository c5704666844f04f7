// Backoff: how long to wait before the next try: doubling, bounded, with jitter so that many hosts
// do not come back in step. Owned by whoever retries; loop thread.
#pragma once

#include <cstdint>

#include "daemon/base/random.h"

namespace seqd {

class Backoff {
 public:
  static constexpr std::int64_t kFirstMs = 50;
  static constexpr std::int64_t kMostMs = 10'000;

  // The delay before the next try, within [half, whole] of the current step; the step doubles.
  std::int64_t next_ms(Random& random);
  // The last try succeeded: start over.
  void reset() { step_ms_ = kFirstMs; }

 private:
  std::int64_t step_ms_ = kFirstMs;
};

}  // namespace seqd
