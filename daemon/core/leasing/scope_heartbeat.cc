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

void StoreScope::beat() {
  if (!owned() || !proof_.is_identified() || beat_in_flight_ || stopping()) return;
  compare(proof_.beat_of_owner(instance()));
}

void StoreScope::compare_first() {
  proof_.move_to(StoreProof::State::comparing);
  compare(proof_.first_beat(instance()));
}

void StoreScope::compare(const BeatRequest& request) {
  ASSERT(store_ != nullptr && !beat_in_flight_);
  beat_in_flight_ = request;
  store_->beat(request, alive_.guard([this](const Result<BeatOutcome>& result) {
    compared(within_bounds(result));
  }));
}

// A heartbeat was compared. By the first row that holds:
//
//   answer                               proof becomes   next
//   too late: stopping, or refused       -               -
//   of an instance that was replaced     -               beat() for the present one
//   an error                             see not_compared()
//   an older copy by other means         restored        -
//   a lower heartbeat, or no entry       restored        -
//   owned; the former instance's         -               that of this instance is raised
//   owned; of this instance              confirmed       the store may be called
//   not owned; an older copy before      see bind()      the log has it as current again; bind()
//   not owned                            see bind()      bind()
void StoreScope::compared(const Result<BeatOutcome>& result) {
  const BeatRequest request = *std::exchange(beat_in_flight_, std::nullopt);
  if (stopping() || refuses()) return;
  if (request.instance != instance() && request.instance != heartbeat().instance) return beat();
  if (!result.ok()) return not_compared(result.status());
  if (!result->why.ok()) return refuse_restored(result->why, false);
  store_answered();
  const bool is_gone = proof_.is_gone(request, *result, has_history());
  if (result->older || is_gone)
    return refuse_restored(older_copy("store \"" + store_name() + "\" (" + place_.text + ")",
                                      request.known, result->beat),
                           is_gone);
  // The log keeps the former one until there is one of this instance.
  if (owned() && !request.raise) return compare({instance(), known_beat(), true});
  if (owned()) return confirm(result->beat);
  // An older copy before, and now the right database again: an operator has put it in place.
  if (heartbeat().age != StoreAge::current)
    note_beat(heartbeat().instance, request.raise ? result->beat : heartbeat().beat);
  bind(StoreProof::State::identified);
}

// The store has `beat` of this instance.
void StoreScope::confirm(std::int64_t beat) {
  note_beat(instance(), beat);
  if (proof_.state() == StoreProof::State::confirmed) return;
  proof_.move_to(StoreProof::State::confirmed);
  owner_.scope_owned(id());
}

// The heartbeat could not be compared:
//
//   state                   proof becomes   next
//   confirmed               -               the next regular beat()
//   not owned yet           unknown         the identity again after a pause; then the next loss of
//                                           a claim is doubted
//   owned, not confirmed    -               the heartbeat again after a pause; no lease before
void StoreScope::not_compared(const Status& failure) {
  if (proof_.state() == StoreProof::State::confirmed) return note(as_seen_of_store(failure));
  if (!owned()) {
    claim_.doubt_again();
    proof_.move_to(StoreProof::State::unknown);
    return retry_later(failure);
  }
  note_failure(failure);
  timer_.start(health_.next_delay_ms(context_.random), [this] { beat(); });
}

void StoreScope::note_beat(const Token& instance, std::int64_t beat) {
  if (proof_.note_beat(instance, beat)) record_heartbeat();
}

void StoreScope::record_heartbeat() {
  context_.log.append(heartbeat());
  context_.log.make_durable();
}

void StoreScope::found_restored() {
  if (refuses() || stopping()) return;
  refuse_restored(older_copy_met("store \"" + store_name() + "\" (" + place_.text + ")"), false);
}

void StoreScope::refuse_restored(const Status& why, bool is_gone) {
  timer_.cancel();
  proof_.move_to(StoreProof::State::restored);
  if (proof_.note_older(instance(), has_history(), is_gone)) record_heartbeat();
  refusal_ = {
      why.code(),
      why.text() + "; run `seqctl advance --all --store " + store_name() +
          " --yes` on every host that uses this store, and when that is done on all of them, the "
          "same with --resume on each; if this is the wrong database, name the right one and "
          "restart"};
  context_.events.raise({EventKind::store_restored,
                         refusal_.text(),
                         {{"STORE", store_name()}, {"INSTANCE", to_hex(heartbeat().instance)}}});
  owner_.scope_refused(id(), refusal_);
}

void StoreScope::note_raise(bool is_there) {
  if (restored() && proof_.note_raise(is_there)) record_heartbeat();
}

void StoreScope::begin_again() {
  ASSERT(restored());
  claim_.start_over(context_.random);
  health_.forget_error();
  context_.log.append(definition());
  note_beat({}, 0);
  context_.events.raise({EventKind::store_resumed,
                         "store \"" + store_name() +
                             "\": an operator has raised its counters, and its sequences continue",
                         {{"STORE", store_name()}}});
  bind(StoreProof::State::accepted);
}

}  // namespace seqd
