#include "daemon/core/leasing/store_scope.h"

#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

constexpr std::int64_t kLoseOnMs = 5;     // what is lost and did not fit one turn
constexpr std::int64_t kProbeMs = 1'000;  // a stop waits no longer for a store that is away

}  // namespace

constexpr StateTable<StoreScope::Closing> StoreScope::kMoves = {
    {Closing::no, "no", {Closing::probing, Closing::reached, Closing::away}},
    {Closing::probing, "probing", {Closing::reached, Closing::away}},
    {Closing::reached, "reached", {}},
    {Closing::away, "away", {Closing::reached}},
};

// proof_ reads the definition before claim_ takes it: members are made in the order of the class.
StoreScope::StoreScope(const CoreContext& context, Owner& owner, DefineScope definition,
                       Known known, LeaseStore* store)
    : context_(context),
      owner_(owner),
      store_(store),
      proof_(definition.scope, std::move(known)),
      claim_(std::move(definition)) {}

// --- the proof: identity. For the heartbeat see scope_heartbeat.cc.

void StoreScope::start() {
  ASSERT(claim_.state() == ScopeClaim::State::waiting);
  if (store_ == nullptr || stopping()) return;
  place_ = store_->place();
  place_.text = place_record(place_.text);
  // An identity that takes a call is not awaited where the place is the same.
  if (!place_.identity && claim_.owned_in_log() && proof_.expects(place_.text)) open();
  identify();
}

void StoreScope::identify() {
  ASSERT(store_ != nullptr && !proof_.is_identified());
  if (place_.identity) return identified(*place_.identity);
  store_->identify(random_token(context_.random), alive_.guard([this](const Result<Token>& result) {
    if (stopping()) return;
    if (!result.ok()) return retry_later(result.status());
    store_answered();
    identified(*result);
  }));
}

// By the first row that holds:
//
//   the store has                            becomes              next
//   another identity, and ranges are left    proof changed        -
//   another identity, and nothing is left    a new instance       the same as of its own identity
//   its own; a heartbeat to compare first    proof comparing      compare()
//   its own, or the first that is found      see bind()           bind()
void StoreScope::identified(const Token& identity) {
  ASSERT(!refuses());
  if (proof_.is_another(identity)) {
    if (owner_.scope_holds(id())) return refuse_changed();
    // The records of the former instance stay in the former database.
    owner_.scope_moves(id());
    claim_.renew(context_.random);
    context_.log.append(definition());
    note_beat({}, 0);
  }
  identity_ = identity;
  if (proof_.compares_first(claim_.owned_in_log())) return compare_first();
  bind(StoreProof::State::identified);
}

// The database that was found is the one that ranges are leased from; `as`: identified or accepted.
//
//   the log has   the remainder   proof becomes                            next
//   another one   owned           binding; identified when it is durable   open(), then
//   another one   not owned       `as`                                     begin_claim()
//   this one      owned           `as`                                     open()
//   this one      not owned       `as`                                     begin_claim()
//
// So nothing is leased before the log has it: a claim waits for its own record, and for this one
// with it.
void StoreScope::bind(StoreProof::State as) {
  const bool is_new = proof_.bind(identity_, place_.text);
  const bool is_owned = claim_.owned_in_log();
  if (is_new) context_.log.append(*bound());
  if (is_new && is_owned) {
    proof_.move_to(StoreProof::State::binding);
    owner_.when_durable([this] {
      proof_.move_to(StoreProof::State::identified);
      open();
    });
    return;
  }
  proof_.move_to(as);
  if (is_owned) return open();
  begin_claim();
}

// The ranges may be issued. The store may be called when the heartbeat is confirmed.
void StoreScope::open() {
  // Where it was left clean meanwhile, each sequence is `ending`, and nothing is issued.
  ASSERT(bound() && (claim_.owned_in_log() || stopping()));
  if (!owned()) {
    claim_.move_to(ScopeClaim::State::owned);
    owner_.scope_owned(id());
  }
  beat();
}

void StoreScope::refuse_changed() {
  proof_.move_to(StoreProof::State::changed);
  refusal_ = {ErrorCode::SEQ_CHANGED,
              "store \"" + store_name() + "\" (" + place_.text +
                  ") is not the database that the unissued IDs of its sequences came from (" +
                  bound()->place +
                  "): restore its options, drain its sequences (seqctl drain), then change "
                  "them; if the former database no longer exists, `seqctl drain` makes those "
                  "IDs a gap, and a restart uses the new one"};
  owner_.scope_refused(id(), refusal_);
}

// --- the claim

void StoreScope::begin_claim() {
  ASSERT(proof_.is_identified());
  claim_.begin(context_.random);
  context_.log.append(definition());
  owner_.when_durable([this] { send_claim(); });
}

void StoreScope::send_claim() {
  ASSERT(store_ != nullptr);
  claim_.move_to(ScopeClaim::State::claiming);
  const bool resumes = proof_.state() == StoreProof::State::accepted;
  store_->claim(claim_.request(resumes),
                alive_.guard([this](const Result<ClaimOutcome>& result) { answered(result); }));
}

// The claim was answered:
//
//   answer                claim becomes   proof becomes   next
//   SEQ_REGRESSED         waiting         restored        -
//   another error         retrying        -               the same claim after a pause
//   won                   won             -               open() when that is durable
//   lost, and doubted     waiting         comparing       the store may be an older copy: compare()
//   lost, and believed    losing          -               gaps, then a new instance: lose()
void StoreScope::answered(const Result<ClaimOutcome>& result) {
  if (stopping()) return;
  if (result.status().code() == ErrorCode::SEQ_REGRESSED) {
    claim_.move_to(ScopeClaim::State::waiting);
    return refuse_restored(result.status(), false);
  }
  if (!result.ok()) {
    claim_.move_to(ScopeClaim::State::retrying);
    return retry_later(result.status());
  }
  store_answered();
  if (*result == ClaimOutcome::won) {
    claim_.win();
    context_.log.append(definition());
    owner_.when_durable([this] { open(); });
    return;
  }
  const bool is_believed = claim_.lose(heartbeat().beat > 0);
  if (!is_believed) return compare_first();
  context_.events.raise(
      {EventKind::fenced,
       "another daemon has taken over the remainder of store \"" + store_name() + "\"",
       {{"STORE", store_name()}, {"INSTANCE", to_hex(instance())}}});
  lose();
}

// All available becomes a gap, in several turns if it is much. The new instance is recorded after
// the last gap: a daemon that is killed in between finds the former instance, loses its claim once
// more, and continues here.
void StoreScope::lose() {
  ASSERT(claim_.state() == ScopeClaim::State::losing);
  if (!owner_.scope_lost(id())) {
    timer_.start(kLoseOnMs, [this] { lose(); });
    return;
  }
  claim_.renew(context_.random);
  begin_claim();
}

// Tries again what was not answered: the claim, or what the proof needs before it.
void StoreScope::retry_later(const Status& status) {
  note_failure(status);
  timer_.start(health_.next_delay_ms(context_.random), [this] {
    if (claim_.state() == ScopeClaim::State::retrying) return send_claim();
    identify();
  });
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

// --- its health

void StoreScope::store_answered() {
  if (!health_.answered()) return;
  context_.events.raise({EventKind::store_up,
                         "store \"" + store_name() + "\" answers again",
                         {{"STORE", store_name()}}});
  if (verified()) owner_.scope_owned(id());
}

void StoreScope::note_failure(const Status& status, std::int64_t for_ms) {
  const bool answered = health_.error().ok();
  const bool is_down = health_.failed(status, context_.clock.monotonic_ms(), for_ms);
  if (answered) owner_.scope_failed(id());
  if (!is_down) return;
  context_.events.raise({EventKind::store_down,
                         "store \"" + store_name() + "\" does not answer: " + status.to_string(),
                         {{"STORE", store_name()}}});
}

void StoreScope::note(const Status& outcome) {
  if (stopping() || refuses()) return;
  if (outcome.ok()) return store_answered();
  note_failure(outcome);
}

void StoreScope::note_silence(std::int64_t ms) {
  if (stopping() || refuses()) return;
  if (health_.note_silence(ms)) return store_answered();
  if (ms == 0) return;
  // That of a call which did end says more. For how long is not said: it would soon be wrong.
  const Status silent(ErrorCode::UNAVAILABLE,
                      "store \"" + store_name() + "\" has not answered within its timeout");
  note_failure(health_.error().ok() ? silent : Status(health_.error()),
               std::max(ms, StoreHealth::kDownAfterMs));
}

const char* StoreScope::state_name() const {
  if (changed()) return "changed";
  if (restored()) return "restored";
  if (!owned()) return "waiting";
  return health_.is_due_down(context_.clock.monotonic_ms()) ? "down" : "ready";
}

// --- closing

void StoreScope::stop() {
  if (stopping()) return;
  timer_.cancel();
  const bool needs_no_call = store_ == nullptr || place_.identity;
  if (!needs_no_call && owned() && owner_.scope_holds(id())) return probe();
  const bool is_reached = needs_no_call || proof_.is_identified() || refuses();
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

bool StoreScope::leave_clean() {
  // A claim under way stays as it is: it is repeated, with its nonce, at the next start.
  if (!claim_.owned_in_log() || closing_ != Closing::reached) return false;
  claim_.leave();
  context_.log.append(definition());
  return true;
}

}  // namespace seqd
