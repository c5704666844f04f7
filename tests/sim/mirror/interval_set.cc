#include "tests/sim/mirror/interval_set.h"

#include <algorithm>
#include <iterator>

namespace seqd::sim {

bool IntervalSet::overlaps(std::int64_t begin, std::int64_t end) const {
  const auto after = intervals_.lower_bound(end);
  return after != intervals_.begin() && std::prev(after)->second > begin;
}

bool IntervalSet::contains(std::int64_t begin, std::int64_t end) const {
  const auto after = intervals_.upper_bound(begin);
  return after != intervals_.begin() && std::prev(after)->second >= end;
}

bool IntervalSet::add_new(std::int64_t begin, std::int64_t end) {
  if (overlaps(begin, end)) return false;
  add(begin, end);
  return true;
}

void IntervalSet::add(std::int64_t begin, std::int64_t end) {
  if (begin >= end) return;
  auto at = intervals_.upper_bound(begin);
  if (at != intervals_.begin() && std::prev(at)->second >= begin) {
    --at;
    at->second = std::max(at->second, end);
  } else {
    at = intervals_.emplace_hint(at, begin, end);
  }
  for (auto next = std::next(at); next != intervals_.end() && next->first <= at->second;) {
    at->second = std::max(at->second, next->second);
    next = intervals_.erase(next);
  }
}

void IntervalSet::add(const IntervalSet& other) {
  for (const auto& [begin, end] : other.intervals_) add(begin, end);
}

void IntervalSet::remove(std::int64_t begin, std::int64_t end) {
  if (begin >= end) return;
  auto at = intervals_.upper_bound(begin);
  if (at != intervals_.begin() && std::prev(at)->second > begin) --at;
  while (at != intervals_.end() && at->first < end) {
    const auto [from, to] = *at;
    at = intervals_.erase(at);
    if (from < begin) intervals_.emplace(from, begin);
    if (to > end) at = intervals_.emplace(end, to).first;
  }
}

void IntervalSet::remove(const IntervalSet& other) {
  for (const auto& [begin, end] : other.intervals_) remove(begin, end);
}

std::int64_t IntervalSet::size() const {
  std::int64_t sum = 0;
  for (const auto& [begin, end] : intervals_) sum += end - begin;
  return sum;
}

}  // namespace seqd::sim
