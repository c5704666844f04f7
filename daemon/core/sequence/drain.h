// Drain: the order to release everything that a sequence has available, and what became of it. As
// the sequence's option `reuse` says, ranges are written off as gaps or returned to the store, the
// last one first. Those that are not returned by the deadline stay available.
//
// Owned by its Sequence, which has it take a step once a turn. Loop thread.
//
// Invariant: a range is available, in the one return that is open, or recorded as a gap or
// returned.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/one_shot.h"
#include "daemon/core/sequence/issuer.h"
#include "daemon/core/sequence/lease_slot.h"

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

  // The context outlives this.
  explicit Drain(const CoreContext& context) : context_(context) {}

  // Nothing may be issued or leased meanwhile.
  bool active() const { return order_ != nullptr; }
  // How many wait for its end.
  std::size_t askers() const { return active() ? order_->done.size() : 0; }

  // Orders it. Answers once, after this call, at `deadline_ms` at the latest. One that comes while
  // another is active has its answer. `cause`: of what is written off. `changed` is called when the
  // drain begins and ends, and when step() has something to do.
  void begin(Reuse reuse, std::int64_t deadline_ms, Done done, GapCause cause,
             std::function<void()> changed);
  // Writes off what is available, or returns a part of it; ends when nothing is left, or it is
  // late. Only while active, after everything that was issued is in the log. `busy`: what is
  // available may not leave yet.
  void step(Issuer& issuer, LeaseSlot& slot, bool busy);
  // Ends it, with so many IDs left. They stay available, and are issued again.
  void end(std::int64_t available, std::int64_t returning);
  // For the report, if there is to be one.
  void note_returned(DrainReport::Span span);
  void note_gap(DrainReport::Span span, const std::string& why);

 private:
  struct Order {
    explicit Order(Timers& timers) : timer(timers) {}
    GapCause cause = GapCause::drained;
    std::int64_t deadline_ms = 0;
    OneShot timer;  // until the deadline
    DrainReport report;
    std::vector<Done> done;
    std::function<void()> changed;
  };

  const CoreContext& context_;
  std::unique_ptr<Order> order_;
};

}  // namespace seqd
