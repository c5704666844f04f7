// The part of sequence.h that is about drains and returns: IDs that leave this host.
#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/core/leasing/return_operation.h"
#include "daemon/core/leasing/store_scope.h"
#include "daemon/core/sequence/sequence.h"
#include "daemon/core/sequence/sequence_state.h"

namespace seqd {
namespace {

// Ranges that are written off in one turn.
constexpr int kMostATurn = 256;

}  // namespace

void Sequence::drain(std::int64_t deadline_ms, Drain::Done done) {
  end_blocks();
  // What was wanted so far is drained with the rest; waiting requests request leases themselves.
  want_nothing();
  begin_drain(settings().reuse, deadline_ms, std::move(done), GapCause::drained);
}

void Sequence::end_period() {
  constexpr std::int64_t kLongestMs = 30'000;  // for a lease or return that is under way
  end_blocks();
  // Parked IDs of this period would never be leased.
  const Reuse reuse = settings().reuse == Reuse::tail ? Reuse::tail : Reuse::never;
  begin_drain(
      reuse, context_.core.clock.monotonic_ms() + kLongestMs, [](const DrainReport&) {},
      GapCause::period_end);
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

void Sequence::begin_drain(Reuse reuse, std::int64_t deadline_ms, Drain::Done done,
                           GapCause cause) {
  if (drain_.begin(reuse, deadline_ms, std::move(done), cause, [this] { drain_changed(); }))
    drain_changed();
}

// After everything that was issued is in the log.
void Sequence::step_drain() {
  const Drain::Order& order = drain_.order();
  const bool late = drain_.is_late();
  // Right after a start what is available is not ours yet.
  const bool busy = open_ != nullptr || floor_.is_advancing() || !context_.scope.verified();
  if (busy && !late) return;
  for (int left = kMostATurn; !busy && !late; --left) {
    // The rest in a later turn.
    if (left == 0 || !context_.core.log.accepting()) return drain_changed();
    const std::optional<HeldRanges::Held> last = issuer_.held().take_last();
    if (!last) break;
    const std::int64_t begin = last->range.begin();
    const std::int64_t end = last->range.end();
    if (order.reuse() != Reuse::never) {
      LeaseStore* const store = context_.scope.store();
      const Token token = store->new_token(context_.core.random, definition_.binding());
      StoreOperation::Owner& owner = *this;
      open_ = std::make_unique<ReturnOperation>(
          context_.core, owner, store,
          ReturnOpened{id(), token, begin, end, order.reuse(), context_.core.clock.wall_ms()},
          order.deadline_ms);
      return open_->begin();
    }
    issuer_.write_off(
        *last, order.cause,
        order.cause == GapCause::period_end ? "the period is over" : "it was drained");
    drain_.note_gap({begin, end}, "reuse is \"never\" for this sequence");
  }
  end_drain();
}

// What is still available stays so, and is issued again.
void Sequence::end_drain() {
  const std::unique_ptr<const Drain::Order> order = drain_.end(available());
  drain_changed();
  for (const Drain::Done& done : order->done) done(order->report);
}

// Whether it is active has changed, or there is something to do.
void Sequence::drain_changed() {
  gate_.set_draining(drain_.active());
  touch();
}

// --- returns

// The counter was lowered: a lease may begin there, but never where IDs were used, in this turn
// too, or are available.
void Sequence::lower_high_water() {
  flush_issues();
  std::int64_t high_water = issuer_.used_below();
  for (const HeldRanges::Held& one : held().ranges()) {
    high_water = std::max(high_water, one.range.end());
  }
  for (const Block* block : context_.table.blocks().of(id()))
    high_water = std::max(high_water, block->granted.end);
  definition_.set_high_water(high_water);
}

void Sequence::return_happened(const OperationEvent& event, const ReturnOpened& opened) {
  const std::string range =
      "[" + std::to_string(opened.begin) + ", " + std::to_string(opened.end) + ") of \"" + name();
  switch (event.kind) {
    case OperationEvent::Kind::returned:
      issuer_.note_returned(opened.end - opened.begin);
      if (opened.reuse == Reuse::tail) lower_high_water();
      drain_.note_returned({opened.begin, opened.end});
      context_.core.events.raise({EventKind::range_returned,
                                  range + "\" was returned to the store",
                                  {{"SEQUENCE", name()},
                                   {"FIRST", std::to_string(opened.begin)},
                                   {"COUNT", std::to_string(opened.end - opened.begin)},
                                   {"LEASE", to_hex(opened.token)}}});
      break;
    case OperationEvent::Kind::kept: {
      drain_.note_gap({opened.begin, opened.end}, event.why.text());
      const GapMade gap{id(), opened.begin, opened.end, event.cause, context_.core.clock.wall_ms()};
      issuer_.note_gap(gap, opened.token, event.why.text());
      break;
    }
    default:
      if (event.restored) return met_older_copy();
      context_.core.events.raise({EventKind::return_failed,
                                  range + "\" is not returned yet: " + event.why.to_string(),
                                  {{"SEQUENCE", name()}, {"LEASE", to_hex(opened.token)}}});
      if (!context_.refusals.winds_down())
        open_->go_on_after(drain_.next_delay_ms(event.contended));
      return;
  }
  drain_.return_over();
  drain_changed();
}

}  // namespace seqd
