// Waiters: the requests of one sequence that wait for IDs, first in first out, each with a
// deadline. Bounded by the sequence (SequenceSettings::max_waiters), and a user gets a share of
// that. Whoever leaves before its turn is found by its session or its deadline, not by walking past
// the others. Loop thread.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>

#include "daemon/base/fair_share.h"
#include "daemon/core/words/caller.h"

namespace seqd {

struct Waiter {
  Caller caller;
  IssueKind kind = IssueKind::single;
  std::int64_t count = 1;
  std::int64_t deadline_ms = 0;  // monotonic
};

class Waiters {
 public:
  bool empty() const { return queue_.empty(); }
  std::int64_t size() const { return static_cast<std::int64_t>(queue_.size()); }
  // IDs all of them together wait for.
  std::int64_t demand() const { return demand_; }
  const Waiter& front() const { return queue_.front().waiter; }

  // Whether another request of that user may wait, where there are so many places.
  bool may_push(UserId user, std::int64_t places) {
    share_.set_total(places);
    return share_.allows(user, 1);
  }
  std::int64_t size_of(UserId user) const { return share_.used_by(user); }
  void push(const Waiter& waiter);
  Waiter pop();
  // The oldest of that session; none when none of it waits.
  std::optional<Waiter> take_of(SessionId session);
  // One whose deadline is not after `now_ms`.
  std::optional<Waiter> take_overdue(std::int64_t now_ms);

  // The earliest deadline; only when not empty.
  std::int64_t earliest_deadline_ms() const { return by_deadline_.begin()->first; }
  // Removes those that `gone` is true of, in order, handing each to `removed`.
  void remove_if(const std::function<bool(const Waiter&)>& gone,
                 const std::function<void(const Waiter&)>& removed);

 private:
  struct Place;
  using Queue = std::list<Place>;
  struct Place {
    Waiter waiter;
    std::multimap<std::int64_t, Queue::iterator>::iterator by_deadline;
    std::multimap<SessionId, Queue::iterator>::iterator by_session;
  };

  Waiter take(Queue::iterator at);

  Queue queue_;
  std::multimap<std::int64_t, Queue::iterator> by_deadline_;
  std::multimap<SessionId, Queue::iterator> by_session_;
  std::int64_t demand_ = 0;
  FairShare share_{0, FairShare::kThreeQuarters};  // of the places
};

}  // namespace seqd
