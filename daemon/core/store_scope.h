// StoreScope: whether this daemon may issue from the ranges it holds of one store (rule R2). A
// remainder left by a clean stop is ours only after our claim has moved the instance's epoch in the
// store; a scope that is owned stays so until the daemon ends. Copies of one state directory race
// for the same epoch: one wins, the others hear scope_lost().
//
//   clean -> recording -> claiming -> owned
//                ^            |-> lost: a new instance, from clean again
//
// Owned by the SequenceTable; loop thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "daemon/core/backoff.h"
#include "daemon/core/context.h"
#include "daemon/core/lease_store.h"

namespace seqd {

class StoreScope {
 public:
  enum class State : std::uint8_t { clean, recording, claiming, pausing, owned };

  class Owner {
   public:
    virtual ~Owner() = default;
    // Something was appended that must be durable: have it made so and call durable().
    virtual void scope_appended(ScopeId scope) = 0;
    virtual void scope_owned(ScopeId scope) = 0;
    // Another daemon has the remainder: everything in hand of this scope is a gap.
    virtual void scope_lost(ScopeId scope) = 0;
  };

  StoreScope(const CoreContext& context, Owner& owner, DefineScope definition, LeaseStore* store);
  ~StoreScope();
  StoreScope(const StoreScope&) = delete;
  StoreScope& operator=(const StoreScope&) = delete;

  ScopeId id() const { return definition_.scope; }
  const std::string& store_name() const { return definition_.store; }
  const Token& instance() const { return definition_.instance; }
  const DefineScope& definition() const { return definition_; }
  LeaseStore* store() const { return store_; }
  bool owned() const { return state_ == State::owned; }
  // Why the scope is not owned yet; OK when no try has failed.
  const Status& last_error() const { return last_error_; }
  // Whether any claim of this scope could have been ours at an earlier start (its open leases may
  // be looked up).
  bool has_history() const { return definition_.epoch > 0; }

  // Begins the claim; no effect without a store. Once, after construction.
  void start();
  // What scope_appended() announced is on the medium.
  void durable();
  // Records that the remainder is left clean. The daemon ends: nothing may be issued after this.
  // False: there was nothing to record.
  bool leave_clean();
  void stop();

 private:
  void begin_claim();
  void send_claim();
  void answered(const Result<ClaimOutcome>& result);
  void pause(const Status& status);
  void record(ScopeState state);

  const CoreContext& context_;
  Owner& owner_;
  DefineScope definition_;
  LeaseStore* const store_;  // null: the store is not configured any more; its remainder waits
  State state_ = State::clean;
  Status last_error_;
  Backoff backoff_;
  TimerId timer_ = 0;
  bool stopping_ = false;
  bool owning_ = false;  // the claim is won and waits for its record to be durable
  std::shared_ptr<StoreScope*> self_;
};

}  // namespace seqd
