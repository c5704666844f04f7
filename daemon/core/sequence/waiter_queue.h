// WaiterQueue: the requests that wait for IDs of one sequence, until they are served, cancelled or
// refused, or their time is over. Owned by its Sequence; loop thread.
#pragma once

#include <cstdint>
#include <functional>

#include "daemon/base/one_shot.h"
#include "daemon/core/context.h"
#include "daemon/core/sequence/sequence_owner.h"
#include "daemon/core/sequence/waiters.h"

namespace seqd {

class WaiterQueue {
 public:
  // `overdue` is called when the time of one is over; expire() is to follow. The referenced objects
  // outlive this.
  WaiterQueue(const CoreContext& context, SequenceOwner& table, const DefineSequence& definition,
              std::function<void()> overdue);

  bool empty() const { return waiters_.empty(); }
  std::int64_t size() const { return waiters_.size(); }
  std::int64_t demand() const { return waiters_.demand(); }  // IDs, of all of them
  const Waiter& front() const { return waiters_.front(); }

  // BUSY where this user may not have another of the `places`.
  Status may_push(UserId user, std::int64_t places);
  void push(const Caller& caller, IssueKind kind, std::int64_t count, std::int64_t timeout_ms);
  Waiter pop();
  // So many of that session leave. OK: without a reply.
  std::int64_t cancel(SessionId session, const Status& why);
  // Fails all waiters with `why`, except those that `available` IDs can serve.
  void fail(const Status& why, std::int64_t available = 0);
  // Fails the waiters that need more than `most` IDs.
  void fail_above(std::int64_t most, const std::function<Status(std::int64_t count)>& why);
  // Those whose time is over hear `why`.
  void expire(const Status& why);
  // Has overdue() called in time. Once a turn.
  void arm_timer();

 private:
  void leave(const Waiter& waiter);

  const CoreContext& context_;
  SequenceOwner& table_;
  const SequenceId sequence_;
  const std::string name_;
  const std::function<void()> overdue_;
  Waiters waiters_;
  OneShot timer_;  // fires at timer_ms_
  std::int64_t timer_ms_ = 0;
};

}  // namespace seqd
