#include "daemon/core/sequence.h"

#include <algorithm>
#include <utility>

#include "daemon/core/store_scope.h"

namespace seqd {
namespace {

constexpr std::int64_t kFirstReservation = 64;
// A reservation used up faster than this was too small; one that lasted longer than the other was
// too large.
constexpr std::int64_t kReservationShortMs = 50;
constexpr std::int64_t kReservationLongMs = 5'000;

// Consecutive ranges, though of two leases, are one run to the caller.
void add_run(std::vector<Run>& runs, const IdRange& range) {
  if (!runs.empty() && runs.back().first + runs.back().count == range.begin()) {
    runs.back().count += range.size();
  } else {
    runs.push_back({range.begin(), range.size(), 1});
  }
}

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
      sizer_(settings.lease_min, settings.lease_max, settings.lease_target_ms),
      lease_(context, *this, definition.sequence, definition.name),
      drain_(context, *this, held_, definition.sequence, definition.name),
      pending_(context.history),
      reserve_size_(std::min(kFirstReservation, settings.reserve_ahead)),
      used_below_(definition.guard) {
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
  open_ = scope_.owned() && stopped_.ok() && ending_.ok() && refusing_.ok() && !drain_.active();
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
  while (count > 0) {
    const IdRange range = held_.take(count);
    count -= range.size();
    note_issue(range.begin(), range.end(), caller, {IssueKind::batch});
    add_run(*runs, range);
  }
  return true;
}

Status Sequence::wait(const Caller& caller, IssueKind kind, std::int64_t count,
                      std::int64_t timeout_ms) {
  if (!ending_.ok()) return ending_;
  if (!refusing_.ok()) return refusing_;
  if (!stopped_.ok()) return stopped_;
  if (!log_failure_.ok()) return log_failure_;
  if (count > settings_.gap_budget) {
    return {ErrorCode::TOO_LARGE,
            std::to_string(count) + " IDs at once are above the gap budget of \"" + name() +
                "\", " + std::to_string(settings_.gap_budget) + " (sequence.gap_budget)"};
  }
  // Trying again soon would not help, and the next try is not due yet.
  if (!failing_.ok() && !lease_.idle() && held_.in_hand() - waiters_.demand() < count)
    return failing_;
  if (waiters_.size() >= settings_.max_waiters) {
    return {ErrorCode::BUSY, std::to_string(waiters_.size()) + " requests wait for \"" + name() +
                                 "\" already (sequence.max_waiters)"};
  }
  wanted_ = true;
  touch();
  if (timeout_ms < 0) timeout_ms = settings_.wait_timeout_ms;
  if (timeout_ms == 0) {
    return {ErrorCode::UNAVAILABLE,
            "no ID of \"" + name() + "\" is in hand and the request does not wait"};
  }
  const std::int64_t deadline_ms = context_.clock.monotonic_ms() + timeout_ms;
  if (deadline_ms < deadline_ms_) context_.timers.cancel(std::exchange(deadline_timer_, 0));
  waiters_.push({caller, kind, count, deadline_ms});
  return {};
}

std::int64_t Sequence::cancel(SessionId session) {
  std::int64_t cancelled = 0;
  waiters_.remove_if([&](const Waiter& waiter) { return waiter.caller.session == session; },
                     [&](const Waiter&) { ++cancelled; });
  if (cancelled > 0) touch();
  return cancelled;
}

// --- those who wait
// ------------------------------------------------------------------------------------------------

void Sequence::serve_waiters() {
  if (!waiters_.empty() && !context_.log.accepting()) {
    touch();  // again in the next turn
    return;
  }
  while (!waiters_.empty() && open_ && held_.issuable() >= waiters_.front().count) {
    const Waiter waiter = waiters_.pop();
    IssueAs as{waiter.kind, 0};
    if (waiter.kind == IssueKind::text) as.wall_s = context_.clock.wall_ms() / 1'000;
    std::vector<Run> runs;
    std::int64_t left = waiter.count;
    while (left > 0) {
      const IdRange range = held_.take(left);
      left -= range.size();
      note_issue(range.begin(), range.end(), waiter.caller, as);
      add_run(runs, range);
    }
    if (waiter.kind == IssueKind::text) {
      context_.replies.issued_text(waiter.caller, id_, runs.front().first, as.wall_s);
    } else {
      context_.replies.issued(waiter.caller, id_, waiter.kind, runs);
    }
  }
}

// Those whom `in_hand` IDs will do stay.
void Sequence::fail_waiters(const Status& status, std::int64_t in_hand) {
  const auto in_vain = [&in_hand](const Waiter& waiter) {
    if (waiter.count > in_hand) return true;
    in_hand -= waiter.count;
    return false;
  };
  waiters_.remove_if(in_vain,
                     [&](const Waiter& waiter) { context_.replies.failed(waiter.caller, status); });
}

void Sequence::expire_waiters() {
  const std::int64_t now_ms = context_.clock.monotonic_ms();
  const Status cause = error();
  const Status late(ErrorCode::UNAVAILABLE,
                    "no ID of \"" + name() + "\" within the time allowed: " +
                        (cause.ok() ? "the store has not answered yet" : cause.to_string()));
  waiters_.remove_if([&](const Waiter& waiter) { return waiter.deadline_ms <= now_ms; },
                     [&](const Waiter& waiter) { context_.replies.failed(waiter.caller, late); });
}

void Sequence::arm_deadline() {
  if (waiters_.empty() || deadline_timer_ != 0) return;
  deadline_ms_ = waiters_.earliest_deadline_ms();
  const std::int64_t delay_ms = deadline_ms_ - context_.clock.monotonic_ms();
  deadline_timer_ = context_.timers.schedule(std::max<std::int64_t>(delay_ms, 0), [this] {
    deadline_timer_ = 0;
    expire_waiters();
    touch();
  });
}

// --- deciding, once a turn
// -----------------------------------------------------------------------------------------

void Sequence::pump() {
  touched_ = false;
  flush_issues();
  withdraw();
  serve_waiters();
  flush_issues();
  if (!log_failure_.ok()) {
    fail_waiters(log_failure_);
  } else {
    drain_.step();
    if (open_) reserve();
    if (open_) lease();
  }
  arm_deadline();
}

void Sequence::resize_reservation() {
  const std::int64_t now_ms = context_.clock.monotonic_ms();
  const std::int64_t lasted_ms = now_ms - reserved_at_ms_;
  if (reserved_at_ms_ > 0 && lasted_ms < kReservationShortMs) {
    reserve_size_ = std::min(reserve_size_ * 4, settings_.reserve_ahead);
  } else if (lasted_ms > kReservationLongMs) {
    reserve_size_ =
        std::max(reserve_size_ / 2, std::min(kFirstReservation, settings_.reserve_ahead));
  }
  reserved_at_ms_ = now_ms;
}

void Sequence::reserve() {
  if (reserving_ != 0) return;
  const std::int64_t demand = std::min(waiters_.demand(), held_.in_hand());
  if (held_.asked() > reserve_size_ / 2 && held_.asked() >= demand) return;
  if (held_.asked() == held_.in_hand()) return;
  resize_reservation();
  for (const std::int64_t end : held_.ask(std::max(reserve_size_, demand))) {
    context_.log.append(Reserved{id_, end});
  }
  reserving_ = context_.log.next_position();
  attention_.wait_durable(id_);
}

void Sequence::lease() {
  if (!lease_.idle() || drain_.blocks_leases() || (!wanted_ && waiters_.empty())) return;
  const std::int64_t spare = held_.in_hand() - waiters_.demand();
  if (spare > sizer_.size() / 2) return;
  const std::int64_t room = settings_.gap_budget - held_.in_hand();
  // With little room left a lease would be tiny: wait until more is used, unless somebody waits.
  if (room < (spare < 0 ? 1 : settings_.lease_min)) return;
  const std::int64_t size =
      sizer_.next_size(context_.clock.monotonic_ms(), totals_.issued, spare <= 0);
  wanted_ = false;
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
  drain_.durable(position);
}

// --- leasing
// -------------------------------------------------------------------------------------------------------

LeaseRequest Sequence::lease_request() const {
  LeaseRequest request;
  request.binding = settings_.binding;
  request.instance = scope_.instance();
  request.sequence = definition_.name;
  request.guard = definition_.guard;
  request.max_value = settings_.last_position();
  request.take_parked = settings_.reuse == Reuse::parked;
  return request;
}

void Sequence::intent_appended() {
  intent_ = context_.log.next_position();
  attention_.wait_durable(id_);
}

void Sequence::lease_granted(IdRange range, const Token& lease) {
  failing_ = Status();
  totals_.leased += range.size();
  definition_.guard = std::max(definition_.guard, range.end());
  exhaustion_.leased(range.end(), context_.clock.monotonic_ms(), name(), settings_,
                     context_.events);
  held_.add(std::move(range), lease);
  withdraw();
  touch();
}

void Sequence::lease_failed(const Status& status) {
  touch();
  if (status.code() == ErrorCode::SEQ_REGRESSED) {
    stop_sequence(status);
    return;
  }
  if (error_info(status.code()).retry == Retry::again) {
    wanted_ = true;
    return;
  }
  // The store counts positions, of which callers know nothing.
  const bool shaped = settings_.shape.made != nullptr && status.code() == ErrorCode::EXHAUSTED;
  failing_ = shaped ? settings_.shape.made->exhausted(name()) : status;
  fail_waiters(failing_, held_.in_hand());
}

void Sequence::end_advance(const Result<std::int64_t>& next_id) {
  --advances_;
  touch();
  if (!next_id.ok()) return;
  context_.events.raise({EventKind::sequence_advanced,
                         "\"" + name() + "\" is leased from " + std::to_string(*next_id) + " on",
                         {{"SEQUENCE", name()}, {"NEXT", std::to_string(*next_id)}}});
  if (stopped_.code() != ErrorCode::SEQ_REGRESSED) return;
  stopped_ = Status();
  lease_.mended();
  wanted_ = true;
  update_open();
}

void Sequence::stop_sequence(const Status& why) {
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
  sizer_.set_bounds(settings.lease_min, settings.lease_max, settings.lease_target_ms);
  reserve_size_ = std::min(reserve_size_, settings.reserve_ahead);
  withdraw();
  touch();
}

void Sequence::refuse(const Status& why) {
  stop_sequence(why);
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
