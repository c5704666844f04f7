// Waiters: the requests of one sequence that wait for IDs, first in first out, each with a
// deadline. Bounded by the sequence (SequenceSettings::max_waiters). A value; loop thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>

#include "daemon/core/caller.h"

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
  const Waiter& front() const { return queue_.front(); }

  void push(const Waiter& waiter);
  Waiter pop();

  // The earliest deadline; only when not empty.
  std::int64_t earliest_deadline_ms() const;
  // Removes those that `gone` is true of, in order, handing each to `removed`.
  void remove_if(const std::function<bool(const Waiter&)>& gone,
                 const std::function<void(const Waiter&)>& removed);

 private:
  std::deque<Waiter> queue_;
  std::int64_t demand_ = 0;
};

}  // namespace seqd
