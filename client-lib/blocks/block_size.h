// BlockSize: how many IDs the next block of a thread is to have: as many as the thread takes in a
// while, so that it sends a few requests a second and keeps few IDs from others; never more than
// `bound`. One thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>

namespace seqd::engine {

class BlockSize {
 public:
  static constexpr std::int64_t kFirst = 64;
  static constexpr std::int64_t kMost = 1'000'000;
  static constexpr std::int64_t kLeast = 16;  // that are left of a refused one
  static constexpr std::int64_t kShortMs = 100;
  static constexpr std::int64_t kLongMs = 10'000;

  explicit BlockSize(std::int64_t bound = kMost)
      : bound_(bound), ids_(std::min(kFirst, bound)), most_(bound) {}

  std::int64_t ids() const { return ids_; }
  // A block was used up after so long.
  void lasted(std::int64_t ms) {
    if (ms < kShortMs) ids_ = std::min(ids_ * 2, most_);
    if (ms > kLongMs) ids_ = std::max<std::int64_t>(ids_ / 2, 1);
  }
  // There was no room for it beside the present one. It is tried again after a while: others may
  // have less by then. A daemon has no room for fewer IDs than kLeast either.
  void refused() {
    ids_ = std::min(ids_, std::max(ids_ / 2, kLeast));
    most_ = std::min(bound_, std::max(ids_, kLeast));
    granted_ = 0;
  }
  void granted() {
    if (++granted_ % kAgain == 0) most_ = std::min(most_ * 2, bound_);
  }

 private:
  static constexpr std::uint32_t kAgain = 32;  // blocks

  std::int64_t bound_;
  std::int64_t ids_;
  std::int64_t most_;
  std::uint32_t granted_ = 0;
};

}  // namespace seqd::engine
