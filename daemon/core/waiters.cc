#include "daemon/core/waiters.h"

#include <algorithm>
#include <limits>

#include "daemon/base/check.h"

namespace seqd {

void Waiters::push(const Waiter& waiter) {
  queue_.push_back(waiter);
  demand_ += waiter.count;
}

Waiter Waiters::pop() {
  CHECK(!queue_.empty());
  const Waiter waiter = queue_.front();
  queue_.pop_front();
  demand_ -= waiter.count;
  return waiter;
}

std::int64_t Waiters::earliest_deadline_ms() const {
  std::int64_t earliest = std::numeric_limits<std::int64_t>::max();
  for (const Waiter& waiter : queue_) earliest = std::min(earliest, waiter.deadline_ms);
  return earliest;
}

void Waiters::remove_if(const std::function<bool(const Waiter&)>& gone,
                        const std::function<void(const Waiter&)>& removed) {
  std::deque<Waiter> kept;
  for (const Waiter& waiter : queue_) {
    if (!gone(waiter)) {
      kept.push_back(waiter);
      continue;
    }
    demand_ -= waiter.count;
    removed(waiter);
  }
  queue_ = std::move(kept);
}

}  // namespace seqd
