#include "daemon/core/backoff.h"

#include <algorithm>

namespace seqd {

std::int64_t Backoff::next_ms(Random& random) {
  const std::int64_t half = step_ms_ / 2;
  const auto jitter =
      static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(half + 1));
  step_ms_ = std::min(step_ms_ * 2, kMostMs);
  return half + jitter;
}

}  // namespace seqd
