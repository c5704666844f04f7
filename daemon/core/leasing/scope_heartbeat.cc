// The heartbeat of a StoreScope, and what follows when the database is an older copy: a part of
// store_scope.h.
#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/core/leasing/store_scope.h"

namespace seqd {
namespace {

// What the log accepts, and what can be raised: others can write to the store.
Result<BeatOutcome> within_bounds(Result<BeatOutcome> found) {
  constexpr std::int64_t kHighest = std::int64_t{1} << 62;
  if (found.ok()) found->beat = std::clamp<std::int64_t>(found->beat, 0, kHighest);
  return found;
}

}  // namespace

std::int64_t StoreScope::known_beat() const {
  return heartbeat_.instance == instance() ? heartbeat_.beat : 0;
}

void StoreScope::beat() {
  if (!owned() || !same_database_ || comparing_ || stopping()) return;
  // An instance that is new here: the one before it is compared once more, and then replaced.
  const bool former = heartbeat_.beat > 0 && heartbeat_.instance != instance();
  compare(former ? heartbeat_.instance : instance(), former ? heartbeat_.beat : known_beat(),
          !former);
}

void StoreScope::compare(const Token& instance, std::int64_t known, bool raise) {
  ASSERT(store_ != nullptr);
  comparing_ = true;
  const BeatRequest request{instance, known, raise};
  store_->beat(request, alive_.guard([this, request](const Result<BeatOutcome>& result) {
    compared(request, within_bounds(result));
  }));
}

void StoreScope::compared(const BeatRequest& request, const Result<BeatOutcome>& result) {
  comparing_ = false;
  if (stopping() || refuses()) return;
  // Of an instance that this was before: what followed from that is done.
  if (request.instance != instance() && request.instance != heartbeat_.instance) return beat();
  if (result.ok() && !result->why.ok()) return stop_restored(result->why, false);
  if (!result.ok()) {
    looked_twice_ = false;
    return owned() ? compare_again(result.status()) : pause(result.status());
  }
  store_answered();
  // It made our entry when it granted the claim; an entry that was gone has to be there again.
  const bool was_restored = heartbeat_.age != StoreAge::current;
  // Not where a heartbeat was confirmed: that is known on, since a copy from between the claim and
  // the first heartbeat has the entry, and a raise would give it one.
  const bool gone =
      request.raise && request.known == 0 && result->beat == 0 && (has_history() || was_restored);
  if (result->older || gone)
    return stop_restored(older_copy("store \"" + store_name() + "\" (" + place_.text + ")",
                                    request.known, result->beat),
                         gone);
  if (owned()) {
    // The former one is kept until there is one of this instance.
    if (!request.raise) return compare(instance(), known_beat(), true);
    confirm(instance(), result->beat);
    if (!std::exchange(confirmed_, true)) owner_.scope_owned(id());
    return;
  }
  // An operator has put the right database in place again.
  if (was_restored) confirm(heartbeat_.instance, request.raise ? result->beat : heartbeat_.beat);
  bind(identity_);
}

// Nothing is leased before it succeeds once; later ones come regularly.
void StoreScope::compare_again(const Status& failure) {
  if (confirmed_) return note(as_seen_of_store(failure));
  fail(failure);
  timer_.start(health_.next_delay_ms(context_.random), [this] { beat(); });
}

void StoreScope::confirm(const Token& instance, std::int64_t beat) {
  const StoreHeartbeat found{id(), beat == 0 ? Token{} : instance, beat, StoreAge::current};
  const bool none = beat == 0 && heartbeat_.beat == 0 && heartbeat_.age == StoreAge::current;
  if (found == heartbeat_ || none) return;
  heartbeat_ = found;
  context_.log.append(heartbeat_);
  context_.log.make_durable();
}

void StoreScope::found_restored() {
  if (refuses() || stopping()) return;
  stop_restored(older_copy_met("store \"" + store_name() + "\" (" + place_.text + ")"), false);
}

void StoreScope::stop_restored(const Status& why, bool entry_is_gone) {
  timer_.cancel();
  state_.move_to(State::restored);
  // The next start issues nothing before it has compared again. An instance that never had an entry
  // has nothing to compare, and nothing to issue; the store refuses its claim again.
  const bool had_entry = heartbeat_.beat > 0 || has_history() || entry_is_gone;
  if (heartbeat_.age == StoreAge::current && had_entry) {
    heartbeat_.scope = id();
    // The next start looks for the entry that was missing, whichever instance it has.
    if (entry_is_gone || heartbeat_.beat == 0) heartbeat_ = {id(), instance(), 0};
    heartbeat_.age = StoreAge::restored;
    context_.log.append(heartbeat_);
    context_.log.make_durable();
  }
  refusal_ = {
      why.code(),
      why.text() + "; run `seqctl advance --all --store " + store_name() +
          " --yes` on every host that uses this store, and when that is done on all of them, the "
          "same with --resume on each; if this is the wrong database, name the right one and "
          "restart"};
  context_.events.raise({EventKind::store_restored,
                         refusal_.text(),
                         {{"STORE", store_name()}, {"INSTANCE", to_hex(heartbeat_.instance)}}});
  owner_.scope_refused(id(), refusal_);
}

void StoreScope::note_raise(bool is_there) {
  const StoreAge age = is_there ? StoreAge::raised : StoreAge::replaced;
  if (!restored() || heartbeat_.age == age || (!is_there && !raised())) return;
  heartbeat_.scope = id();
  heartbeat_.age = age;
  context_.log.append(heartbeat_);
  context_.log.make_durable();
}

void StoreScope::begin_again() {
  ASSERT(restored());
  definition_.instance = random_token(context_.random);
  definition_.epoch = 0;
  definition_.nonce = {};
  same_database_ = false;
  confirmed_ = false;
  looked_twice_ = false;
  resumes_ = true;
  health_.forget_error();
  record(ScopeState::clean);
  confirm({}, 0);
  context_.events.raise({EventKind::store_resumed,
                         "store \"" + store_name() +
                             "\": an operator has raised its counters, and its sequences continue",
                         {{"STORE", store_name()}}});
  bind(identity_);
}

}  // namespace seqd
