// ScopeClaim: whether the remainder of a scope is ours.
//
// One that a clean stop left is ours when our claim has moved the epoch of the instance in the
// store (rule R2); copies of one state directory race for the same epoch, and one wins. One that
// the log has as owned is ours without a claim (rule R1).
//
//   waiting -> recording -> claiming -> won -> owned    recording, won: until that is durable
//   waiting -> owned                  R1
//   claiming -> retrying -> claiming  no answer: the same claim once more, behind a pause
//   claiming -> waiting               an older copy; or lost for the first time: perhaps one
//   claiming -> losing -> waiting     lost: all available is made a gap, then as a new instance
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
  // Whether the log has the remainder as owned: no claim is needed.
  bool owned_in_log() const { return definition_.state == ScopeState::owned; }
  // Whether a claim of this instance was ever won.
  bool has_history() const { return definition_.epoch > 0; }
  // `resumes`: see ClaimRequest.
  ClaimRequest request(bool resumes) const;

  // --- changes of definition()
  void begin(Random& random);  // a claim: -> recording
  void win();                  // -> won
  void leave();                // by a clean stop; the state stays
  void renew(Random& random);  // as a new instance: -> waiting
  // The same by an operator's order: nothing of the former instance counts.
  void start_over(Random& random);

  // --- a claim was lost
  // Whether that is believed: -> losing; otherwise -> waiting. It is doubted once, if an older copy
  // could show it: one whose entry, or whose heartbeat (`has_beat`), is missing.
  bool lose(bool has_beat);
  // The store could not be compared: the next loss is doubted, too.
  void doubt_again() { doubted_ = false; }

 private:
  static const StateTable<State> kMoves;

  DefineScope definition_;
  StateMachine<State> state_{kMoves, State::waiting};
  bool doubted_ = false;  // the store was compared, or is now, because a claim was lost
};

}  // namespace seqd
