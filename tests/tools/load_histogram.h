// Histogram of latencies with log-linear buckets, as HdrHistogram has them: 64 buckets to each
// power of two, so a quantile is at most 1.6 % too high. Values are nanoseconds. Fixed memory; one
// thread. Belongs to the load generator, not to the product.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace seqd::load {

class Histogram {
 public:
  void add(std::uint64_t value, std::uint64_t times = 1) {
    buckets_[bucket_of(value)] += times;
    count_ += times;
    highest_ = std::max(highest_, value);
  }

  void add_all(const Histogram& other) {
    for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
      buckets_[bucket] += other.buckets_[bucket];
    }
    count_ += other.count_;
    highest_ = std::max(highest_, other.highest_);
  }

  void clear() { *this = Histogram(); }

  std::uint64_t count() const { return count_; }
  std::uint64_t highest() const { return highest_; }

  // The value that the share `quantile` (0..1) of all values does not exceed; 0 when there are
  // none.
  std::uint64_t quantile(double quantile) const {
    const auto wanted = static_cast<std::uint64_t>(quantile * static_cast<double>(count_));
    std::uint64_t seen = 0;
    for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
      seen += buckets_[bucket];
      if (seen > wanted) return std::min(end_of(bucket) - 1, highest_);
    }
    return highest_;
  }

 private:
  static constexpr unsigned kBits = 6;
  static constexpr std::size_t kPerPower = std::size_t{1} << kBits;

  static std::size_t bucket_of(std::uint64_t value) {
    if (value < kPerPower) return static_cast<std::size_t>(value);
    const auto shift = static_cast<unsigned>(std::bit_width(value)) - 1 - kBits;
    return (shift + 1) * kPerPower + static_cast<std::size_t>((value >> shift) - kPerPower);
  }

  // The lowest value that belongs to the next bucket.
  static std::uint64_t end_of(std::size_t bucket) {
    if (bucket < kPerPower) return bucket + 1;
    const std::size_t shift = bucket / kPerPower - 1;
    return (kPerPower + bucket % kPerPower + 1) << shift;
  }

  std::array<std::uint64_t, (64 - kBits + 1) * kPerPower> buckets_{};
  std::uint64_t count_ = 0;
  std::uint64_t highest_ = 0;
};

}  // namespace seqd::load
