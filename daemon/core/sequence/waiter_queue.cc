#include "daemon/core/sequence/waiter_queue.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/core/table/sequence_accounts.h"

namespace seqd {

WaiterQueue::WaiterQueue(const CoreContext& context, SequenceOwner& table,
                         const DefineSequence& definition, std::function<void()> overdue)
    : context_(context),
      table_(table),
      sequence_(definition.sequence),
      name_(definition.name),
      overdue_(std::move(overdue)),
      timer_(context.timers) {}

Status WaiterQueue::may_push(UserId user, std::int64_t places) {
  if (!waiters_.may_push(user, places)) {
    return {ErrorCode::BUSY,
            std::to_string(waiters_.size_of(user)) + " requests of this user and " +
                std::to_string(waiters_.size()) + " in all wait for \"" + name_ +
                "\" already, and one user may not have all of the places (sequence.max_waiters)"};
  }
  const SequenceAccounts& accounts = table_.accounts();
  if (!accounts.may_wait(user)) {
    return {ErrorCode::BUSY,
            std::to_string(accounts.waiting_of(user)) + " requests of this user and " +
                std::to_string(accounts.waiting()) +
                " in all wait for IDs already, and one user may not have all of the " +
                "places (limits.max_waiting)"};
  }
  return {};
}

void WaiterQueue::push(const Caller& caller, IssueKind kind, std::int64_t count,
                       std::int64_t timeout_ms) {
  ASSERT(count >= 1 && timeout_ms > 0);
  const std::int64_t deadline_ms = context_.clock.monotonic_ms() + timeout_ms;
  if (deadline_ms < timer_ms_) timer_.cancel();
  waiters_.push({caller, kind, count, deadline_ms});
  table_.accounts().waiting_began(sequence_, caller);
  ASSERT(table_.accounts().waiting() >= waiters_.size());
}

void WaiterQueue::leave(const Waiter& waiter) {
  ASSERT(table_.accounts().waiting() > waiters_.size());
  table_.accounts().waiting_ended(sequence_, waiter.caller);
}

Waiter WaiterQueue::pop() {
  const Waiter waiter = waiters_.pop();
  leave(waiter);
  return waiter;
}

std::int64_t WaiterQueue::cancel(SessionId session, const Status& why) {
  std::int64_t cancelled = 0;
  while (const std::optional<Waiter> waiter = waiters_.take_of(session)) {
    leave(*waiter);
    if (!why.ok()) context_.replies.failed(waiter->caller, why);
    ++cancelled;
  }
  return cancelled;
}

void WaiterQueue::fail(const Status& why, std::int64_t available) {
  const auto in_vain = [&available](const Waiter& waiter) {
    if (waiter.count > available) return true;
    available -= waiter.count;
    return false;
  };
  waiters_.remove_if(in_vain, [&](const Waiter& waiter) {
    leave(waiter);
    context_.replies.failed(waiter.caller, why);
  });
}

void WaiterQueue::fail_above(std::int64_t most,
                             const std::function<Status(std::int64_t count)>& why) {
  const auto above = [most](const Waiter& waiter) { return waiter.count > most; };
  waiters_.remove_if(above, [&](const Waiter& waiter) {
    leave(waiter);
    context_.replies.failed(waiter.caller, why(waiter.count));
  });
}

void WaiterQueue::expire(const Status& why) {
  const std::int64_t now_ms = context_.clock.monotonic_ms();
  while (const std::optional<Waiter> waiter = waiters_.take_overdue(now_ms)) {
    leave(*waiter);
    context_.replies.failed(waiter->caller, why);
  }
}

void WaiterQueue::arm_timer() {
  if (waiters_.empty() || timer_.running()) return;
  timer_ms_ = waiters_.earliest_deadline_ms();
  const std::int64_t delay_ms = timer_ms_ - context_.clock.monotonic_ms();
  timer_.start(delay_ms, overdue_);
}

}  // namespace seqd
