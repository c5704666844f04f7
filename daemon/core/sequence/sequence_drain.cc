// How a Sequence is drained, and what was withdrawn for every host leaves it: the part of
// sequence.h that releases ranges.
#include <algorithm>
#include <utility>

#include "daemon/core/history/gap_event.h"
#include "daemon/core/leasing/store_scope.h"
#include "daemon/core/sequence/sequence.h"

namespace seqd {

void Sequence::drain(std::int64_t deadline_ms, Drain::Done done) {
  // What was wanted so far is drained with the rest; who waits asks for himself.
  wanted_ = false;
  drain_.begin(settings_.reuse, deadline_ms, std::move(done));
}

void Sequence::end_period() {
  constexpr std::int64_t kLongestMs = 30'000;  // for a lease or return that is under way
  wanted_ = false;
  // Nobody will ask for parked IDs of this period.
  const Reuse reuse = settings_.reuse == Reuse::tail ? Reuse::tail : Reuse::never;
  drain_.begin(
      reuse, context_.clock.monotonic_ms() + kLongestMs, [](const DrainReport&) {},
      GapCause::period_end);
}

bool Sequence::counter_read(const CounterReading& reading) {
  if (reading.floor > reading.next_id && stopped_.ok()) {
    refuse({ErrorCode::SEQ_REGRESSED,
            "the counter of \"" + name() + "\" holds " + std::to_string(reading.next_id) +
                " as its next ID, below its floor, " + std::to_string(reading.floor) +
                ": it was set back; move it forward (seqctl advance)"});
  }
  // An advance for every host leaves a floor. Another copy has another one; its counter may be
  // higher, too, where other hosts leased from it.
  const std::int64_t raised = std::max(raised_to_, definition_.high_water);
  raised_to_ = scope_.restored() && reading.floor >= raised ? reading.floor : 0;
  floor_ = std::max(floor_, reading.floor);
  withdraw();
  touch();
  return !awaits_advance();
}

void Sequence::withdraw() {
  if (!scope_.owned() || !log_failure_.ok() || !ending_.ok()) return;
  // Nothing is issued until what has to leave has left.
  withdrawing_ = !context_.log.accepting();
  update_open();
  if (withdrawing_) return touch();
  flush_issues();
  for (const HeldRanges::Held& held : held_.take_below(floor_))
    leave(held, GapCause::superseded,
          "the counter was advanced to " + std::to_string(floor_) + " for every host");
  const std::int64_t last = settings_.last_position();
  for (const HeldRanges::Held& held : held_.take_above(last))
    leave(held, GapCause::out_of_bounds,
          settings_.progression.compiled != nullptr
              ? "the sequence ends before it now (sequence.max)"
              : "the highest ID is " + std::to_string(last) + " now (sequence.max_value)");
}

// What was issued of it is in the log already.
void Sequence::leave(const HeldRanges::Held& held, GapCause cause, const std::string& why) {
  const GapMade gap{id_, held.range.begin(), held.range.end(), cause, context_.clock.wall_ms()};
  written_off(gap.begin, gap.end);
  context_.log.append(gap);
  context_.events.raise(gap_event(gap, name(), held.lease, scope_.instance(), why));
}

ReturnRequest Sequence::return_request() const {
  ReturnRequest request;
  request.binding = settings_.binding;
  request.instance = scope_.instance();
  request.sequence = definition_.name;
  request.heartbeat = scope_.known_beat();
  return request;
}

void Sequence::written_off(std::int64_t begin, std::int64_t end) {
  totals_.gaps += end - begin;
  used_below_ = std::max(used_below_, end);
}

void Sequence::returned(std::int64_t begin, std::int64_t end, Reuse reuse) {
  totals_.returned += end - begin;
  if (reuse != Reuse::tail) return;
  // The counter was lowered: a lease may begin there, but never where IDs were used, in this turn
  // too, or are available.
  flush_issues();
  definition_.high_water = used_below_;
  for (const HeldRanges::Held& held : held_.ranges()) {
    definition_.high_water = std::max(definition_.high_water, held.range.end());
  }
}

void Sequence::drain_changed() {
  update_open();
  touch();
}

}  // namespace seqd
