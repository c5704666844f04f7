// The part of sequence.h that is about drains: IDs that leave this host.
#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/core/leasing/store_scope.h"
#include "daemon/core/sequence/sequence.h"

namespace seqd {

void Sequence::drain(std::int64_t deadline_ms, Drain::Done done) {
  end_blocks();
  // What was wanted so far is drained with the rest; waiting requests request leases themselves.
  want_nothing();
  drain_.begin(settings_->reuse, deadline_ms, std::move(done));
}

void Sequence::end_period() {
  constexpr std::int64_t kLongestMs = 30'000;  // for a lease or return that is under way
  end_blocks();
  // Parked IDs of this period would never be leased.
  const Reuse reuse = settings_->reuse == Reuse::tail ? Reuse::tail : Reuse::never;
  drain_.begin(
      reuse, context_.core.clock.monotonic_ms() + kLongestMs, [](const DrainReport&) {},
      GapCause::period_end);
}

void Sequence::period_over() {
  want_nothing();
  if (!refuses() || stop() != Stop::none) return;
  // No request of today is for it, and so none fails.
  replenisher_.mended();
  touch();
}

void Sequence::want_nothing() {
  replenisher_.want_nothing();
  waiters_.enough();
}

// Right after a start what is available is not ours yet.
bool Sequence::may_drain() const {
  return !leasing() && advances_ == 0 && context_.scope.verified();
}

ReturnRequest Sequence::return_request() const {
  ReturnRequest request;
  request.binding = binding();
  request.instance = context_.scope.instance();
  request.sequence = name();
  request.heartbeat = context_.scope.known_beat();
  return request;
}

void Sequence::returned(std::int64_t begin, std::int64_t end, Reuse reuse) {
  ASSERT(begin < end && !leasing());
  returned_ += end - begin;
  if (reuse != Reuse::tail) return;
  // The counter was lowered: a lease may begin there, but never where IDs were used, in this turn
  // too, or are available.
  flush_issues();
  high_water_ = issuer_.used_below();
  for (const HeldRanges::Held& one : held().ranges()) {
    high_water_ = std::max(high_water_, one.range.end());
  }
  for (const Block* block : context_.table.blocks().of(id()))
    high_water_ = std::max(high_water_, block->granted.end);
}

void Sequence::drain_changed() {
  gate_.set_draining(drain_.active());
  touch();
}

}  // namespace seqd
