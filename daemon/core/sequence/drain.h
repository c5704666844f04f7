// Drain: the order to release everything that a sequence has available, and what became of it. As
// the sequence's option `reuse` says, ranges are written off as gaps or returned to the store, the
// last one first. Those that are not returned by the deadline stay available.
//
// Owned by its Sequence, which does what is ordered, once a turn. Loop thread.
//
// Invariant: a range is available, in the one return that is open, or recorded as a gap or
// returned.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/backoff.h"
#include "daemon/base/one_shot.h"
#include "daemon/core/leasing/store_operation.h"

namespace seqd {

struct DrainReport {
  struct Span {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  Reuse reuse = Reuse::never;
  std::vector<Span> returned;
  std::vector<Span> gaps;
  std::string why;             // the gaps are not returned; of the last one
  std::int64_t returning = 0;  // IDs of a return whose outcome is not known yet
  std::int64_t available = 0;  // IDs for which there was no time
};

class Drain {
 public:
  using Done = std::function<void(const DrainReport&)>;
  struct Order {
    explicit Order(Timers& timers) : timer(timers) {}
    Reuse reuse() const { return report.reuse; }
    GapCause cause = GapCause::drained;  // of what is written off
    std::int64_t deadline_ms = 0;
    OneShot timer;  // until the deadline
    DrainReport report;
    std::vector<Done> done;
  };

  // `open`: what the sequence has open at its store. Both outlive this.
  Drain(const CoreContext& context, const std::unique_ptr<StoreOperation>& open)
      : context_(context), open_(open) {}

  // Nothing may be issued or leased meanwhile.
  bool active() const { return order_ != nullptr; }
  // The sequence has ranges that leave: it is draining, or returns one.
  bool blocks_leases() const { return active() || returning() > 0; }
  // A return is with the log or the store.
  bool in_flight() const { return returning() > 0 && open_->in_flight(); }
  // How many wait for its end.
  std::size_t askers() const { return active() ? order_->done.size() : 0; }
  // IDs of the return that is open, or was when the daemon last ended.
  std::int64_t returning() const;
  std::optional<ReturnOpened> open_return() const;

  // Answers once, after this call, at `deadline_ms` at the latest. One that comes while another is
  // active has its answer: false. `late` is called at the deadline.
  bool begin(Reuse reuse, std::int64_t deadline_ms, Done done, GapCause cause,
             std::function<void()> late);
  // The order; only while active.
  const Order& order() const { return *order_; }
  bool is_late() const { return context_.clock.monotonic_ms() >= order_->deadline_ms; }
  // For the report, if there is to be one.
  void note_returned(DrainReport::Span span);
  void note_gap(DrainReport::Span span, const std::string& why);
  // Ends it, with so many IDs left; the caller then calls each `done` of the order.
  std::unique_ptr<const Order> end(std::int64_t available);

  // Until the open return is tried again; the next delay is longer.
  std::int64_t next_delay_ms(bool contended);
  void return_over() { backoff_ = nullptr; }

 private:
  const CoreContext& context_;
  const std::unique_ptr<StoreOperation>& open_;
  std::unique_ptr<Order> order_;
  std::unique_ptr<Backoff> backoff_;  // of the open return, once it has failed
};

}  // namespace seqd
