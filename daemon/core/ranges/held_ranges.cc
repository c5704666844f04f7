#include "daemon/core/ranges/held_ranges.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

// Of the sums over all ranges. An ID that is issuable without a request is in no reservation.
void check_sums(std::int64_t issuable, std::int64_t asked, std::int64_t available) {
  ASSERT(0 <= issuable && issuable <= asked && asked <= available);
}

void check_bounds(const HeldRanges::Held& held) {
  ASSERT(!held.range.empty() && held.range.begin() <= held.issuable_end);
  ASSERT(held.issuable_end <= held.asked_end && held.asked_end <= held.range.end());
}

}  // namespace

std::optional<std::int64_t> HeldRanges::next_id() const {
  if (ranges_.empty()) return std::nullopt;
  return ranges_.front().range.begin();
}

std::int64_t HeldRanges::pieces(std::int64_t count) const {
  ASSERT(count <= available_);
  std::int64_t pieces = 0;
  for (auto held = ranges_.begin(); held != ranges_.end() && count > 0; ++held) {
    count -= held->range.size();
    ++pieces;
  }
  return pieces;
}

bool HeldRanges::has_some_of(std::int64_t begin, std::int64_t end) const {
  return std::any_of(ranges_.begin(), ranges_.end(), [&](const Held& held) {
    return held.range.begin() < end && begin < held.range.end();
  });
}

void HeldRanges::add(IdRange range, const Token& lease) {
  ASSERT(!range.empty());
  available_ += range.size();
  const std::int64_t begin = range.begin();
  ranges_.push_back({std::move(range), lease, begin, begin});
}

void HeldRanges::put_in_front(IdRange range, const Token& lease) {
  ASSERT(!range.empty());
  available_ += range.size();
  issuable_ += range.size();
  asked_ += range.size();
  if (!ranges_.empty() && ranges_.front().range.begin() == range.end() &&
      ranges_.front().lease == lease) {
    // The front has it again.
    ranges_.front().range = IdRange(range.begin(), ranges_.front().range.end());
  } else {
    const std::int64_t end = range.end();
    ranges_.push_front({std::move(range), lease, end, end});
  }
  check_bounds(ranges_.front());
  check_sums(issuable_, asked_, available_);
}

IdRange HeldRanges::take(std::int64_t at_most) {
  ASSERT(issuable_ > 0 && at_most > 0);
  Held& front = ranges_.front();
  check_bounds(front);
  // What may be issued is in front of all that may not.
  ASSERT(front.range.begin() < front.issuable_end);
  last_range_end_ = front.range.end();
  IdRange out = front.range.take_front(std::min(at_most, front.issuable_end - front.range.begin()));
  taken(out.size());
  return out;
}

std::vector<std::int64_t> HeldRanges::ask(std::int64_t wanted) {
  ASSERT(asked_ == issuable_);
  std::vector<std::int64_t> ends;
  for (Held& held : ranges_) {
    if (asked_ >= wanted) break;
    ASSERT(held.asked_end == held.issuable_end);
    const std::int64_t more = std::min(wanted - asked_, held.range.end() - held.asked_end);
    if (more == 0) continue;
    held.asked_end += more;
    asked_ += more;
    ends.push_back(held.asked_end);
  }
  check_sums(issuable_, asked_, available_);
  return ends;
}

void HeldRanges::reservation_durable() {
  for (Held& held : ranges_) {
    ASSERT(held.issuable_end <= held.asked_end);
    held.issuable_end = held.asked_end;
  }
  issuable_ = asked_;
  check_sums(issuable_, asked_, available_);
}

std::optional<HeldRanges::Held> HeldRanges::take_last() {
  if (ranges_.empty()) return std::nullopt;
  Held last = std::move(ranges_.back());
  check_bounds(last);
  ranges_.pop_back();
  available_ -= last.range.size();
  issuable_ -= last.issuable_end - last.range.begin();
  asked_ -= last.asked_end - last.range.begin();
  check_sums(issuable_, asked_, available_);
  return last;
}

std::vector<HeldRanges::Held> HeldRanges::take_below(std::int64_t floor) {
  return take_within(std::numeric_limits<std::int64_t>::min(), floor);
}

std::vector<HeldRanges::Held> HeldRanges::take_above(std::int64_t last) {
  ASSERT(last < std::numeric_limits<std::int64_t>::max());
  return take_within(last + 1, std::numeric_limits<std::int64_t>::max());
}

std::vector<HeldRanges::Held> HeldRanges::take_within(std::int64_t from, std::int64_t to) {
  std::vector<Held> taken;
  for (Held& held : ranges_) {
    const std::int64_t begin = std::max(held.range.begin(), from);
    const std::int64_t end = std::min(held.range.end(), to);
    if (begin >= end) continue;
    const bool front = begin == held.range.begin();
    ASSERT(front || end == held.range.end());
    IdRange part = held.range.take_front((front ? end : begin) - held.range.begin());
    if (!front) std::swap(part, held.range);
    taken.push_back({std::move(part), held.lease, std::clamp(held.issuable_end, begin, end),
                     std::clamp(held.asked_end, begin, end)});
    check_bounds(taken.back());
    available_ -= end - begin;
    issuable_ -= taken.back().issuable_end - begin;
    asked_ -= taken.back().asked_end - begin;
    held.issuable_end = std::clamp(held.issuable_end, held.range.begin(), held.range.end());
    held.asked_end = std::clamp(held.asked_end, held.range.begin(), held.range.end());
  }
  ranges_.erase_if([](const Held& held) { return held.range.empty(); });
  check_sums(issuable_, asked_, available_);
  return taken;
}

Fifo<HeldRanges::Held> HeldRanges::surrender() {
  available_ = issuable_ = asked_ = 0;
  return std::exchange(ranges_, {});
}

}  // namespace seqd
