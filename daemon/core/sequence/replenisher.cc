#include "daemon/core/sequence/replenisher.h"

#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/core/log/state_bounds.h"
#include "daemon/core/sequence/sequence_budgets.h"

namespace seqd {
namespace {

LeaseSizer::Bounds bounds_of(const SequenceSettings& settings) {
  return {settings.lease_min, settings.lease_max, settings.lease_duration_ms};
}

}  // namespace

Replenisher::Replenisher(const SequenceContext& context, const SequenceSettings& settings)
    : context_(context), sizer_(bounds_of(settings)) {}

// --- when, and how many

Result<std::int64_t> Replenisher::next_lease(const Facts& facts) {
  const auto& [name, settings, held, out, demand, issued] = facts;
  ASSERT(demand >= 0 && due(held, demand));
  const std::int64_t spare = held.available() - demand;
  const std::int64_t room = settings.max_available - held.available() - out;
  // With little room left a lease would be tiny: wait until more is used, unless requests wait.
  if (room < (spare < 0 ? 1 : settings.lease_min)) return 0;
  // Many small available ranges (parked ones) would not fit a snapshot.
  if (static_cast<std::int64_t>(held.ranges().size()) >= StateBounds::kRangesIncluded &&
      !context_.budgets.may_hold_another_range()) {
    return Status(ErrorCode::BUSY, "the log has no room for another range of \"" + name +
                                       "\" (daemon.state_log_size)");
  }
  const std::int64_t size =
      sizer_.next_size(bounds_of(settings), context_.core.clock.monotonic_ms(), issued, spare <= 0);
  ASSERT(room >= 1 && size >= settings.lease_min && size <= settings.lease_max);
  return std::min(std::clamp(-spare, size, settings.lease_max), room);
}

void Replenisher::apply_settings(const SequenceSettings& settings) {
  mended();  // it may have been refused for the former ones, or a person has mended the counter
  sizer_.keep_within(bounds_of(settings));
}

// --- what leases failed for

Replenisher::Failure& Replenisher::failure() {
  if (failure_ == nullptr) failure_ = std::make_unique<Failure>(context_.core.timers);
  return *failure_;
}

void Replenisher::granted() {
  wanted_ = false;
  failing_ = Status();
  failure_ = nullptr;
}

void Replenisher::abandoned() {
  wanted_ = false;
  failure_ = nullptr;
}

std::int64_t Replenisher::next_delay_ms(bool contended) {
  Backoff& backoff = failure().backoff;
  Random& random = context_.core.random;
  return contended ? backoff.next_after_conflict_ms(random) : backoff.next_ms(random);
}

void Replenisher::pause(std::int64_t delay_ms, std::function<void()> then) {
  failure().pause.start(delay_ms, std::move(then));
}

void Replenisher::fail_requests(const Status& why) {
  wanted_ = false;
  failing_ = why;
}

void Replenisher::mended() {
  failing_ = Status();
  if (pausing()) failure_ = nullptr;
}

void Replenisher::stop() {
  if (failure_ != nullptr) failure_->pause.cancel();
}

}  // namespace seqd
