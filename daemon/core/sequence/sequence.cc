#include "daemon/core/sequence/sequence.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "daemon/core/leasing/store_scope.h"
#include "daemon/core/log/state_bounds.h"
#include "daemon/core/table/sequence_accounts.h"

namespace seqd {
namespace {

constexpr std::int64_t kFirstReservation = 64;
// A reservation used up faster than this was too small; one that lasted longer than the other was
// too large.
constexpr std::int64_t kReservationShortMs = 50;
constexpr std::int64_t kReservationLongMs = 5'000;

}  // namespace

Sequence::Sequence(const CoreContext& context, SequenceOwner& attention,
                   const SequenceSettings& settings, StoreScope& scope,
                   const DefineSequence& definition)
    : context_(context),
      attention_(attention),
      scope_(scope),
      id_(definition.sequence),
      settings_(settings),
      definition_(definition),
      sizer_(settings.lease_min, settings.lease_max, settings.lease_duration_ms),
      lease_(context, *this, definition.sequence, definition.name),
      drain_(context, *this, held_, definition.sequence, definition.name),
      pending_(context.history),
      reserve_size_(std::min(kFirstReservation, settings.max_unsynced)),
      used_below_(definition.high_water) {
  totals_.sequence = id_;
  lease_.set_store(scope.store());
  drain_.set_store(scope.store());
  update_open();
}

Sequence::~Sequence() {
  context_.timers.cancel(deadline_timer_);
}

std::string_view Sequence::state_name() const {
  if (!stopped_.ok() || !failing_.ok()) return "stopped";
  if (!waiters_.empty()) return "waiting";
  return lease_.idle() ? "ready" : "fetching";
}

Status Sequence::error() const {
  if (!stopped_.ok()) return stopped_;
  if (!failing_.ok()) return failing_;
  return lease_.last_error().ok() ? scope_.last_error() : lease_.last_error();
}

void Sequence::update_open() {
  open_ = scope_.owned() && stopped_.ok() && ending_.ok() && refusing_.ok() && !drain_.active() &&
          held_until_ == 0 && !withdrawing_;
}

void Sequence::hold() {
  if (held_until_ == context_.log.next_position()) return;
  held_until_ = context_.log.next_position();
  attention_.wait_durable(id_);
  update_open();
}

void Sequence::touch() {
  if (touched_) return;
  touched_ = true;
  attention_.touched(id_);
}

// --- issuing
// -------------------------------------------------------------------------------------------------------

void Sequence::note_issue(std::int64_t begin, std::int64_t end, const Caller& caller, IssueAs as) {
  wanted_ = true;
  last_issued_ = end - 1;
  touch();
  const Issued issue =
      as_recorded({id_, begin, end, caller.client, caller.request, as.kind, as.wall_s});
  if (pending_.merge(issue, held_.last_range_end(), caller.session)) return;
  if (pending_.empty()) attention_.accounts().issuing(id_);
  flush_issues();
  pending_.begin(issue, held_.last_range_end(), caller.session);
}

void Sequence::flush_issues() {
  if (pending_.empty()) return;
  const Issued issued = pending_.take();
  totals_.issued += issued.end - issued.begin;
  used_below_ = std::max(used_below_, issued.end);
  context_.log.append(issued);
  if (issued.client != 0) attention_.recorded(issued);
}

bool Sequence::issue_many(const Caller& caller, std::int64_t count, std::vector<Run>* runs) {
  if (!waiters_.empty() || !open_ || held_.issuable() < count) return false;
  if (!attention_.accounts().may_keep(caller.client, held_.pieces(count))) return false;
  while (count > 0) {
    const IdRange range = held_.take(count);
    count -= range.size();
    note_issue(range.begin(), range.end(), caller, {IssueKind::batch});
    add_run(*runs, {range.begin(), range.size(), 1});
  }
  return true;
}

// --- deciding, once a turn
// -----------------------------------------------------------------------------------------

void Sequence::pump() {
  touched_ = false;
  flush_issues();
  if (withdrawing_) withdraw();
  serve_waiters();
  flush_issues();
  if (!log_failure_.ok()) {
    fail_waiters(log_failure_);
  } else {
    drain_.step();
    if (open_ && !context_.log.accepting()) touch();  // again in the next turn
    if (open_ && context_.log.accepting()) reserve();
    if (open_ && scope_.verified() && context_.log.accepting()) lease();
  }
  arm_deadline();
}

void Sequence::resize_reservation() {
  const std::int64_t now_ms = context_.clock.monotonic_ms();
  const std::int64_t lasted_ms = now_ms - reserved_at_ms_;
  if (reserved_at_ms_ > 0 && lasted_ms < kReservationShortMs) {
    reserve_size_ = std::min(reserve_size_ * 4, settings_.max_unsynced);
  } else if (lasted_ms > kReservationLongMs) {
    reserve_size_ =
        std::max(reserve_size_ / 2, std::min(kFirstReservation, settings_.max_unsynced));
  }
  reserved_at_ms_ = now_ms;
}

void Sequence::reserve() {
  if (reserving_ != 0) return;
  const std::int64_t demand = std::min(waiters_.demand(), held_.available());
  if (held_.asked() > reserve_size_ / 2 && held_.asked() >= demand) return;
  if (held_.asked() == held_.available()) return;
  resize_reservation();
  for (const std::int64_t end : held_.ask(std::max(reserve_size_, demand))) {
    context_.log.append(Reserved{id_, end});
  }
  reserving_ = context_.log.next_position();
  attention_.wait_durable(id_);
}

void Sequence::lease() {
  if (!lease_.idle() || left_open_ || drain_.blocks_leases()) return;
  if (!wanted_ && waiters_.empty()) return;
  const std::int64_t spare = held_.available() - waiters_.demand();
  if (spare > sizer_.size() / 2) return;
  const std::int64_t room = settings_.max_available - held_.available();
  // With little room left a lease would be tiny: wait until more is used, unless somebody waits.
  if (room < (spare < 0 ? 1 : settings_.lease_min)) return;
  // Many small available ranges (parked ones) would not fit a snapshot.
  if (static_cast<std::int64_t>(held_.ranges().size()) >= StateBounds::kRangesIncluded &&
      !attention_.accounts().may_hold_another_range()) {
    return fail_waiters({ErrorCode::BUSY, "the log has no room for another range of \"" + name() +
                                              "\" (daemon.state_log_size)"},
                        held_.available());
  }
  const std::int64_t size =
      sizer_.next_size(context_.clock.monotonic_ms(), totals_.issued, spare <= 0);
  lease_.start(std::min(std::clamp(-spare, size, settings_.lease_max), room));
}

void Sequence::durable(LogPosition position) {
  if (reserving_ != 0 && reserving_ <= position) {
    reserving_ = 0;
    held_.reservation_durable();
    touch();
  }
  if (intent_ != 0 && intent_ <= position) {
    intent_ = 0;
    lease_.intent_durable();
  }
  if (held_until_ != 0 && held_until_ <= position) {
    held_until_ = 0;
    update_open();
    touch();
  }
  drain_.durable(position);
}

// --- leasing
// -------------------------------------------------------------------------------------------------------

LeaseRequest Sequence::lease_request() const {
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

void Sequence::intent_appended() {
  intent_ = context_.log.next_position();
  attention_.wait_durable(id_);
}

void Sequence::lease_granted(IdRange range, const Token& lease) {
  scope_.note({});
  wanted_ = false;
  failing_ = Status();
  totals_.leased += range.size();
  definition_.high_water = std::max(definition_.high_water, range.end());
  exhaustion_.leased(range.end(), context_.clock.monotonic_ms(), name(), settings_,
                     context_.events);
  held_.add(std::move(range), lease);
  withdraw();
  touch();
}

void Sequence::lease_failed(const Status& status) {
  touch();
  scope_.note(as_seen_of_store(status));
  if (status.code() == ErrorCode::SEQ_REGRESSED) {
    if (scope_.refuses()) return;  // why it does says more than this counter, and what to do
    refuse(status);
    scope_.beat();  // the whole database may be an older copy
    return;
  }
  if (error_info(status.code()).retry == Retry::again) return;
  wanted_ = false;
  // The store counts ordinals, of which callers know nothing.
  const bool has_progression =
      settings_.progression.compiled != nullptr && status.code() == ErrorCode::EXHAUSTED;
  failing_ = has_progression ? settings_.progression.compiled->exhausted(name()) : status;
  fail_waiters(failing_, held_.available());
}

void Sequence::lease_contended() {
  touch();
  scope_.note({});
}

void Sequence::lease_untraceable() {
  ++totals_.unknown;
  wanted_ = false;
}

void Sequence::end_advance(const Result<std::int64_t>& next_id) {
  --advances_;
  touch();
  if (!next_id.ok()) return;
  context_.events.raise({EventKind::sequence_advanced,
                         "\"" + name() + "\" is leased from " + std::to_string(*next_id) + " on",
                         {{"SEQUENCE", name()}, {"NEXT", std::to_string(*next_id)}}});
  if (stopped_.code() != ErrorCode::SEQ_REGRESSED) return;
  raised_to_ = 0;
  if (!scope_.restored()) go_on();
}

void Sequence::go_on() {
  stopped_ = Status();
  lease_.mended();
  update_open();
  adopt();
}

void Sequence::refuse(const Status& why) {
  stopped_ = why;
  update_open();
  fail_waiters(why);
  context_.events.raise({EventKind::sequence_stopped,
                         "\"" + name() + "\" is stopped: " + why.to_string(),
                         {{"SEQUENCE", name()}, {"CAUSE", std::string(error_name(why.code()))}}});
}

// --- scope, log, start and end
// -------------------------------------------------------------------------------------

void Sequence::apply_settings(const SequenceSettings& settings) {
  const bool ends_elsewhere = settings.last_position() != settings_.last_position();
  settings_ = settings;
  if (ends_elsewhere) {
    lease_.mended();  // it may have been refused for the former end
    failing_ = Status();
  }
  sizer_.set_bounds(settings.lease_min, settings.lease_max, settings.lease_duration_ms);
  reserve_size_ = std::min(reserve_size_, settings.max_unsynced);
  withdraw();
  touch();
}

void Sequence::log_failed(const Status& status) {
  log_failure_ = status;
  lease_.stop();
  drain_.stop();
  touch();
}

void Sequence::begin_stop(const Status& why) {
  ending_ = why;
  update_open();
  lease_.stop();
  drain_.stop();
  fail_waiters(why);
}

void Sequence::refuse_requests(const Status& why) {
  refusing_ = why;
  update_open();
  if (!why.ok()) fail_waiters(why);
  touch();
}

}  // namespace seqd
