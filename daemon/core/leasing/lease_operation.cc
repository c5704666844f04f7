#include "daemon/core/leasing/lease_operation.h"

#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/core/log/gap_event.h"
#include "daemon/core/words/ordinal.h"

namespace seqd {
namespace {

// So that sums of parked ranges, which others can write, stay within 64 bits.
constexpr std::int64_t kLongestParked = std::int64_t{1} << 53;

// Conflicts in a row that are worth a line in the journal: several seconds of them.
constexpr int kManyConflicts = 50;

}  // namespace

constexpr StateTable<LeaseOperation::State> LeaseOperation::kMoves = {
    {State::idle, "idle", {State::recording, State::resolving}},
    {State::recording, "recording", {State::requesting, State::idle}},
    {State::requesting, "requesting", {State::idle, State::resolving, State::pausing}},
    {State::resolving, "resolving", {State::idle, State::pausing}},
    {State::pausing, "pausing", {State::idle, State::resolving}},
};

LeaseOperation::LeaseOperation(const CoreContext& context, Owner& owner, SequenceId sequence,
                               std::string name)
    : context_(context), owner_(owner), sequence_(sequence), name_(std::move(name)) {}

LeaseIntended LeaseOperation::intent() const {
  ASSERT(intent_open_);
  return {sequence_, request_.token, request_.count, intent_wall_ms_};
}

void LeaseOperation::start(std::int64_t count) {
  ASSERT(idle() && !intent_open_ && !stopping_ && count >= 1 && store_ != nullptr);
  request_ = owner_.lease_request();
  request_.token = store_->new_token(context_.random, request_.binding);
  request_.count = count;
  intent_open_ = true;
  intent_wall_ms_ = context_.clock.wall_ms();
  state_.move_to(State::recording);
  context_.log.append(intent());
  owner_.when_durable([this] { intent_durable(); });
}

void LeaseOperation::intent_durable() {
  ASSERT(state_ == State::recording);
  if (!owner_.may_ask()) {  // an older copy was found meanwhile, and nothing was sent
    close(LeaseEnd::refused);
    state_.move_to(State::idle);
    return owner_.lease_moved_on();
  }
  state_.move_to(State::requesting);
  request_lease();
}

void LeaseOperation::request_lease() {
  ASSERT(intent_open_);
  request_.heartbeat = owner_.lease_request().heartbeat;  // that of now, not of the intent
  store_->lease(request_, alive_.guard([this](const LeaseOutcome& result) { outcome(result); }));
}

void LeaseOperation::resolve() {
  ASSERT(state_ == State::resolving && intent_open_);
  // That of now; an instance that was replaced since has none.
  const LeaseRequest now = owner_.lease_request();
  request_.heartbeat = now.instance == request_.instance ? now.heartbeat : 0;
  store_->resolve(request_, alive_.guard([this](const Resolution& result) { resolution(result); }));
}

void LeaseOperation::look_up() {
  ASSERT(intent_open_);
  const bool asks = owner_.may_ask();
  if (!asks && state_ == State::pausing) return;  // until go_on()
  state_.move_to(asks ? State::resolving : State::pausing);
  if (asks) resolve();
}

void LeaseOperation::adopt(const LeaseIntended& intent) {
  ASSERT(idle() && !intent_open_ && store_ != nullptr);
  ASSERT(intent.sequence == sequence_ && owner_.may_ask());
  request_ = owner_.lease_request();
  request_.token = intent.lease;
  request_.count = intent.count;
  // It was requested under the settings of its time, which may have been others: what the store
  // granted then is ours. The owner makes the part above the present maximum a gap.
  request_.take_parked = true;
  request_.max_value = kLastOrdinal;
  intent_open_ = true;
  intent_wall_ms_ = intent.wall_ms;
  state_.move_to(State::resolving);
  resolve();
}

void LeaseOperation::abandon(const LeaseIntended& intent) {
  ASSERT(idle() && !intent_open_ && intent.sequence == sequence_);
  request_ = owner_.lease_request();
  request_.token = intent.lease;
  request_.count = intent.count;
  intent_open_ = true;
  close(LeaseEnd::untraceable);
}

void LeaseOperation::abandon_open() {
  if (!intent_open_ || in_flight()) return;
  timer_.cancel();
  backoff_.reset();
  last_error_ = Status();
  if (!idle()) state_.move_to(State::idle);
  close(LeaseEnd::untraceable);
}

void LeaseOperation::stop() {
  stopping_ = true;
  if (state_ != State::pausing) return;
  timer_.cancel();
  state_.move_to(State::idle);
}

void LeaseOperation::go_on() {
  if (state_ == State::pausing && intent_open_ && !timer_.running() && !stopping_) look_up();
}

void LeaseOperation::mended() {
  if (state_ != State::pausing || intent_open_) return;
  timer_.cancel();
  backoff_.reset();
  conflicts_ = 0;
  last_error_ = Status();
  state_.move_to(State::idle);
}

void LeaseOperation::outcome(const LeaseOutcome& result) {
  ASSERT(state_ == State::requesting);
  if (result.restored)
    return meet_older_copy(result.kind == LeaseOutcome::Kind::refused, result.error);
  switch (result.kind) {
    case LeaseOutcome::Kind::granted:
      granted(result.begin, result.end, result.parked, EventKind::lease_granted);
      break;
    case LeaseOutcome::Kind::refused:
      close(LeaseEnd::refused);
      if (result.contended) {
        contend(result.error);
      } else {
        fail(result.error);
      }
      break;
    case LeaseOutcome::Kind::unknown:
      raise(EventKind::lease_unknown,
            "the outcome of a lease of \"" + name_ + "\" is unknown: " + result.error.to_string());
      unknown(result.error);
      break;
  }
}

void LeaseOperation::resolution(const Resolution& result) {
  ASSERT(state_ == State::resolving);
  if (result.restored) return meet_older_copy(false, result.error);
  switch (result.kind) {
    case Resolution::Kind::granted:
      granted(result.begin, result.end, result.parked, EventKind::lease_resolved);
      break;
    case Resolution::Kind::absent:
      close(LeaseEnd::refused);
      state_.move_to(State::idle);
      owner_.lease_moved_on();
      break;
    case Resolution::Kind::untraceable:
      // The next range may be lost in the same way, and as fast as the store answers.
      close(LeaseEnd::untraceable);
      pause(backoff_.next_ms(context_.random));
      if (last_error_.ok() || error_info(last_error_.code()).retry == Retry::again) {
        owner_.lease_moved_on();
      } else {
        owner_.lease_failed(Status(last_error_));  // the store will say so again
      }
      break;
    case Resolution::Kind::failed:
      unknown(result.error);
      break;
  }
}

Status LeaseOperation::check_grant(std::int64_t begin, std::int64_t end, bool parked) const {
  parked = parked && request_.take_parked;
  if (!parked && begin < request_.high_water) {
    return {ErrorCode::SEQ_REGRESSED,
            "the store granted [" + std::to_string(begin) + ", " + std::to_string(end) +
                ") although IDs below " + std::to_string(request_.high_water) +
                " were leased before: the counter was set back; move it forward before going on"};
  }
  // Also now: the host may have been suspended while the request was under way.
  if (Status removed = owner_.check_counter_kept(); !removed.ok()) return removed;
  // A parked range may have been leased before the maximum was lowered.
  const std::int64_t last = parked ? kLastOrdinal : request_.max_value;
  const std::int64_t most = parked ? kLongestParked : request_.count;
  if (begin >= end || begin < 1 || end - begin > most || end - 1 > last) {
    return {ErrorCode::STORE_REFUSED, "the store granted [" + std::to_string(begin) + ", " +
                                          std::to_string(end) + "), which was not requested"};
  }
  return owner_.check_range(begin, end);
}

void LeaseOperation::granted(std::int64_t begin, std::int64_t end, bool parked, EventKind how) {
  ASSERT(intent_open_);
  const Status wrong = check_grant(begin, end, parked);
  if (!wrong.ok()) {
    close(LeaseEnd::untraceable);
    fail(wrong);
    return;
  }
  context_.log.append(
      LeaseGranted{sequence_, request_.token, begin, end, context_.clock.wall_ms()});
  intent_open_ = false;
  last_error_ = Status();
  backoff_.reset();
  conflicts_ = 0;
  state_.move_to(State::idle);
  raise(how, "leased [" + std::to_string(begin) + ", " + std::to_string(end) + ") for \"" + name_ +
                 (parked ? "\", which was returned before" : "\""));
  owner_.lease_granted(IdRange(begin, end), request_.token);
}

void LeaseOperation::close(LeaseEnd how) {
  ASSERT(intent_open_);
  context_.log.append(LeaseClosed{sequence_, request_.token, how, context_.clock.wall_ms()});
  intent_open_ = false;
  if (how == LeaseEnd::untraceable) {
    owner_.lease_untraceable();
    context_.events.raise(untraceable_event(
        {sequence_, request_.token, request_.count, intent_wall_ms_}, name_, request_.instance,
        "cannot be traced; if the store applied it, they are a gap"));
  }
}

// An older copy proves nothing about a lease: it stays open until the right database can be
// queried, or the store continues without it.
void LeaseOperation::meet_older_copy(bool refused, const Status& status) {
  if (refused) close(LeaseEnd::refused);
  last_error_ = status;
  state_.move_to(refused || stopping_ ? State::idle : State::pausing);
  owner_.met_older_copy();
}

void LeaseOperation::fail(const Status& status) {
  ASSERT(!intent_open_);
  last_error_ = status;
  raise(EventKind::lease_failed, "no range for \"" + name_ + "\": " + status.to_string());
  pause(backoff_.next_ms(context_.random));
  owner_.lease_failed(status);
}

void LeaseOperation::contend(const Status& status) {
  ASSERT(!intent_open_);
  last_error_ = status;
  if (++conflicts_ % kManyConflicts == 0)
    raise(EventKind::lease_failed, "no range for \"" + name_ + "\" after " +
                                       std::to_string(conflicts_) +
                                       " attempts: " + status.to_string());
  pause(backoff_.next_after_conflict_ms(context_.random));
  owner_.lease_contended();
}

void LeaseOperation::unknown(const Status& status) {
  ASSERT(intent_open_);
  last_error_ = status;
  // The first look-up follows at once; only one that fails is put off.
  if (state_ == State::requesting && !stopping_) return look_up();
  pause(backoff_.next_ms(context_.random));
  owner_.lease_failed(status);
}

void LeaseOperation::pause(std::int64_t delay_ms) {
  if (stopping_) {
    state_.move_to(State::idle);
    return;
  }
  state_.move_to(State::pausing);
  timer_.start(delay_ms, [this] {
    if (intent_open_) return look_up();
    state_.move_to(State::idle);
    owner_.lease_moved_on();
  });
}

void LeaseOperation::raise(EventKind kind, std::string text) {
  context_.events.raise({kind,
                         std::move(text),
                         {{"SEQUENCE", name_},
                          {"LEASE", to_hex(request_.token)},
                          {"COUNT", std::to_string(request_.count)}}});
}

}  // namespace seqd
