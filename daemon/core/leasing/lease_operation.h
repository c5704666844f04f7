// LeaseOperation: takes one range after another from the store for one sequence; at most one
// request is in flight.
//
//   idle -> recording -> requesting -> idle    granted or refused
//   requesting -> resolving -> idle            the outcome was unknown: found, absent
//   requesting, resolving -> pausing           a failure that may pass, or never known
//   pausing -> idle, resolving                 the owner decides; what is open is looked up again
//   recording -> idle                          the store may not be asked any more
//   idle -> resolving                          a lease of the last process: adopt()
//
// The intent is durable before the request leaves; a grant is recorded before its owner sees it.
// Owned by its Replenisher, which drops it when it is at rest; loop thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "daemon/base/backoff.h"
#include "daemon/base/id_range.h"
#include "daemon/base/lifetime.h"
#include "daemon/base/one_shot.h"
#include "daemon/base/state_machine.h"
#include "daemon/core/context/core_context.h"
#include "daemon/core/leasing/lease_store.h"

namespace seqd {

class LeaseOperation {
 public:
  enum class State : std::uint8_t { idle, recording, requesting, resolving, pausing };

  // The sequence that leases. The verbs are called on the loop thread.
  class Owner {
   public:
    virtual ~Owner() = default;
    // Fills in everything but token and count.
    virtual LeaseRequest lease_request() const = 0;
    // Has this turn's record made durable, and calls `then` when it is; not after the owner's end.
    virtual void when_durable(std::function<void()> then) = 0;
    // Why a range that was granted cannot be held beside what is: the next start would refuse it.
    virtual Status check_range(std::int64_t begin, std::int64_t end) const = 0;
    // SEQ_REGRESSED: the counter may have been removed, and what it grants been issued before.
    virtual Status check_counter_kept() const = 0;
    // A range that is already recorded.
    virtual void lease_granted(IdRange range, const Token& lease) = 0;
    // The try failed; the operation is idle or pausing now.
    virtual void lease_failed(const Status& status) = 0;
    // Other hosts were faster: the store works, and the operation is pausing for a moment.
    virtual void lease_contended() = 0;
    // Whether the store may be called: it is not an older copy. When it may again, go_on() follows.
    virtual bool may_ask() const = 0;
    // The store is an older copy of the database; a lease whose outcome is not known stays open.
    virtual void met_older_copy() = 0;
    // It will never be known what became of the lease; that is recorded.
    virtual void lease_untraceable() = 0;
    // A pause ended, or an outcome that was unknown is settled without a range: then the operation
    // is idle, or pausing now. Whether to try again is the owner's decision.
    virtual void lease_moved_on() = 0;
  };

  // `store` may be set later, before the first start(). `name` is for the journal.
  LeaseOperation(const CoreContext& context, Owner& owner, SequenceId sequence, std::string name);

  void set_store(LeaseStore* store) { store_ = store; }

  State state() const { return state_.state(); }
  bool idle() const { return state_ == State::idle; }
  // A request is with the log or the store.
  bool in_flight() const {
    return state_ == State::recording || state_ == State::requesting || state_ == State::resolving;
  }
  // Nothing is under way or to be remembered: one that is new would do the same.
  bool at_rest() const {
    return idle() && !intent_open_ && last_error_.ok() && conflicts_ == 0 && backoff_.is_reset();
  }
  // IDs on order; 0 when nothing is.
  std::int64_t leasing() const { return intent_open_ ? request_.count : 0; }
  bool intent_open() const { return intent_open_; }
  // The open intent, for snapshots; only when intent_open().
  LeaseIntended intent() const;
  const Status& last_error() const { return last_error_; }

  // Begins a lease of `count` >= 1 IDs. Only when idle.
  void start(std::int64_t count);
  // Takes up a lease that was in flight when the daemon last ended. Only when idle, once the scope
  // is owned.
  void adopt(const LeaseIntended& intent);
  // An open intent of a scope that was lost: it may not be looked up. Only when idle; records its
  // end.
  void abandon(const LeaseIntended& intent);
  // The same of one of this process that is between two look-ups; nothing where none is.
  void abandon_open();
  // The store may be called again: a look-up that waits for that follows.
  void go_on();
  // What the last try failed for was mended: the next need not wait for the pause to end.
  void mended();
  // The daemon ends: no new try; what is in flight may still answer.
  void stop();

 private:
  static const StateTable<State> kMoves;

  void intent_durable();
  void request_lease();
  void resolve();
  void outcome(const LeaseOutcome& outcome);
  void resolution(const Resolution& resolution);
  void granted(std::int64_t begin, std::int64_t end, bool parked, EventKind how);
  void close(LeaseEnd how);
  void look_up();
  void meet_older_copy(bool refused, const Status& status);
  void fail(const Status& status);
  void contend(const Status& status);
  void unknown(const Status& status);
  void pause(std::int64_t delay_ms);
  void raise(EventKind kind, std::string text);
  // Why the range cannot be the requested one; OK if it can.
  Status check_grant(std::int64_t begin, std::int64_t end, bool parked) const;

  const CoreContext& context_;
  Owner& owner_;
  const SequenceId sequence_;
  const std::string name_;
  LeaseStore* store_ = nullptr;

  StateMachine<State> state_{kMoves, State::idle};
  bool intent_open_ = false;
  std::int64_t intent_wall_ms_ = 0;
  bool stopping_ = false;
  LeaseRequest request_;
  Status last_error_;
  Backoff backoff_;
  int conflicts_ = 0;  // since the last grant
  OneShot timer_{context_.timers};
  Lifetime alive_;
};

}  // namespace seqd
