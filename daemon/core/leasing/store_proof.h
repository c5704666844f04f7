// StoreProof: whether the database that a store is now is the one that the ranges of a scope came
// from, and no older copy of it. Two things prove it:
//
//   the identity   lies in the database; the log has it, with the place where it was found
//   the heartbeat  is lower in an older copy, or gone (heartbeat.h); the log has it
//
// The identity is read at each start. The heartbeat is compared and raised before the first lease;
// where the log has one, it is compared before a claim, too, because the epoch is old as well in an
// older copy.
//
//   unknown -> comparing               the right identity, and a heartbeat to compare first, for a
//                                      claim or after an older copy: see compares_first()
//   unknown -> identified              the right identity, or the first; nothing to compare first
//   comparing -> identified            the right heartbeat
//   comparing -> unknown               no answer: the identity is read again
//   unknown, comparing -> binding      as `identified`, of an owned remainder: the log lacks the
//   binding -> identified              place, which has to be durable first
//   identified, accepted -> confirmed  the store has raised the heartbeat in this process
//   identified -> comparing            a claim was lost, as an older copy would have it
//   unknown -> changed                 another identity, while ranges of the former one are left
//   comparing, identified, accepted, confirmed -> restored  an older copy
//   restored -> accepted               an operator has raised its counters
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
  // It is the database of bound(), and no older copy as far as that was compared: its remainder may
  // be claimed.
  bool is_identified() const;
  // It is another one, or an older copy: nothing may be issued, leased or returned.
  bool refuses() const { return state_ == State::changed || state_ == State::restored; }

  const std::optional<StoreBound>& bound() const { return bound_; }
  const StoreHeartbeat& heartbeat() const { return heartbeat_; }
  // The newest heartbeat that the store confirmed of `instance`; 0: none.
  std::int64_t beat_of(const Token& instance) const;

  // --- identity
  // Whether the log has the ranges as those of a store at `place`, which is no older copy.
  bool expects(const std::string& place) const;
  // Whether the log has another identity.
  bool is_another(const Token& identity) const { return bound_ && bound_->identity != identity; }
  // The ranges are from now on those of this database. True: bound() has to be recorded.
  bool bind(const Token& identity, const std::string& place);

  // --- heartbeat
  // Whether it is compared before the remainder is claimed or, if it is `owned`, issued.
  bool compares_first(bool owned) const;
  // What is compared then, by `instance`. If the log has no heartbeat, it is raised, which shows
  // whether the entry is there.
  BeatRequest first_beat(const Token& instance) const;
  // What is compared while `instance` owns the remainder: its own heartbeat, which is raised;
  // before that, once, the heartbeat of the instance before it.
  BeatRequest beat_of_owner(const Token& instance) const;
  // Whether the answer shows that an entry is gone; `had_entry`: a claim of the instance was won.
  bool is_gone(const BeatRequest& request, const BeatOutcome& found, bool had_entry) const;

  // --- changes of heartbeat(); true: it has to be recorded
  // The store has `beat` of `instance`; 0: none.
  bool note_beat(const Token& instance, std::int64_t beat);
  // It is an older copy. With that in the log, the next start compares before it issues.
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
