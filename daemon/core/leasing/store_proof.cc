#include "daemon/core/leasing/store_proof.h"

#include <utility>

namespace seqd {

constexpr StateTable<StoreProof::State> StoreProof::kMoves = {
    {State::unknown,
     "unknown",
     {State::comparing, State::binding, State::identified, State::changed}},
    {State::comparing,
     "comparing",
     {State::unknown, State::binding, State::identified, State::restored}},
    {State::binding, "binding", {State::identified}},
    {State::identified, "identified", {State::comparing, State::confirmed, State::restored}},
    {State::accepted, "accepted", {State::confirmed, State::restored}},
    {State::confirmed, "confirmed", {State::restored}},
    {State::changed, "changed", {}},
    {State::restored, "restored", {State::accepted}},
};

StoreProof::StoreProof(ScopeId scope, Known known)
    : scope_(scope), bound_(std::move(known.bound)), heartbeat_(known.heartbeat) {}

bool StoreProof::is_identified() const {
  return state_ == State::identified || state_ == State::accepted || state_ == State::confirmed;
}

std::int64_t StoreProof::beat_of(const Token& instance) const {
  return heartbeat_.instance == instance ? heartbeat_.beat : 0;
}

bool StoreProof::expects(const std::string& place) const {
  return bound_ && bound_->place == place && heartbeat_.age == StoreAge::current;
}

bool StoreProof::bind(const Token& identity, const std::string& place) {
  StoreBound found{scope_, identity, place};
  const bool is_new = bound_ != found;
  bound_ = std::move(found);
  return is_new;
}

bool StoreProof::compares_first(bool owned) const {
  return heartbeat_.age != StoreAge::current || (heartbeat_.beat > 0 && !owned);
}

BeatRequest StoreProof::first_beat(const Token& instance) const {
  const bool was_older = heartbeat_.age != StoreAge::current;
  const bool has_beat = heartbeat_.beat > 0;
  return {has_beat || was_older ? heartbeat_.instance : instance, heartbeat_.beat, !has_beat};
}

BeatRequest StoreProof::beat_of_owner(const Token& instance) const {
  const bool former = heartbeat_.beat > 0 && heartbeat_.instance != instance;
  if (former) return {heartbeat_.instance, heartbeat_.beat, false};
  return {instance, beat_of(instance), true};
}

// Only a raise without a known heartbeat can show that: with an entry it would have left a beat.
// The entry has to be there if a claim was won, which made it, or if it was gone before. (A known
// heartbeat is compared as such: a copy from between the claim and the first heartbeat has the
// entry, and a raise would give it a heartbeat.)
bool StoreProof::is_gone(const BeatRequest& request, const BeatOutcome& found,
                         bool had_entry) const {
  const bool was_older = heartbeat_.age != StoreAge::current;
  return request.raise && request.known == 0 && found.beat == 0 && (had_entry || was_older);
}

bool StoreProof::note_beat(const Token& instance, std::int64_t beat) {
  const StoreHeartbeat found{scope_, beat == 0 ? Token{} : instance, beat, StoreAge::current};
  const bool none = beat == 0 && heartbeat_.beat == 0 && heartbeat_.age == StoreAge::current;
  if (found == heartbeat_ || none) return false;
  heartbeat_ = found;
  return true;
}

// Nothing is recorded of an instance that never had an entry: it has nothing to compare and nothing
// to issue, and the store refuses its claim again.
bool StoreProof::note_older(const Token& instance, bool had_entry, bool is_gone) {
  const bool has_beat = heartbeat_.beat > 0;
  if (heartbeat_.age != StoreAge::current || !(has_beat || had_entry || is_gone)) return false;
  // The next start looks for the entry that was missing, whichever instance it has.
  if (is_gone || !has_beat) heartbeat_ = {scope_, instance, 0};
  heartbeat_.scope = scope_;
  heartbeat_.age = StoreAge::restored;
  return true;
}

bool StoreProof::note_raise(bool is_there) {
  const StoreAge age = is_there ? StoreAge::raised : StoreAge::replaced;
  if (heartbeat_.age == age || (!is_there && heartbeat_.age != StoreAge::raised)) return false;
  heartbeat_.scope = scope_;
  heartbeat_.age = age;
  return true;
}

}  // namespace seqd
