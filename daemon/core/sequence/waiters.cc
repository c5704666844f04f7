#include "daemon/core/sequence/waiters.h"

#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {

void Waiters::push(const Waiter& waiter) {
  ASSERT(waiter.count >= 1);
  const auto at = queue_.insert(queue_.end(), {waiter, {}, {}});
  at->by_deadline = by_deadline_.emplace(waiter.deadline_ms, at);
  at->by_session = by_session_.emplace(waiter.caller.session, at);
  demand_ += waiter.count;
  share_.take(waiter.caller.user, 1);
  ASSERT(by_deadline_.size() == queue_.size() && by_session_.size() == queue_.size());
}

Waiter Waiters::take(Queue::iterator at) {
  const Waiter waiter = at->waiter;
  by_deadline_.erase(at->by_deadline);
  by_session_.erase(at->by_session);
  queue_.erase(at);
  demand_ -= waiter.count;
  ASSERT(demand_ >= 0 && queue_.empty() == (demand_ == 0));
  share_.release(waiter.caller.user, 1);
  ASSERT(by_deadline_.size() == queue_.size() && by_session_.size() == queue_.size());
  ASSERT(share_.used() == size());
  return waiter;
}

Waiter Waiters::pop() {
  ASSERT(!queue_.empty());
  return take(queue_.begin());
}

std::optional<Waiter> Waiters::take_of(SessionId session) {
  const auto found = by_session_.lower_bound(session);
  if (found == by_session_.end() || found->first != session) return std::nullopt;
  return take(found->second);
}

std::optional<Waiter> Waiters::take_overdue(std::int64_t now_ms) {
  if (by_deadline_.empty() || by_deadline_.begin()->first > now_ms) return std::nullopt;
  return take(by_deadline_.begin()->second);
}

void Waiters::remove_if(const std::function<bool(const Waiter&)>& gone,
                        const std::function<void(const Waiter&)>& removed) {
  for (auto at = queue_.begin(); at != queue_.end();) {
    const auto next = std::next(at);
    if (gone(at->waiter)) removed(take(at));
    at = next;
  }
}

}  // namespace seqd
