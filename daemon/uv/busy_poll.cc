#include "daemon/uv/busy_poll.h"

#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {

void BusyPoll::set_limit(std::int64_t limit_ms) {
  ASSERT(limit_ms >= 0);
  limit_ns_ = static_cast<std::uint64_t>(limit_ms) * 1'000'000;
  if (limit_ns_ == 0) recent_.clear();
}

void BusyPoll::keep(Source& source) {
  const Recent latest = {&source, ++requests_};
  const auto found = std::find_if(recent_.begin(), recent_.end(),
                                  [&](const Recent& one) { return one.source == &source; });
  if (found != recent_.end()) {
    *found = latest;
  } else if (recent_.size() < kMostSources) {
    recent_.push_back(latest);
  } else {
    const auto earlier = [](const Recent& one, const Recent& other) {
      return one.request < other.request;
    };
    *std::min_element(recent_.begin(), recent_.end(), earlier) = latest;
  }
}

void BusyPoll::forget(const Source& source) {
  std::erase_if(recent_, [&](const Recent& one) { return one.source == &source; });
}

BusyPoll::Found BusyPoll::look() {
  for (;;) {
    if (recent_.empty()) return pause(Found::nothing);
    const std::uint64_t now_ns = now_ns_();
    if (slice_ns_ == 0) slice_ns_ = now_ns + kSliceNs;
    drop_rested(now_ns);
    if (now_ns >= slice_ns_) return pause(Found::everything);
    if (take_from_all()) return Found::input;
  }
}

void BusyPoll::drop_rested(std::uint64_t now_ns) {
  for (Recent& one : recent_) {
    if (std::exchange(one.fresh, false)) one.until_ns = now_ns + limit_ns_;
  }
  std::erase_if(recent_, [&](const Recent& one) { return one.until_ns <= now_ns; });
}

// Of all in one turn, so that one that never rests does not keep the others waiting. It may become
// fresh by that; recent_ changes in nothing else.
bool BusyPoll::take_from_all() {
  ASSERT(recent_.size() <= kMostSources);
  bool taken = false;
  for (const Recent& one : recent_) {
    if (one.source->take_arrived()) taken = true;
  }
  return taken;
}

BusyPoll::Found BusyPoll::pause(Found found) {
  slice_ns_ = 0;
  return found;
}

}  // namespace seqd
