// StoreProof: whether the database that a store is now is the one that the ranges of a scope came
// from, and no older copy of it.
//
// Two things prove it. The identity lies in the database, and the log has it with the place where
// it was found. The heartbeat (heartbeat.h) is lower in an older copy, or gone. It is compared
// before a claim, since an older copy has an older epoch, and before the first lease.
//
//   unknown -> comparing -> identified     where the log has a heartbeat, and no owned remainder
//   unknown -> identified                  otherwise
//   comparing -> unknown                   no answer: asked for the identity again
//   unknown, comparing -> binding          owned, at a place that is not in the log yet:
//   binding -> identified                  until it is durable there
//   identified, accepted -> confirmed      the store has raised the heartbeat in this process
//   identified -> comparing                a claim was lost: perhaps it was put back just before
//   unknown -> changed                     another database, while ranges of the former are left
//   comparing, identified, accepted, confirmed -> restored    an older copy
//   restored -> accepted                   an operator has raised its counters
//
// Pure: its owner, a StoreScope, calls the store, and records what has to be. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/base/state_machine.h"
#include "daemon/core/leasing/heartbeat.h"
#include "daemon/core/log/scope_entry.h"

namespace seqd {

class StoreProof {
 public:
  enum class State : std::uint8_t {
    unknown,
    comparing,
    binding,
    identified,
    accepted,
    confirmed,
    changed,
    restored
  };
  // As the log has it.
  struct Known {
    std::optional<StoreBound> bound;  // none in a new scope
    StoreHeartbeat heartbeat;
  };

  StoreProof(ScopeId scope, Known known);

  State state() const { return state_.state(); }
  void move_to(State next) { state_.move_to(next); }
  // It is the database of bound(), and no older copy as far as was compared: it may be claimed.
  bool is_identified() const;
  // It is another one, or an older copy: nothing may be issued, leased or returned.
  bool refuses() const { return state_ == State::changed || state_ == State::restored; }

  const std::optional<StoreBound>& bound() const { return bound_; }
  const StoreHeartbeat& heartbeat() const { return heartbeat_; }
  // The newest heartbeat that the store confirmed of `instance`; 0: none.
  std::int64_t beat_of(const Token& instance) const;

  // --- identity
  // Whether the ranges are those of a store at `place`, as far as the log knows.
  bool expects(const std::string& place) const;
  bool is_another(const Token& identity) const { return bound_ && bound_->identity != identity; }
  // The ranges are from now on those of this database. True: bound() has to be recorded.
  bool bind(const Token& identity, const std::string& place);

  // --- heartbeat
  // Whether one is compared before a remainder is claimed, or issued if it is `owned`.
  bool compares_first(bool owned) const;
  // What is compared then, by `instance`.
  BeatRequest beat_before_claim(const Token& instance) const;
  // What is compared and raised while `instance` owns the remainder.
  BeatRequest beat_of_owner(const Token& instance) const;
  // Whether the entry of the instance is gone; `had_entry`: a claim of it was granted.
  bool is_gone(const BeatRequest& request, const BeatOutcome& found, bool had_entry) const;

  // --- changes of heartbeat(); true: it has to be recorded
  // The store has `beat` of `instance`; 0: none.
  bool note_beat(const Token& instance, std::int64_t beat);
  // It is an older copy. So the next start issues nothing before it has compared again.
  bool note_older(const Token& instance, bool had_entry, bool is_gone);
  // All counters of an older copy were raised; false: not in the copy that is in place now.
  bool note_raise(bool is_there);

 private:
  static const StateTable<State> kMoves;

  const ScopeId scope_;
  std::optional<StoreBound> bound_;
  StoreHeartbeat heartbeat_;
  StateMachine<State> state_{kMoves, State::unknown};
};

}  // namespace seqd
