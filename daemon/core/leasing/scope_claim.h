// ScopeClaim: whether the remainder of a scope is ours.
//
// One that a clean stop left is ours when our claim has moved the epoch of the instance in the
// store (rule R2); copies of one state directory race for the same epoch, and one wins. One that
// the log has as owned is ours without a claim (rule R1).
//
//   waiting -> recording -> claiming -> won -> owned    recording, won: until that is durable
//   waiting -> owned                  R1
//   claiming -> retrying -> claiming  no answer: the same claim once more, behind a pause
//   claiming -> waiting               the store is an older copy, or may be one: see lose()
//   claiming -> losing -> waiting     lost: all available becomes a gap, then as a new instance
//   owned -> waiting                  as a new instance: another database, or an operator's order
//
// It waits for the StoreProof. Pure: its owner, a StoreScope, sends the claim, and records each
// change of definition(). One thread.
#pragma once

#include <cstdint>

#include "daemon/base/random.h"
#include "daemon/base/state_machine.h"
#include "daemon/core/leasing/instance_records.h"
#include "daemon/core/log/scope_entry.h"

namespace seqd {

class ScopeClaim {
 public:
  enum class State : std::uint8_t { waiting, recording, claiming, retrying, losing, won, owned };

  // As the log has it.
  explicit ScopeClaim(DefineScope definition);

  State state() const { return state_.state(); }
  void move_to(State next) { state_.move_to(next); }
  const DefineScope& definition() const { return definition_; }
  // Whether the remainder is owned by what is recorded: no claim is needed.
  bool owned_in_log() const { return definition_.state == ScopeState::owned; }
  // Whether a claim of this instance was ever won.
  bool has_history() const { return definition_.epoch > 0; }
  // `resumes`: see ClaimRequest.
  ClaimRequest request(bool resumes) const;

  // --- changes of definition()
  // A claim begins: -> recording.
  void begin(Random& random);
  // The claim was won, with the next epoch: -> won.
  void win();
  // A clean stop. State state() stays.
  void leave();
  // A new instance, without an epoch: -> waiting.
  void renew(Random& random);
  // The same by an operator's order; also without the nonce and the doubt of the former instance.
  void start_over(Random& random);

  // --- a claim was lost
  // To another daemon, or because the store is an older copy, where the epoch is another one. True:
  // the loss is believed, -> losing. False: it is doubted, -> waiting, so that the store is
  // compared first: once, and only if there is something to compare, a heartbeat (`has_beat`) or an
  // entry.
  bool lose(bool has_beat);
  // The store could not be compared: the next loss is doubted, too.
  void doubt_again() { doubted_ = false; }

 private:
  static const StateTable<State> kMoves;

  DefineScope definition_;
  StateMachine<State> state_{kMoves, State::waiting};
  bool doubted_ = false;  // a loss was doubted: the store was compared since, or is now
};

}  // namespace seqd
