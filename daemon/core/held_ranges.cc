#include "daemon/core/held_ranges.h"

#include <algorithm>
#include <utility>

namespace seqd {

std::optional<std::int64_t> HeldRanges::next_id() const {
  if (ranges_.empty()) return std::nullopt;
  return ranges_.front().range.begin();
}

void HeldRanges::add(IdRange range, const Token& lease) {
  CHECK(!range.empty());
  in_hand_ += range.size();
  const std::int64_t begin = range.begin();
  ranges_.push_back({std::move(range), lease, begin, begin});
}

IdRange HeldRanges::take(std::int64_t at_most) {
  CHECK(issuable_ > 0 && at_most > 0);
  Held& front = ranges_.front();
  last_range_end_ = front.range.end();
  IdRange out = front.range.take_front(std::min(at_most, front.issuable_end - front.range.begin()));
  taken(out.size());
  return out;
}

std::vector<std::int64_t> HeldRanges::ask(std::int64_t wanted) {
  CHECK(asked_ == issuable_);
  std::vector<std::int64_t> ends;
  for (Held& held : ranges_) {
    if (asked_ >= wanted) break;
    const std::int64_t more = std::min(wanted - asked_, held.range.end() - held.asked_end);
    if (more == 0) continue;
    held.asked_end += more;
    asked_ += more;
    ends.push_back(held.asked_end);
  }
  return ends;
}

void HeldRanges::reservation_durable() {
  for (Held& held : ranges_) held.issuable_end = held.asked_end;
  issuable_ = asked_;
}

std::optional<HeldRanges::Held> HeldRanges::take_last() {
  if (ranges_.empty()) return std::nullopt;
  Held last = std::move(ranges_.back());
  ranges_.pop_back();
  in_hand_ -= last.range.size();
  issuable_ -= last.issuable_end - last.range.begin();
  asked_ -= last.asked_end - last.range.begin();
  return last;
}

std::vector<HeldRanges::Held> HeldRanges::take_below(std::int64_t floor) {
  std::vector<Held> taken;
  for (Held& held : ranges_) {
    if (held.range.begin() >= floor) continue;
    const std::int64_t begin = held.range.begin();
    const std::int64_t end = std::min(floor, held.range.end());
    in_hand_ -= end - begin;
    issuable_ -= std::min(held.issuable_end, end) - begin;
    asked_ -= std::min(held.asked_end, end) - begin;
    taken.push_back({held.range.take_front(end - begin), held.lease,
                     std::min(held.issuable_end, end), std::min(held.asked_end, end)});
    held.issuable_end = std::max(held.issuable_end, end);
    held.asked_end = std::max(held.asked_end, end);
  }
  std::erase_if(ranges_, [](const Held& held) { return held.range.empty(); });
  return taken;
}

std::vector<HeldRanges::Held> HeldRanges::take_above(std::int64_t last) {
  std::vector<Held> taken;
  for (Held& held : ranges_) {
    if (held.range.end() - 1 <= last) continue;
    const std::int64_t begin = std::max(held.range.begin(), last + 1);
    const std::int64_t end = held.range.end();
    in_hand_ -= end - begin;
    issuable_ -= std::max(held.issuable_end, begin) - begin;
    asked_ -= std::max(held.asked_end, begin) - begin;
    IdRange kept = held.range.take_front(begin - held.range.begin());
    taken.push_back({std::exchange(held.range, std::move(kept)), held.lease,
                     std::max(held.issuable_end, begin), std::max(held.asked_end, begin)});
    held.issuable_end = std::min(held.issuable_end, begin);
    held.asked_end = std::min(held.asked_end, begin);
  }
  std::erase_if(ranges_, [](const Held& held) { return held.range.empty(); });
  return taken;
}

std::deque<HeldRanges::Held> HeldRanges::surrender() {
  in_hand_ = issuable_ = asked_ = 0;
  return std::exchange(ranges_, {});
}

}  // namespace seqd
