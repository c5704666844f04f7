#include "daemon/core/leasing/store_scope.h"

#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

constexpr std::int64_t kLoseOnMs = 5;     // what is lost and did not fit one turn
constexpr std::int64_t kProbeMs = 1'000;  // a stop waits no longer for a store that is away

}  // namespace

constexpr StateTable<StoreScope::State> StoreScope::kMoves = {
    {State::waiting,
     "waiting",
     {State::recording, State::claiming, State::owned, State::changed, State::restored}},
    {State::recording, "recording", {State::claiming}},
    {State::claiming, "claiming", {State::won, State::waiting, State::recording}},
    {State::won, "won", {State::owned}},
    {State::owned, "owned", {State::recording, State::changed, State::restored}},
    {State::changed, "changed", {}},
    {State::restored, "restored", {State::recording}},
};

constexpr StateTable<StoreScope::Closing> StoreScope::kClosingMoves = {
    {Closing::no, "no", {Closing::probing, Closing::reached, Closing::away}},
    {Closing::probing, "probing", {Closing::reached, Closing::away}},
    {Closing::reached, "reached", {}},
    {Closing::away, "away", {Closing::reached}},
};

StoreScope::StoreScope(const CoreContext& context, Owner& owner, DefineScope definition,
                       Known known, LeaseStore* store)
    : context_(context),
      owner_(owner),
      definition_(std::move(definition)),
      bound_(std::move(known.bound)),
      heartbeat_(known.heartbeat),
      store_(store) {}

void StoreScope::record(ScopeState state) {
  definition_.state = state;
  context_.log.append(definition_);
}

void StoreScope::start() {
  ASSERT(state_ == State::waiting);
  if (store_ == nullptr || stopping()) return;
  place_ = store_->place();
  place_.text = place_record(place_.text);
  if (place_.identity) return identified(*place_.identity);
  if (definition_.state == ScopeState::owned) {
    if (bound_ && bound_->place == place_.text && heartbeat_.age == StoreAge::current) open();
  }
  ask_identity();
}

void StoreScope::open() {
  // It may have been left clean meanwhile.
  ASSERT(bound_ && (definition_.state == ScopeState::owned || stopping()));
  if (!owned()) {
    state_.move_to(State::owned);
    owner_.scope_owned(id());
  }
  beat();
}

void StoreScope::ask_identity() {
  ASSERT(store_ != nullptr && !same_database_);
  store_->identify(random_token(context_.random), alive_.guard([this](const Result<Token>& result) {
    if (stopping()) return;
    if (!result.ok()) return pause(result.status());
    store_answered();
    identified(*result);
  }));
}

bool StoreScope::is_another(const Token& identity) const {
  return bound_ && bound_->identity != identity;
}

void StoreScope::identified(const Token& identity) {
  ASSERT(!refuses());
  if (is_another(identity)) {
    if (owner_.scope_holds(id())) return stop_changed();
    // Nothing is left of the former one; its records of this instance stay there.
    owner_.scope_moves(id());
    definition_.instance = random_token(context_.random);
    definition_.epoch = 0;
    definition_.state = ScopeState::clean;
    record(ScopeState::clean);
    confirm({}, 0);
  }
  identity_ = identity;
  // An older copy has an older epoch: it must not decide which daemon owns the remainder.
  const bool was_restored = heartbeat_.age != StoreAge::current;
  const bool has_beat = heartbeat_.beat > 0;
  // Without a heartbeat its entry was missing; only a raise shows whether it is there again.
  if (was_restored || (has_beat && definition_.state != ScopeState::owned))
    return compare(heartbeat_.instance, heartbeat_.beat, !has_beat);
  bind(identity);
}

// What is leased from here on is this database's: the record comes first.
void StoreScope::bind(const Token& identity) {
  ASSERT(store_ != nullptr && identity == identity_);
  StoreBound found{id(), identity, place_.text};
  const bool recorded = bound_ == found;
  bound_ = std::move(found);
  if (!recorded) context_.log.append(*bound_);
  if (definition_.state != ScopeState::owned) {
    same_database_ = true;  // the claim waits until its own record is durable, and this one with it
    return begin_claim();
  }
  if (recorded) {
    same_database_ = true;
    return open();
  }
  // A killed daemon issues meanwhile.
  owner_.when_durable([this] {
    same_database_ = true;
    open();
  });
}

void StoreScope::stop_changed() {
  state_.move_to(State::changed);
  refusal_ = {ErrorCode::SEQ_CHANGED,
              "store \"" + store_name() + "\" (" + place_.text +
                  ") is not the database that the unissued IDs of its sequences came from (" +
                  bound_->place +
                  "): restore its options, drain its sequences (seqctl drain), then change "
                  "them; if the former database no longer exists, `seqctl drain` makes those "
                  "IDs a gap, and a restart uses the new one"};
  owner_.scope_refused(id(), refusal_);
}

void StoreScope::begin_claim() {
  ASSERT(same_database_ && definition_.state != ScopeState::owned);
  // A claim that an earlier start has sent is repeated with its own nonce, so that its success is
  // recognized.
  if (definition_.state != ScopeState::claiming) definition_.nonce = random_token(context_.random);
  state_.move_to(State::recording);
  record(ScopeState::claiming);
  owner_.when_durable([this] { send_claim(); });
}

void StoreScope::send_claim() {
  ASSERT(definition_.state == ScopeState::claiming && store_ != nullptr);
  state_.move_to(State::claiming);
  const ClaimRequest request{definition_.instance, definition_.epoch, definition_.nonce, resumes_};
  store_->claim(request,
                alive_.guard([this](const Result<ClaimOutcome>& result) { answered(result); }));
}

void StoreScope::answered(const Result<ClaimOutcome>& result) {
  ASSERT(state_ == State::claiming);
  if (stopping()) return;
  if (!result.ok()) {
    if (result.status().code() != ErrorCode::SEQ_REGRESSED) return pause(result.status());
    state_.move_to(State::waiting);
    return stop_restored(result.status(), false);
  }
  store_answered();
  const bool has_beat = heartbeat_.beat > 0;
  if (*result == ClaimOutcome::lost && (has_beat || has_history()) && !looked_twice_) {
    // Perhaps it was restored after the first read. Without a heartbeat its entry shows it.
    looked_twice_ = true;
    state_.move_to(State::waiting);
    same_database_ = false;
    return compare(has_beat ? heartbeat_.instance : instance(), heartbeat_.beat, !has_beat);
  }
  if (*result == ClaimOutcome::won) {
    resumes_ = false;
    ++definition_.epoch;
    record(ScopeState::owned);
    state_.move_to(State::won);
    owner_.when_durable([this] { open(); });
    return;
  }
  context_.events.raise(
      {EventKind::fenced,
       "another daemon has taken over the remainder of store \"" + store_name() + "\"",
       {{"STORE", store_name()}, {"INSTANCE", to_hex(definition_.instance)}}});
  lose();
}

// The new instance is recorded after the last gap: a daemon that is killed in between finds the
// former instance, loses it once more, and continues here.
void StoreScope::lose() {
  ASSERT(state_ == State::claiming);
  if (!owner_.scope_lost(id())) {
    timer_.start(kLoseOnMs, [this] { lose(); });
    return;
  }
  definition_.instance = random_token(context_.random);
  definition_.epoch = 0;
  definition_.state = ScopeState::clean;
  begin_claim();
}

void StoreScope::store_answered() {
  if (!health_.answered()) return;
  context_.events.raise({EventKind::store_up,
                         "store \"" + store_name() + "\" answers again",
                         {{"STORE", store_name()}}});
  if (verified()) owner_.scope_owned(id());
}

void StoreScope::fail(const Status& status, std::int64_t for_ms) {
  const bool answered = health_.error().ok();
  const bool is_down = health_.failed(status, context_.clock.monotonic_ms(), for_ms);
  if (answered) owner_.scope_failed(id());
  if (!is_down) return;
  context_.events.raise({EventKind::store_down,
                         "store \"" + store_name() + "\" does not answer: " + status.to_string(),
                         {{"STORE", store_name()}}});
}

void StoreScope::pause(const Status& status) {
  fail(status);
  if (state_ == State::claiming) state_.move_to(State::waiting);
  timer_.start(health_.next_delay_ms(context_.random), [this] {
    if (same_database_) return send_claim();
    if (place_.identity) return identified(*place_.identity);
    ask_identity();
  });
}

bool StoreScope::leave_clean() {
  // A claim under way stays as it is: it is repeated, with its nonce, at the next start.
  if (definition_.state != ScopeState::owned || closing_ != Closing::reached) return false;
  record(ScopeState::clean);
  return true;
}

void StoreScope::stop() {
  timer_.cancel();
  const bool needs_no_call = store_ == nullptr || place_.identity;
  if (!needs_no_call && owned() && owner_.scope_holds(id())) return probe();
  const bool is_reached = needs_no_call || same_database_ || refuses();
  closing_.move_to(is_reached ? Closing::reached : Closing::away);
}

void StoreScope::probe() {
  ASSERT(store_ != nullptr);
  closing_.move_to(Closing::probing);
  timer_.start(kProbeMs, [this] { closing_.move_to(Closing::away); });
  store_->identify(random_token(context_.random), alive_.guard([this](const Result<Token>& result) {
    timer_.cancel();
    if (result.ok()) return closing_.move_to(Closing::reached);
    if (closing_ == Closing::probing) closing_.move_to(Closing::away);
  }));
}

Status StoreScope::check_claimed() const {
  if (store_ == nullptr) {
    return {ErrorCode::CONFIG,
            "store \"" + store_name() + "\" is not running; configure it and restart"};
  }
  if (verified()) return {};
  return {ErrorCode::UNAVAILABLE,
          "the remainder of store \"" + store_name() +
              "\" is not claimed yet, so it is not ours to return: " +
              (last_error().ok() ? "the store has not answered" : last_error().to_string())};
}

const char* StoreScope::state_name() const {
  if (changed()) return "changed";
  if (restored()) return "restored";
  if (!owned()) return "waiting";
  return health_.is_due_down(context_.clock.monotonic_ms()) ? "down" : "ready";
}

void StoreScope::note(const Status& outcome) {
  if (stopping() || refuses()) return;
  if (outcome.ok()) return store_answered();
  fail(outcome);
}

void StoreScope::note_silence(std::int64_t ms) {
  if (stopping() || refuses()) return;
  if (health_.note_silence(ms)) return store_answered();
  if (ms == 0) return;
  // That of a call which did end says more. For how long is not said: it would soon be wrong.
  const Status silent(ErrorCode::UNAVAILABLE,
                      "store \"" + store_name() + "\" has not answered within its timeout");
  fail(health_.error().ok() ? silent : Status(health_.error()),
       std::max(ms, StoreHealth::kDownAfterMs));
}

}  // namespace seqd
