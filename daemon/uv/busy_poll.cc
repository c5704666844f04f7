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
  fresh_ = true;
  if (std::find(recent_.begin(), recent_.end(), &source) != recent_.end()) return;
  if (recent_.size() < kMostSources) {
    recent_.push_back(&source);
    return;
  }
  oldest_ %= recent_.size();
  recent_[oldest_++] = &source;
}

void BusyPoll::forget(const Source& source) {
  std::erase(recent_, &source);
}

BusyPoll::Found BusyPoll::look() {
  if (recent_.empty()) return pause(Found::nothing);
  for (;;) {
    const std::uint64_t now_ns = now_ns_();
    if (std::exchange(fresh_, false)) until_ns_ = now_ns + limit_ns_;
    if (slice_ns_ == 0) slice_ns_ = now_ns + kSliceNs;
    if (now_ns >= until_ns_) {
      recent_.clear();
      return pause(Found::nothing);
    }
    if (now_ns >= slice_ns_) return pause(Found::everything);
    if (take_from_all()) return Found::input;
  }
}

// Of all in one turn, so that one that never rests does not keep the others waiting.
bool BusyPoll::take_from_all() {
  ASSERT(recent_.size() <= kMostSources);
  bool taken = false;
  for (std::size_t at = 0; at < recent_.size(); ++at) {
    if (recent_[at]->take_arrived()) taken = true;
  }
  return taken;
}

BusyPoll::Found BusyPoll::pause(Found found) {
  slice_ns_ = 0;
  return found;
}

}  // namespace seqd
