// WaiterQueue: the requests that wait for IDs of one sequence, until they are served, cancelled or
// refused, or reach their deadline; and whether too few IDs made a request fail, which makes a
// daemon not ready. Memory for waiting requests is allocated only while there are any. Owned by its
// Sequence; loop thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "daemon/base/one_shot.h"
#include "daemon/core/sequence/sequence_owner.h"
#include "daemon/core/sequence/waiters.h"

namespace seqd {

class WaiterQueue {
 public:
  // The context outlives this.
  WaiterQueue(const SequenceContext& context, SequenceId sequence)
      : context_(context), sequence_(sequence) {}

  bool empty() const { return waiting_ == nullptr || waiting_->waiters.empty(); }
  std::int64_t size() const { return waiting_ == nullptr ? 0 : waiting_->waiters.size(); }
  // IDs, of all of them.
  std::int64_t demand() const { return waiting_ == nullptr ? 0 : waiting_->waiters.demand(); }
  bool in_use() const { return waiting_ != nullptr; }  // end_turn() has something to do
  const Waiter& front() const { return waiting_->waiters.front(); }  // only when not empty

  // BUSY where this user may not have another of the `places`. `name`: of the sequence.
  Status may_push(UserId user, std::int64_t places, const std::string& name);
  void push(const Caller& caller, IssueKind kind, std::int64_t count, std::int64_t timeout_ms);
  Waiter pop();
  // So many of that session leave. OK: without a reply.
  std::int64_t cancel(SessionId session, const Status& why);
  void fail(const Status& why);  // all of them
  // Fails the waiters that `available` IDs cannot serve. Counts as failed().
  void fail_unserved(const Status& why, std::int64_t available);
  // Fails the waiters that need more than `most` IDs.
  void fail_above(std::int64_t most, const std::function<Status(std::int64_t count)>& why);
  // Fails the waiters whose deadline has passed. Counts as failed().
  void expire(const Status& why);
  // A request for so many IDs failed because fewer are available. Lasts until the owner calls
  // enough().
  void failed(std::int64_t count) {
    short_of_ = std::max(short_of_, count);
    refused_ += count;
    starved_ = true;
  }
  // The same of a request that did not wait, though a lease would have served it.
  void missed(std::int64_t count) {
    short_of_ = std::max(short_of_, count);
    refused_ += count;
  }
  void enough() { short_of_ = 0, starved_ = false; }
  bool starved() const { return starved_; }  // one failed() since enough()
  // IDs of the largest of these; 0: none failed.
  std::int64_t short_of() const { return short_of_; }
  std::int64_t refused() const { return refused_; }  // IDs that were requested in vain, ever
  // Once a turn, at its end. Has `overdue` called when the time of one is over; expire() is to
  // follow. Gives up what is not needed any more.
  void end_turn(const std::function<void()>& overdue);

 private:
  struct Waiting {
    explicit Waiting(Timers& timers) : timer(timers) {}
    Waiters waiters;
    OneShot timer;  // fires at timer_ms
    std::int64_t timer_ms = 0;
  };

  void leave(const Waiter& waiter);

  const SequenceContext& context_;
  std::unique_ptr<Waiting> waiting_;  // while a request waits, until the end of the turn
  const SequenceId sequence_;
  bool starved_ = false;
  std::int64_t short_of_ = 0, refused_ = 0;
};

}  // namespace seqd
