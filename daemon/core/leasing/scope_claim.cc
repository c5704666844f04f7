#include "daemon/core/leasing/scope_claim.h"

#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {

constexpr StateTable<ScopeClaim::State> ScopeClaim::kMoves = {
    {State::waiting, "waiting", {State::recording, State::owned}},
    {State::recording, "recording", {State::claiming}},
    {State::claiming, "claiming", {State::won, State::retrying, State::waiting, State::losing}},
    {State::retrying, "retrying", {State::claiming}},
    {State::losing, "losing", {State::waiting}},
    {State::won, "won", {State::owned}},
    {State::owned, "owned", {State::waiting}},
};

ScopeClaim::ScopeClaim(DefineScope definition) : definition_(std::move(definition)) {}

ClaimRequest ScopeClaim::request(bool resumes) const {
  ASSERT(definition_.state == ScopeState::claiming);
  return {definition_.instance, definition_.epoch, definition_.nonce, resumes};
}

void ScopeClaim::begin(Random& random) {
  ASSERT(!owned_in_log());
  // A claim that an earlier start has sent is repeated with its own nonce, so that its success is
  // recognized.
  if (definition_.state != ScopeState::claiming) definition_.nonce = random_token(random);
  definition_.state = ScopeState::claiming;
  state_.move_to(State::recording);
}

void ScopeClaim::win() {
  ++definition_.epoch;
  definition_.state = ScopeState::owned;
  state_.move_to(State::won);
}

void ScopeClaim::leave() {
  definition_.state = ScopeState::clean;
}

void ScopeClaim::renew(Random& random) {
  definition_.instance = random_token(random);
  definition_.epoch = 0;
  definition_.state = ScopeState::clean;
  if (state_ != State::waiting) state_.move_to(State::waiting);
}

void ScopeClaim::start_over(Random& random) {
  renew(random);
  definition_.nonce = {};
  doubted_ = false;
}

bool ScopeClaim::lose(bool has_beat) {
  if (doubted_ || !(has_beat || has_history())) {
    state_.move_to(State::losing);
    return true;
  }
  doubted_ = true;
  state_.move_to(State::waiting);
  return false;
}

}  // namespace seqd
