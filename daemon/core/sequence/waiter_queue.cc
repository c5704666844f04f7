#include "daemon/core/sequence/waiter_queue.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/core/sequence/sequence_budgets.h"

namespace seqd {

Status WaiterQueue::may_push(UserId user, std::int64_t places, const std::string& name) {
  const bool has_place =
      waiting_ == nullptr ? places >= 1 : waiting_->waiters.may_push(user, places);
  if (!has_place) {
    const std::int64_t own = waiting_ == nullptr ? 0 : waiting_->waiters.size_of(user);
    return {ErrorCode::BUSY,
            std::to_string(own) + " requests of this user and " + std::to_string(size()) +
                " in all wait for \"" + name +
                "\" already, and one user may not have all of the places (sequence.max_waiters)"};
  }
  const SequenceBudgets& budgets = context_.budgets;
  if (!budgets.may_wait(user)) {
    return {ErrorCode::BUSY,
            std::to_string(budgets.waiting_of(user)) + " requests of this user and " +
                std::to_string(budgets.waiting()) +
                " in all wait for IDs already, and one user may not have all of the " +
                std::to_string(budgets.waiting_places()) + " places"};
  }
  return {};
}

void WaiterQueue::push(const Caller& caller, IssueKind kind, std::int64_t count,
                       std::int64_t timeout_ms) {
  ASSERT(count >= 1 && timeout_ms > 0);
  if (waiting_ == nullptr) waiting_ = std::make_unique<Waiting>(context_.core.timers);
  const std::int64_t deadline_ms = context_.core.clock.monotonic_ms() + timeout_ms;
  if (deadline_ms < waiting_->timer_ms) waiting_->timer.cancel();
  waiting_->waiters.push({caller, kind, count, deadline_ms});
  context_.budgets.waiting_began(sequence_, caller);
  ASSERT(context_.budgets.waiting() >= size());
}

void WaiterQueue::leave(const Waiter& waiter) {
  ASSERT(context_.budgets.waiting() > size());
  context_.budgets.waiting_ended(sequence_, waiter.caller);
}

Waiter WaiterQueue::pop() {
  const Waiter waiter = waiting_->waiters.pop();
  leave(waiter);
  return waiter;
}

std::int64_t WaiterQueue::cancel(SessionId session, const Status& why) {
  std::int64_t cancelled = 0;
  if (empty()) return cancelled;
  while (const std::optional<Waiter> waiter = waiting_->waiters.take_of(session)) {
    leave(*waiter);
    if (!why.ok()) context_.core.replies.failed(waiter->caller, why);
    ++cancelled;
  }
  return cancelled;
}

void WaiterQueue::fail(const Status& why) {
  if (empty()) return;
  waiting_->waiters.remove_if([](const Waiter&) { return true; },
                              [&](const Waiter& waiter) {
                                leave(waiter);
                                context_.core.replies.failed(waiter.caller, why);
                              });
}

void WaiterQueue::fail_unserved(const Status& why, std::int64_t available) {
  if (empty()) return;
  const auto in_vain = [&available](const Waiter& waiter) {
    if (waiter.count > available) return true;
    available -= waiter.count;
    return false;
  };
  waiting_->waiters.remove_if(in_vain, [&](const Waiter& waiter) {
    leave(waiter);
    failed(waiter.count);
    context_.core.replies.failed(waiter.caller, why);
  });
}

void WaiterQueue::fail_above(std::int64_t most,
                             const std::function<Status(std::int64_t count)>& why) {
  if (empty()) return;
  const auto above = [most](const Waiter& waiter) { return waiter.count > most; };
  waiting_->waiters.remove_if(above, [&](const Waiter& waiter) {
    leave(waiter);
    context_.core.replies.failed(waiter.caller, why(waiter.count));
  });
}

void WaiterQueue::expire(const Status& why) {
  if (empty()) return;
  const std::int64_t now_ms = context_.core.clock.monotonic_ms();
  while (const std::optional<Waiter> waiter = waiting_->waiters.take_overdue(now_ms)) {
    leave(*waiter);
    failed(waiter->count);
    context_.core.replies.failed(waiter->caller, why);
  }
}

void WaiterQueue::end_turn(const std::function<void()>& overdue) {
  if (waiting_ == nullptr) return;
  if (waiting_->waiters.empty()) return waiting_.reset();
  if (waiting_->timer.running()) return;
  waiting_->timer_ms = waiting_->waiters.earliest_deadline_ms();
  waiting_->timer.start(waiting_->timer_ms - context_.core.clock.monotonic_ms(), overdue);
}

}  // namespace seqd
