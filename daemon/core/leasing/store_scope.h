// StoreScope: whether this daemon may issue from the ranges that it holds of one store, and whether
// it may lease more from that store. The ranges belong to a database, not to the name of a store.
//
// It has four parts; each answers one question, and has its states and moves. They are pure: the
// scope alone calls the store, writes the log, raises events and sets timers.
//
//   StoreProof   store_proof.h   Is it the database that the ranges came from, and no older copy?
//   ScopeClaim   scope_claim.h   Is the remainder ours?
//   StoreHealth  store_health.h  Does the store answer? Changes nothing of the other parts.
//   Closing      below           At the end of the daemon: can the store be reached?
//
//   no -> probing -> reached, away    something is held of the store: it is called once more
//   no -> reached, away               by what is known
//   away -> reached                   the answer came late
//
// What a start passes, as proof/claim, until it is confirmed and owned:
//
//   a kill, same place   unknown/owned, identified/owned
//   a kill, other place  unknown/waiting, binding/waiting, identified/owned
//   a stop               unknown/waiting, comparing/waiting, identified/claiming, identified/owned
//
// Tables above identified(), bind(), answered() (store_scope.cc), compared() and not_compared()
// (scope_heartbeat.cc) show what each answer of the store changes. A proof that refuses stops the
// scope, whatever the claim is. What follows from a record waits until it is durable: a lease for
// its binding, a claim for its nonce, an ID for a claim that was won. Owned by Scopes; loop thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/base/lifetime.h"
#include "daemon/base/one_shot.h"
#include "daemon/base/state_machine.h"
#include "daemon/core/context/core_context.h"
#include "daemon/core/leasing/lease_store.h"
#include "daemon/core/leasing/scope_claim.h"
#include "daemon/core/leasing/scope_owner.h"
#include "daemon/core/leasing/store_health.h"
#include "daemon/core/leasing/store_proof.h"
#include "daemon/core/log/log_entry.h"

namespace seqd {

class StoreScope {
 public:
  using Owner = ScopeOwner;
  using Known = StoreProof::Known;

  // `store`: null if it is not configured any more; its remainder waits.
  StoreScope(const CoreContext& context, Owner& owner, DefineScope definition, Known known,
             LeaseStore* store);

  ScopeId id() const { return definition().scope; }
  const std::string& store_name() const { return definition().store; }
  const Token& instance() const { return definition().instance; }
  const DefineScope& definition() const { return claim_.definition(); }
  const std::optional<StoreBound>& bound() const { return proof_.bound(); }
  const StoreHeartbeat& heartbeat() const { return proof_.heartbeat(); }
  // The heartbeat that the store has to have of instance(); 0: none was confirmed yet.
  std::int64_t known_beat() const { return proof_.beat_of(instance()); }
  // Whether a claim of instance() was ever won: leases of it may be open.
  bool has_history() const { return claim_.has_history(); }
  LeaseStore* store() const { return store_; }

  // The ranges may be issued: the claim is owned, and the proof does not refuse.
  bool owned() const { return claim_.state() == ScopeClaim::State::owned && !refuses(); }
  // The store may be called for leases and returns: the same, and the proof is confirmed.
  bool verified() const { return owned() && proof_.state() == StoreProof::State::confirmed; }
  // The same, or why not: CONFIG, UNAVAILABLE.
  Status check_claimed() const;
  bool changed() const { return proof_.state() == StoreProof::State::changed; }
  bool restored() const { return proof_.state() == StoreProof::State::restored; }
  bool refuses() const { return proof_.refuses(); }
  // An older copy, whose counters this host has raised.
  bool raised() const { return restored() && heartbeat().age == StoreAge::raised; }
  // Why it refuses; else StoreHealth::error().
  const Status& last_error() const { return refuses() ? refusal_ : health_.error(); }
  // "ready", "waiting" (nothing is issued yet), "down" (no new IDs come), "changed" or "restored".
  const char* state_name() const;

  // Calls the store, if there is one; once.
  void start();
  // Compares and raises the heartbeat while it is owned; regularly.
  void beat();
  // A lease or a return was refused because the database is an older copy.
  void found_restored();
  // All counters of a restored() store were raised; false: not in the copy that is in place now.
  void note_raise(bool is_there);
  // Uses a restored() store, as a new instance. Before, all that is held has become gaps.
  void begin_again();
  // How a call of one of the sequences ended; OK: the store answered.
  void note(const Status& outcome);
  // See MeasuredStore::silent_ms(); regularly.
  void note_silence(std::int64_t ms);
  // The daemon ends. Calls the store once more if something is held of it: see leave_clean().
  void stop();
  // After stop(): no answer is awaited.
  bool settled() const { return closing_ != Closing::probing; }
  // Records that the remainder is left clean; nothing may be issued after this. False: it stays as
  // a kill leaves it. So it does if the store was not reached: the next start could not claim it.
  bool leave_clean();

 private:
  enum class Closing : std::uint8_t { no, probing, reached, away };
  static const StateTable<Closing> kMoves;

  bool stopping() const { return closing_ != Closing::no; }
  // --- store_scope.cc: the identity
  void identify();
  void identified(const Token& identity);
  void bind(StoreProof::State as);
  void open();
  void refuse_changed();
  // --- scope_heartbeat.cc
  void compare_first();
  void compare(const BeatRequest& request);
  void compared(const Result<BeatOutcome>& result);
  void confirm(std::int64_t beat);
  void not_compared(const Status& failure);
  void note_beat(const Token& instance, std::int64_t beat);
  void record_heartbeat();
  void refuse_restored(const Status& why, bool is_gone);
  // --- store_scope.cc: the claim, health, closing
  void begin_claim();
  void send_claim();
  void answered(const Result<ClaimOutcome>& result);
  void lose();
  void retry_later(const Status& failure);
  void store_answered();
  void note_failure(const Status& failure, std::int64_t for_ms = 0);
  void probe();

  const CoreContext& context_;
  Owner& owner_;
  LeaseStore* const store_;
  StorePlace place_;  // of store_; its text as the log has it
  Token identity_{};  // as the store returned it
  StoreProof proof_;
  ScopeClaim claim_;  // after proof_: see the constructor
  StoreHealth health_;
  StateMachine<Closing> closing_{kMoves, Closing::no};
  Status refusal_;                             // why the proof refuses, while it does
  std::optional<BeatRequest> beat_in_flight_;  // one at a time
  OneShot timer_{context_.timers};  // of a retry, the next gaps, or the probe; never of two
  Lifetime alive_;                  // last: the answers of the store end first
};

}  // namespace seqd
