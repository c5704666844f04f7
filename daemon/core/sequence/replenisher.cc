#include "daemon/core/sequence/replenisher.h"

#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/core/leasing/store_scope.h"
#include "daemon/core/log/state_bounds.h"
#include "daemon/core/sequence/sequence_budgets.h"

namespace seqd {
namespace {

LeaseSizer::Bounds bounds_of(const SequenceSettings& settings) {
  return {settings.lease_min, settings.lease_max, settings.lease_duration_ms};
}

}  // namespace

Replenisher::Replenisher(const SequenceContext& context, Owner& owner,
                         const SequenceSettings& settings)
    : context_(context), owner_(owner), sizer_(bounds_of(settings)) {}

LeaseOperation& Replenisher::operation() {
  if (operation_ == nullptr) {
    LeaseOperation::Owner& owner = *this;
    operation_ = std::make_unique<LeaseOperation>(context_.core, owner, owner_.id(), owner_.name());
    operation_->set_store(context_.scope.store());
    if (stopping_) operation_->stop();
  }
  return *operation_;
}

// --- when, and how many

void Replenisher::replenish(const HeldRanges& held, std::int64_t out, std::int64_t demand,
                            std::int64_t issued) {
  ASSERT(context_.scope.verified() && demand >= 0 && due(held, demand));
  const std::int64_t spare = held.available() - demand;
  const SequenceSettings& settings = owner_.settings();
  const std::int64_t room = settings.max_available - held.available() - out;
  // With little room left a lease would be tiny: wait until more is used, unless requests wait.
  if (room < (spare < 0 ? 1 : settings.lease_min)) return;
  // Many small available ranges (parked ones) would not fit a snapshot.
  if (static_cast<std::int64_t>(held.ranges().size()) >= StateBounds::kRangesIncluded &&
      !context_.budgets.may_hold_another_range()) {
    return owner_.cannot_lease({ErrorCode::BUSY, "the log has no room for another range of \"" +
                                                     owner_.name() + "\" (daemon.state_log_size)"});
  }
  const Status removed = check_counter_kept();
  if (!removed.ok()) return owner_.cannot_lease(removed);
  const std::int64_t size =
      sizer_.next_size(bounds_of(settings), context_.core.clock.monotonic_ms(), issued, spare <= 0);
  ASSERT(room >= 1 && size >= settings.lease_min && size <= settings.lease_max);
  operation().start(std::min(std::clamp(-spare, size, settings.lease_max), room));
}

void Replenisher::apply_settings() {
  mended();  // it may have been refused for the former ones, or a person has mended the counter
  sizer_.keep_within(bounds_of(owner_.settings()));
}

void Replenisher::mended() {
  failing_ = Status();
  if (operation_ != nullptr) operation_->mended();
}

void Replenisher::go_on() {
  if (operation_ != nullptr) operation_->go_on();
}

void Replenisher::stop() {
  stopping_ = true;
  if (operation_ != nullptr) operation_->stop();
}

// --- the lease

LeaseRequest Replenisher::lease_request() const {
  LeaseRequest request;
  request.binding = owner_.binding();
  request.instance = context_.scope.instance();
  request.sequence = owner_.name();
  request.high_water = owner_.high_water();
  request.max_value = owner_.settings().last_position();
  request.take_parked = owner_.settings().reuse == Reuse::parked;
  request.heartbeat = context_.scope.known_beat();
  return request;
}

void Replenisher::when_durable(std::function<void()> then) {
  context_.table.when_durable(owner_.id(), std::move(then));
}

// Where this host has leased, the high-water mark knows a counter that was removed.
Status Replenisher::check_counter_kept() const {
  return owner_.high_water() > 0 ? Status() : context_.table.check_not_removed(owner_.id());
}

void Replenisher::lease_granted(IdRange range, const Token& lease) {
  // One of the last process is continued, or abandoned, before another begins.
  ASSERT(!range.empty() && left_open_ == nullptr);
  context_.scope.note({});
  wanted_ = false;
  failing_ = Status();
  owner_.leased(std::move(range), lease);
}

void Replenisher::lease_failed(const Status& status) {
  owner_.lease_changed();
  context_.scope.note(as_seen_of_store(status));
  if (status.code() == ErrorCode::SEQ_REGRESSED) {
    if (context_.scope.refuses()) return;  // that error says more than this counter, and what to do
    owner_.counter_regressed(status);
    context_.scope.beat();  // the whole database may be an older copy
    return;
  }
  if (error_info(status.code()).retry == Retry::again) return;
  wanted_ = false;
  // The store counts ordinals, of which callers know nothing.
  const IdProgression* const progression = owner_.settings().progression.compiled.get();
  const bool has_progression = progression != nullptr && status.code() == ErrorCode::EXHAUSTED;
  failing_ = has_progression ? progression->exhausted(owner_.name()) : status;
  owner_.cannot_lease(failing_);
}

void Replenisher::lease_contended() {
  owner_.lease_changed();
  context_.scope.note({});
}

void Replenisher::lease_untraceable() {
  ASSERT(left_open_ == nullptr);
  wanted_ = false;
  owner_.leased_in_vain();
}

bool Replenisher::may_ask() const {
  return context_.scope.verified();
}

void Replenisher::met_older_copy() {
  owner_.lease_changed();
  context_.scope.found_restored();
}

// --- over the end of a process

void Replenisher::adopt() {
  if (left_open_ != nullptr) operation().adopt(*std::exchange(left_open_, nullptr));
}

void Replenisher::abandon() {
  if (left_open_ != nullptr) operation().abandon(*std::exchange(left_open_, nullptr));
  if (operation_ != nullptr) operation_->abandon_open();
}

void Replenisher::snapshot(const std::function<void(const LogEntry&)>& entry) const {
  const bool is_open = operation_ != nullptr && operation_->intent_open();
  ASSERT(!is_open || left_open_ == nullptr);
  if (is_open) {
    entry(operation_->intent());
  } else if (left_open_ != nullptr) {
    entry(*left_open_);
  }
}

}  // namespace seqd
