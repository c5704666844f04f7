#include "daemon/base/backoff.h"

#include <algorithm>

#include "daemon/base/assertion.h"

namespace seqd {

std::int64_t Backoff::next_ms(Random& random) {
  ASSERT(step_ms_ >= kFirstMs && step_ms_ <= kMostMs);
  const std::int64_t half = step_ms_ / 2;
  const auto jitter =
      static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(half + 1));
  step_ms_ = std::min(step_ms_ * 2, kMostMs);
  return half + jitter;
}

std::int64_t Backoff::next_after_conflict_ms(Random& random) {
  ASSERT(conflict_step_ms_ >= kFirstConflictMs && conflict_step_ms_ <= kMostConflictMs);
  const auto delay_ms =
      static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(conflict_step_ms_ + 1));
  conflict_step_ms_ = std::min(conflict_step_ms_ * 2, kMostConflictMs);
  return delay_ms;
}

}  // namespace seqd
