#include "daemon/core/sequence/sequence.h"

#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/core/leasing/store_scope.h"
#include "daemon/core/sequence/sequence_budgets.h"
#include "daemon/core/sequence/sequence_state.h"

namespace seqd {
namespace {

// What a request needs that failed, but not more than may be available beside what is in blocks.
std::int64_t short_of(const Sequence& sequence) {
  return std::min(sequence.waiters().short_of(),
                  sequence.settings().max_available - sequence.out());
}

Status above_budget(const Sequence& sequence, std::int64_t count) {
  return {ErrorCode::TOO_LARGE,
          std::to_string(count) + " IDs at once are above the gap budget of \"" + sequence.name() +
              "\", " + std::to_string(sequence.settings().max_available) +
              " (sequence.max_available)"};
}

// How an ID is issued to one that waits. Nothing: not in this turn.
Result<std::optional<IssueAs>> admit(const SequenceContext& context, SequenceId id,
                                     IssueKind kind) {
  IssueAs as{kind};
  if (kind != IssueKind::text) return std::optional(as);
  const Result<std::optional<TextForm>> form = context.table.admit_text(id);
  if (!form.ok()) return form.status();
  if (!*form) return std::optional<IssueAs>();
  as.form = **form;
  as.wall_s = context.core.clock.wall_ms() / 1'000;
  return std::optional(as);
}

}  // namespace

Sequence::Sequence(const SequenceContext& context, std::shared_ptr<const SequenceSettings> settings,
                   const std::string& key, const DefineSequence& definition)
    : gate_(context),
      context_(context),
      definition_(context, std::move(settings), key, definition),
      waiters_(context, id()),
      issuer_(definition_),
      blocks_(definition_),
      replenisher_(context, this->settings()),
      slot_(definition_, issuer_, replenisher_, *this),
      drain_(context.core) {}

// --- requests

bool Sequence::issue_many(const Caller& caller, std::int64_t count, std::vector<Run>* runs) {
  if (!waiters_.empty() || !gate_.open() || held().issuable() < count) return false;
  if (caller.client != 0 && !context_.budgets.may_keep(caller.client, held().pieces(count)))
    return false;
  issuer_.issue(caller, count, {IssueKind::batch}, runs);
  want_ids();
  return true;
}

Result<Run> Sequence::grant_block(const Caller& caller, std::uint32_t slot, std::int64_t count) {
  if (Status refused = gate_.refusal(); !refused.ok()) return refused;
  want_ids();
  Result<Run> granted =
      blocks_.grant(issuer_, caller, slot, count, gate_.open() && waiters_.empty());
  if (granted.ok()) context_.table.block_granted(*this);
  return granted;
}

void Sequence::block_over(const Block& block, std::optional<std::int64_t> taken) {
  blocks_.over(issuer_, block, taken);
  withdraw_available();
  touch();
}

Status Sequence::wait(const Caller& caller, IssueKind kind, std::int64_t count,
                      std::int64_t timeout_ms) {
  if (Status refused = gate_.refusal(); !refused.ok()) return refused;
  if (!context_.refusals.log_failed.ok()) return context_.refusals.log_failed;
  if (count > settings().max_available) return above_budget(*this, count);
  // Trying again soon would not help, and the next try is not due yet.
  const Status& failing = replenisher_.failing();
  const auto in_vain = [&] { return available() - waiters_.demand() < count; };
  if (!failing.ok() && slot_.fetches() && in_vain()) {
    blocks_.end_all();  // they may have enough
    if (in_vain()) {
      waiters_.failed(count);
      touch();
      return failing;
    }
  }
  if (Status full = waiters_.may_push(caller.user, settings().max_waiters, name()); !full.ok())
    return full;
  want_ids();
  if (timeout_ms < 0) timeout_ms = settings().wait_timeout_ms;
  if (timeout_ms == 0) {
    // What is available and not reserved yet is issued soon.
    if (in_vain()) waiters_.missed(count);
    return {ErrorCode::UNAVAILABLE,
            "no ID of \"" + name() + "\" can be issued at once and the request does not wait"};
  }
  waiters_.push(caller, kind, count, timeout_ms);
  return {};
}

std::int64_t Sequence::cancel(SessionId session, const Status& why) {
  const std::int64_t cancelled = waiters_.cancel(session, why);
  if (cancelled > 0) touch();
  return cancelled;
}

void Sequence::expire_waiters() {
  const Status cause = request_error(*this);
  waiters_.expire({ErrorCode::UNAVAILABLE,
                   "no ID of \"" + name() + "\" within the time allowed: " +
                       (cause.ok() ? "the store has not answered yet" : cause.to_string())});
  touch();
}

void Sequence::serve_waiters() {
  if (!waiters_.empty() && !context_.core.log.accepting()) {
    touch();  // again in the next turn
    return;
  }
  while (!waiters_.empty() && gate_.open() && held().issuable() >= waiters_.front().count) {
    // What there is to refuse is refused before an ID is taken.
    const Result<std::optional<IssueAs>> as = admit(context_, id(), waiters_.front().kind);
    if (!as.ok()) {
      context_.core.replies.failed(waiters_.pop().caller, as.status());
      continue;
    }
    if (!*as) return touch();
    // One entry is reserved for this request already.
    const std::int64_t more = held().pieces(waiters_.front().count) - 1;
    ASSERT(more >= 0);
    const bool kept = more == 0 || context_.budgets.may_keep(waiters_.front().caller.client, more);
    const Waiter waiter = waiters_.pop();
    if (!kept) {
      context_.core.replies.failed(
          waiter.caller, {ErrorCode::BUSY,
                          "the IDs of this request come from more ranges than are kept for the "
                          "retries of this client: acknowledge (ack), or request fewer"});
      continue;
    }
    std::vector<Run> runs;
    issuer_.issue(waiter.caller, waiter.count, **as, &runs);
    if (waiter.count >= waiters_.short_of()) waiters_.enough();
    ASSERT(!runs.empty() && (waiter.count == 1 || waiter.kind == IssueKind::batch));
    want_ids();
    if (waiter.kind == IssueKind::text) {
      context_.core.replies.issued_text(waiter.caller, id(), runs.front().first, (*as)->wall_s);
    } else {
      context_.core.replies.issued(waiter.caller, id(), waiter.kind, runs);
    }
  }
}

// --- the turn

// The order matters. Issued IDs go into the log first: the steps below may lower the high-water
// mark or record gaps, and rely on these entries. IDs that may not be issued any more are withdrawn
// before a waiter is served. A drain takes only what the waiters left. Reservations come before the
// lease: they are for IDs that are available now.
void Sequence::pump() {
  ASSERT(touched_);
  touched_ = false;
  append_issues();
  // What is in blocks is issued without a request to this daemon.
  const bool issues =
      !waiters_.empty() || replenisher_.wants() || out() > 0 || waiters_.short_of() > 0;
  if (issues && gate_.state() == SequenceGate::State::looking) context_.table.look(id());
  if (gate_.withdrawing()) withdraw();
  if (!waiters_.empty()) {
    if (gate_.open()) blocks_.end_for(waiters_, available());
    serve_waiters();
    append_issues();
  }
  if (!context_.refusals.log_failed.ok()) {
    waiters_.fail(context_.refusals.log_failed);
  } else {
    // Right after a start what is available is not ours yet.
    const bool may_leave = context_.scope.verified() && !floor_.is_advancing();
    if (drain_.active()) drain_.step(issuer_, slot_, !may_leave);
    if (gate_.open()) prepare();
    const bool has_some = gate_.open() && held().issuable() > 0;
    if (has_some && available() >= short_of(*this)) waiters_.enough();
  }
  if (waiters_.in_use()) waiters_.end_turn([this] { expire_waiters(); });
  ASSERT(issuer_.all_in_log());
}

// Has the IDs of the next requests reserved and leased. A log that does not accept is asked again
// in the next turn.
void Sequence::prepare() {
  if (!context_.core.log.accepting()) return touch();
  issuer_.reserve(out(), waiters_.demand(), [this] { touch(); });
  // A request that failed is repeated, and others like it come: it is leased for, too.
  const std::int64_t failed = replenisher_.failing().ok() ? short_of(*this) : 0;
  const std::int64_t demand = std::max(waiters_.demand(), failed);
  // In most turns no lease is due. The reservation may have filled the log.
  if (!slot_.empty() || !replenisher_.due(held(), demand) || !context_.scope.verified() ||
      !context_.core.log.accepting())
    return;
  if (may_meet_parked(*this)) {
    if (gate_.state() == SequenceGate::State::looking) return;
    if (!floor_.is_read() && !context_.scope.last_error().ok()) return look_again();
    return counter_regressed(
        {ErrorCode::SEQ_REGRESSED,
         "ranges that are parked at the counter to which \"" + name() +
             "\" moves may be IDs that were issued here: `seqctl advance " + name() +
             "` drops them, and the sequence continues above what was leased here"});
  }
  // Its record is in front of the lease's, and no request leaves before that is durable.
  const Status moved = definition_.record_move();
  if (!moved.ok()) return cannot_lease(moved);
  const Status removed = slot_.check_counter_kept();
  if (!removed.ok()) return cannot_lease(removed);
  const Result<std::int64_t> count =
      replenisher_.next_lease({name(), settings(), held(), out(), demand, totals().issued});
  if (!count.ok()) return cannot_lease(count.status());
  if (*count > 0) slot_.begin_lease(*count);
}

// The store is away, and the floor is not known: it may be above all that is parked.
void Sequence::look_again() {
  replenisher_.failed(
      {ErrorCode::UNAVAILABLE, "the floor of the counter to which it moves could not be read"});
  replenisher_.pause(replenisher_.next_delay_ms(false), [this] {
    if (!floor_.is_read()) context_.table.look(id());
    touch();
  });
}

// --- what came of a lease

void Sequence::leased(IdRange range, const Token& lease) {
  definition_.set_high_water(std::max(definition_.high_water(), range.end()));
  exhaustion_.leased(range.end(), context_.core.clock.monotonic_ms(), name(), settings(),
                     context_.core.events);
  issuer_.note_leased(std::move(range), lease);
  withdraw();
  touch();
}

void Sequence::cannot_lease(const Status& why) {
  if (!waiters_.empty()) blocks_.end_all();  // they may have enough
  waiters_.fail_unserved(why, available());
}

// --- the counter

void Sequence::end_advance(const Result<std::int64_t>& next_id) {
  ASSERT(floor_.is_advancing());
  floor_.advance_over();
  touch();
  if (!next_id.ok()) return;
  context_.core.events.raise(
      {EventKind::sequence_advanced,
       "\"" + name() + "\" is leased from " + std::to_string(*next_id) + " on",
       {{"SEQUENCE", name()}, {"NEXT", std::to_string(*next_id)}}});
  replenisher_.mended();
  if (stop_cause() != StopCause::regressed && stop_cause() != StopCause::restored) return;
  floor_.forget_raised();
  if (!context_.scope.restored()) go_on();
}

bool Sequence::counter_read(const CounterReading& reading) {
  if (reading.floor > reading.next_id && stop_cause() == StopCause::none) {
    counter_regressed({ErrorCode::SEQ_REGRESSED,
                       "the counter of \"" + name() + "\" holds " +
                           std::to_string(reading.next_id) + " as its next ID, below its floor, " +
                           std::to_string(reading.floor) +
                           ": it was set back; move it forward (seqctl advance)"});
  }
  if (!floor_.is_read() && may_meet_parked(*this)) replenisher_.mended();  // see look_again()
  floor_.read(reading, context_.scope.restored(), definition_.high_water());
  withdraw();
  touch();
  return !awaits_advance(*this);
}

void Sequence::looked(bool over) {
  if (over) gate_.set_looks(false);
  // What is available stays so, and is issued again.
  if (!over && !context_.scope.verified()) end_drain();
  touch();
}

void Sequence::withdraw() {
  if (!context_.scope.owned() || context_.refusals.winds_down()) return;
  // Nothing is issued until what has to leave has left; in blocks neither, from this moment on.
  blocks_.end_outside(floor_.ordinal());
  withdraw_available();
}

// All that is needed where a block has ended: the others are not looked at for each.
void Sequence::withdraw_available() {
  if (!context_.scope.owned() || context_.refusals.winds_down()) return;
  gate_.set_withdrawing(!context_.core.log.accepting());
  if (gate_.withdrawing()) return touch();
  issuer_.withdraw(floor_.ordinal());
}

// --- refusing, settings, the end

void Sequence::set_stopped(Stopped stopped) {
  ASSERT(stopped.by != StopCause::none && !stopped.why.ok());
  gate_.set_stopped(std::move(stopped));
  fail_stopped();
}

void Sequence::counter_regressed(const Status& why) {
  set_stopped({StopCause::regressed, why});
}

void Sequence::scope_refused() {
  gate_.update();
  fail_stopped();
}

void Sequence::fail_stopped() {
  const Status& why = stop_error();
  ASSERT(!why.ok());
  blocks_.end_all();
  waiters_.fail(why);
  touch();
  context_.core.events.raise(
      {EventKind::sequence_stopped,
       "\"" + name() + "\" is stopped: " + why.to_string(),
       {{"SEQUENCE", name()}, {"CAUSE", std::string(error_name(why.code()))}}});
}

void Sequence::go_on() {
  gate_.set_stopped({});
  replenisher_.mended();
  adopt();
}

void Sequence::log_failed() {
  ASSERT(!context_.refusals.log_failed.ok());
  stop_operations();
  touch();
}

void Sequence::refusing_changed() {
  gate_.update();
  const Status& why = context_.refusals.refusing;
  if (!why.ok()) waiters_.fail(why);
  touch();
}

void Sequence::apply_settings(std::shared_ptr<const SequenceSettings> settings,
                              const std::string& key) {
  definition_.apply_settings(std::move(settings), key);
  const SequenceSettings& applied = definition_.settings();
  exhaustion_.update_forecast(applied);
  replenisher_.apply_settings(applied);
  issuer_.apply_settings();
  waiters_.enough();  // what failed, failed under the former ones
  // So many are never available any more, and those behind would wait for nothing.
  waiters_.fail_above(applied.max_available,
                      [this](auto count) { return above_budget(*this, count); });
  blocks_.end_above_bound();
  withdraw();
  touch();
  if (stop_cause() != StopCause::unconfigured) return;
  // It is configured again.
  gate_.set_stopped({});
  if (stop_cause() != StopCause::none) return fail_stopped();
  gate_.set_looks(!holds_nothing(*this));
  go_on();
}

}  // namespace seqd
