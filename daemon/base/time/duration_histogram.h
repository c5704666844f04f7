// DurationHistogram: how many durations lie within each of a few bounds, and their sum: what a
// monitoring system makes quantiles of. The bounds suit a sync of a disk as well as a request to a
// database. A value; one thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace seqd {

class DurationHistogram {
 public:
  // Inclusive upper bounds in microseconds; what is longer counts in the last place, behind them.
  static constexpr std::array<std::int64_t, 16> kBoundsUs = {
      100,    250,     500,     1'000,   2'500,     5'000,     10'000,    25'000,
      50'000, 100'000, 250'000, 500'000, 1'000'000, 2'500'000, 5'000'000, 10'000'000};

  // A duration of `us` microseconds; a negative one (a clock of the tests) counts as 0.
  void add(std::int64_t us) {
    us = std::max<std::int64_t>(us, 0);
    const auto* const bound = std::lower_bound(kBoundsUs.begin(), kBoundsUs.end(), us);
    ++counts_[static_cast<std::size_t>(bound - kBoundsUs.begin())];
    sum_us_ += us;
  }

  // Those within kBoundsUs[at] and above the bound before it; at kBoundsUs.size(): above all.
  std::uint64_t within(std::size_t at) const { return counts_.at(at); }
  std::int64_t sum_us() const { return sum_us_; }

 private:
  std::array<std::uint64_t, kBoundsUs.size() + 1> counts_{};
  std::int64_t sum_us_ = 0;
};

}  // namespace seqd
