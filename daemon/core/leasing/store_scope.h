// StoreScope: whether this daemon may issue from the ranges that it holds of one store, and whether
// it may lease more from that store.
//
// The ranges belong to a database, not to the name of a store: the log has the identity of that
// database and where it was found. The store's identity is compared before any other request to it;
// another one with ranges left stops the scope. A remainder left by a clean stop is ours only after
// our claim has moved the instance's epoch in the store (rule R2); copies of one state directory
// race for the same epoch: one wins, the others get scope_lost().
//
//   waiting -> recording -> claiming -> won -> owned    recording, won: until that is durable
//   waiting -> owned                           R1: a killed daemon goes on at the same store
//   claiming -> waiting -> claiming            no answer, or lost: the heartbeat once more
//   claiming, owned -> recording               lost, or another database: a new instance
//   waiting, owned -> changed                  and ranges of the former database are left
//   waiting, owned -> restored -> recording    an older copy (heartbeat.h); begin_again()
//
// When the daemon ends, what is held of a store is left clean if the store can be reached: it will
// have to grant the claim of the next start.
//
//   no -> probing -> reached, away    something is held: the store is called once more
//   no -> reached, away               by what is known of it
//   away -> reached                   the answer came late
//
// Once it is owned and its database known, the heartbeat is compared and raised before any other
// request to the store. Owned by the SequenceTable; loop thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/base/lifetime.h"
#include "daemon/base/one_shot.h"
#include "daemon/base/state_machine.h"
#include "daemon/core/context/core_context.h"
#include "daemon/core/leasing/heartbeat.h"
#include "daemon/core/leasing/lease_store.h"
#include "daemon/core/leasing/scope_owner.h"
#include "daemon/core/leasing/store_health.h"
#include "daemon/core/log/log_entry.h"

namespace seqd {

class StoreScope {
 public:
  enum class State : std::uint8_t { waiting, recording, claiming, won, owned, changed, restored };

  using Owner = ScopeOwner;
  struct Known {
    std::optional<StoreBound> bound;  // none in a new scope
    StoreHeartbeat heartbeat;
  };
  StoreScope(const CoreContext& context, Owner& owner, DefineScope definition, Known known,
             LeaseStore* store);

  ScopeId id() const { return definition_.scope; }
  const std::string& store_name() const { return definition_.store; }
  const Token& instance() const { return definition_.instance; }
  const DefineScope& definition() const { return definition_; }
  const std::optional<StoreBound>& bound() const { return bound_; }
  const StoreHeartbeat& heartbeat() const { return heartbeat_; }
  // The heartbeat that the store has to have of instance(); 0: none was confirmed yet.
  std::int64_t known_beat() const;
  LeaseStore* store() const { return store_; }
  // The ranges may be issued.
  bool owned() const { return state_ == State::owned; }
  // The store may be called: it is the database that the ranges came from, and no older copy of it.
  bool verified() const { return owned() && same_database_ && confirmed_; }
  // The same, or why not: CONFIG, UNAVAILABLE.
  Status check_claimed() const;
  bool changed() const { return state_ == State::changed; }
  bool restored() const { return state_ == State::restored; }
  bool refuses() const { return changed() || restored(); }
  bool raised() const { return restored() && heartbeat_.age == StoreAge::raised; }
  // Why it refuses; else why the newest call failed: OK if it was answered, or none has ended yet.
  const Status& last_error() const { return refuses() ? refusal_ : health_.error(); }
  // "ready", "waiting" (nothing is issued yet), "down" (no new IDs come), "changed" or "restored".
  const char* state_name() const;
  // Whether any claim of this scope could have been ours at an earlier start (its open leases may
  // be looked up).
  bool has_history() const { return definition_.epoch > 0; }
  void start();  // begins to call the store, if there is one; once
  // Compares and raises the heartbeat, if the store is known; to be called regularly.
  void beat();
  // A lease was refused by a database that is an older copy.
  void found_restored();
  void note_raise(bool is_there);  // see raised(); where another copy is put in place, it is gone
  void begin_again();  // restored(): as another instance; what was held is recorded as gaps before
  // How a call of one of the sequences ended; OK: the store answered.
  void note(const Status& outcome);
  void note_silence(std::int64_t ms);  // see MeasuredStore::silent_ms(); regularly
  // The daemon ends. Asks the store once more, where something is held of it: see leave_clean().
  void stop();
  bool settled() const { return closing_ != Closing::probing; }  // after stop()
  // Records that the remainder is left clean. The daemon ends: nothing may be issued after this.
  // False: there was nothing to record. A store that does not answer leaves the scope as a kill
  // would: a claim could not be made at the next start either, and the witness needs none.
  bool leave_clean();

 private:
  enum class Closing : std::uint8_t { no, probing, reached, away };
  static const StateTable<State> kMoves;
  static const StateTable<Closing> kClosingMoves;

  bool stopping() const { return closing_ != Closing::no; }
  void open();
  void compare(const Token& instance, std::int64_t known, bool raise);
  void compared(const BeatRequest& request, const Result<BeatOutcome>& result);
  void compare_again(const Status& failure);
  void confirm(const Token& instance, std::int64_t beat);
  void stop_restored(const Status& why, bool entry_is_gone);
  void ask_identity();
  void identified(const Token& identity);
  bool is_another(const Token& identity) const;
  void stop_changed();
  void bind(const Token& identity);
  void begin_claim();
  void send_claim();
  void answered(const Result<ClaimOutcome>& result);
  void lose();
  void store_answered();
  void fail(const Status& status, std::int64_t for_ms = 0);
  void probe();
  void pause(const Status& status);
  void record(ScopeState state);

  const CoreContext& context_;
  Owner& owner_;
  DefineScope definition_;
  std::optional<StoreBound> bound_;
  StoreHeartbeat heartbeat_;
  Token identity_{};         // as the store returned it
  LeaseStore* const store_;  // null: the store is not configured any more; its remainder waits
  StorePlace place_;
  StateMachine<State> state_{kMoves, State::waiting};
  StateMachine<Closing> closing_{kClosingMoves, Closing::no};
  // What is known of the store; the state says what may be done with the ranges.
  bool same_database_ = false;  // its identity is that of bound_, which is recorded
  bool confirmed_ = false;      // and its heartbeat, in this process, for this instance
  Status refusal_;              // while the scope is changed or restored
  StoreHealth health_;
  OneShot timer_{context_.timers};
  bool comparing_ = false;     // a heartbeat is in flight: before a claim, and while owned
  bool looked_twice_ = false;  // at the heartbeat, around a claim that was lost
  bool resumes_ = false;       // until a claim of the new instance succeeds
  Lifetime alive_;
};

}  // namespace seqd
