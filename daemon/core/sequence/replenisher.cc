#include "daemon/core/sequence/replenisher.h"

#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/core/leasing/store_scope.h"
#include "daemon/core/log/state_bounds.h"
#include "daemon/core/table/sequence_accounts.h"

namespace seqd {

Replenisher::Replenisher(const CoreContext& context, Owner& owner, SequenceOwner& table,
                         StoreScope& scope, const SequenceSettings& settings,
                         const DefineSequence& definition)
    : context_(context),
      owner_(owner),
      table_(table),
      scope_(scope),
      settings_(settings),
      definition_(definition),
      sizer_(settings.lease_min, settings.lease_max, settings.lease_duration_ms),
      operation_(context, *this, definition.sequence, definition.name) {
  operation_.set_store(scope.store());
}

// --- when, and how many

void Replenisher::replenish(const HeldRanges& held, std::int64_t demand, std::int64_t issued) {
  ASSERT(scope_.verified() && demand >= 0);
  if (!operation_.idle() || left_open_) return;
  if (!wanted_ && demand == 0) return;
  const std::int64_t spare = held.available() - demand;
  if (spare > sizer_.size() / 2) return;
  const std::int64_t room = settings_.max_available - held.available();
  // With little room left a lease would be tiny: wait until more is used, unless somebody waits.
  if (room < (spare < 0 ? 1 : settings_.lease_min)) return;
  // Many small available ranges (parked ones) would not fit a snapshot.
  if (static_cast<std::int64_t>(held.ranges().size()) >= StateBounds::kRangesIncluded &&
      !table_.accounts().may_hold_another_range()) {
    return owner_.cannot_lease({ErrorCode::BUSY, "the log has no room for another range of \"" +
                                                     definition_.name +
                                                     "\" (daemon.state_log_size)"});
  }
  const std::int64_t size = sizer_.next_size(context_.clock.monotonic_ms(), issued, spare <= 0);
  ASSERT(room >= 1 && size >= settings_.lease_min && size <= settings_.lease_max);
  operation_.start(std::min(std::clamp(-spare, size, settings_.lease_max), room));
}

void Replenisher::apply_settings(bool ends_elsewhere) {
  if (ends_elsewhere) {
    operation_.mended();  // it may have been refused for the former end
    failing_ = Status();
  }
  sizer_.set_bounds(settings_.lease_min, settings_.lease_max, settings_.lease_duration_ms);
}

// --- the lease

LeaseRequest Replenisher::lease_request() const {
  LeaseRequest request;
  request.binding = settings_.binding;
  request.instance = scope_.instance();
  request.sequence = definition_.name;
  request.high_water = definition_.high_water;
  request.max_value = settings_.last_position();
  request.take_parked = settings_.reuse == Reuse::parked;
  request.heartbeat = scope_.known_beat();
  return request;
}

void Replenisher::when_durable(std::function<void()> then) {
  table_.when_durable(definition_.sequence, std::move(then));
}

void Replenisher::lease_granted(IdRange range, const Token& lease) {
  // One of the last process is taken up, or given up, before another begins.
  ASSERT(!range.empty() && !left_open_);
  scope_.note({});
  wanted_ = false;
  failing_ = Status();
  owner_.leased(std::move(range), lease);
}

void Replenisher::lease_failed(const Status& status) {
  owner_.lease_changed();
  scope_.note(as_seen_of_store(status));
  if (status.code() == ErrorCode::SEQ_REGRESSED) {
    if (scope_.refuses()) return;  // why it does says more than this counter, and what to do
    owner_.counter_regressed(status);
    scope_.beat();  // the whole database may be an older copy
    return;
  }
  if (error_info(status.code()).retry == Retry::again) return;
  wanted_ = false;
  // The store counts ordinals, of which callers know nothing.
  const bool has_progression =
      settings_.progression.compiled != nullptr && status.code() == ErrorCode::EXHAUSTED;
  failing_ = has_progression ? settings_.progression.compiled->exhausted(definition_.name) : status;
  owner_.cannot_lease(failing_);
}

void Replenisher::lease_contended() {
  owner_.lease_changed();
  scope_.note({});
}

void Replenisher::lease_untraceable() {
  ASSERT(!left_open_);
  wanted_ = false;
  owner_.leased_in_vain();
}

bool Replenisher::may_ask() const {
  return scope_.verified();
}

void Replenisher::met_older_copy() {
  owner_.lease_changed();
  scope_.found_restored();
}

// --- over the end of a process

void Replenisher::adopt() {
  if (left_open_) operation_.adopt(*std::exchange(left_open_, std::nullopt));
}

void Replenisher::abandon() {
  if (left_open_) operation_.abandon(*std::exchange(left_open_, std::nullopt));
  operation_.abandon_open();
}

void Replenisher::snapshot(const std::function<void(const LogEntry&)>& entry) const {
  ASSERT(!operation_.intent_open() || !left_open_);
  if (operation_.intent_open()) {
    entry(operation_.intent());
  } else if (left_open_) {
    entry(*left_open_);
  }
}

}  // namespace seqd
