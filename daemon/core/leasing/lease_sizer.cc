#include "daemon/core/leasing/lease_sizer.h"

#include <algorithm>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

// One lease changes the size by these factors at most: up fast, because too small a size makes
// callers wait.
constexpr std::int64_t kGrow = 8;
constexpr std::int64_t kShrink = 2;

}  // namespace

LeaseSizer::LeaseSizer(const Bounds& bounds) : size_(bounds.min) {
  keep_within(bounds);
}

void LeaseSizer::keep_within(const Bounds& bounds) {
  ASSERT(bounds.min >= 1 && bounds.min <= bounds.max && bounds.target_ms >= 1);
  size_ = std::clamp(size_, bounds.min, bounds.max);
}

std::int64_t LeaseSizer::next_size(const Bounds& bounds, std::int64_t now_ms, std::int64_t issued,
                                   bool starved) {
  if (last_ms_ >= 0) {
    const std::int64_t elapsed_ms = std::max<std::int64_t>(now_ms - last_ms_, 1);
    const auto used = static_cast<double>(issued - last_issued_);
    const double ideal =
        used * static_cast<double>(bounds.target_ms) / static_cast<double>(elapsed_ms);
    const double low = static_cast<double>(size_) / static_cast<double>(kShrink);
    const double high = static_cast<double>(size_) * static_cast<double>(kGrow);
    size_ = static_cast<std::int64_t>(
        std::clamp(ideal, starved ? static_cast<double>(size_) : low, high));
    size_ = std::clamp(size_, bounds.min, bounds.max);
  }
  last_ms_ = now_ms;
  last_issued_ = issued;
  return size_;
}

}  // namespace seqd
