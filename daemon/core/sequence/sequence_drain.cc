// The part of sequence.h that is about drains and returns: IDs that leave this host.
#include <algorithm>
#include <utility>

#include "daemon/core/leasing/store_scope.h"
#include "daemon/core/sequence/sequence.h"
#include "daemon/core/sequence/sequence_state.h"

namespace seqd {

void Sequence::drain(std::int64_t deadline_ms, Drain::Done done) {
  blocks_.end_all();
  // What was wanted so far is drained with the rest; waiting requests request leases themselves.
  want_nothing();
  drain_.begin(settings().reuse, deadline_ms, std::move(done), GapCause::drained,
               [this] { drain_changed(); });
}

void Sequence::end_period() {
  constexpr std::int64_t kLongestMs = 30'000;  // for a lease or return that is under way
  blocks_.end_all();
  // Parked IDs of this period would never be leased.
  const Reuse reuse = settings().reuse == Reuse::tail ? Reuse::tail : Reuse::never;
  drain_.begin(
      reuse, context_.core.clock.monotonic_ms() + kLongestMs, [](const DrainReport&) {},
      GapCause::period_end, [this] { drain_changed(); });
}

void Sequence::period_over() {
  want_nothing();
  if (!is_failing(*this) || stop_cause() != StopCause::none) return;
  // No request of today is for it, and so none fails.
  replenisher_.mended();
  touch();
}

void Sequence::want_nothing() {
  replenisher_.want_nothing();
  waiters_.enough();
}

void Sequence::end_drain() {
  if (drain_.active()) drain_.end(available(), slot_.returning());
}

void Sequence::drain_changed() {
  gate_.set_draining(drain_.active());
  touch();
}

// --- returns

// Where the counter was lowered, a lease may begin there, but never where IDs were used, in this
// turn too, or are available.
void Sequence::returned(const ReturnOpened& opened) {
  issuer_.note_returned(opened.end - opened.begin);
  if (opened.reuse == Reuse::tail) {
    append_issues();
    std::int64_t high_water = issuer_.used_below();
    for (const HeldRanges::Held& one : held().ranges())
      high_water = std::max(high_water, one.range.end());
    for (const Block* block : context_.table.blocks().of(id()))
      high_water = std::max(high_water, block->granted.end);
    definition_.set_high_water(high_water);
  }
  drain_.note_returned({opened.begin, opened.end});
  drain_changed();
}

void Sequence::kept(const ReturnOpened& opened, GapCause cause, const Status& why) {
  drain_.note_gap({opened.begin, opened.end}, why.text());
  const GapMade gap{id(), opened.begin, opened.end, cause, context_.core.clock.wall_ms()};
  issuer_.note_gap(gap, opened.token, why.text());
  drain_changed();
}

}  // namespace seqd
