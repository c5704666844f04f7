// ReturnOperation: returns the unissued part of ranges to the store, for one sequence; one return
// is open at a time, and no lease with it.
//
//   idle -> recording -> asking -> idle    returned, or never will be: a gap
//   asking -> pausing -> asking            a failure: again, with the same token
//   recording, idle -> pausing             the store may not be asked yet
//   idle -> asking                         a return of the last process: adopt()
//   pausing -> idle                        abandon_open(): a gap
//
// The record that releases the range is durable before the request leaves. A return of unknown
// outcome is repeated until the outcome is known, also by the next daemon. When its time is up, the
// store makes its token void, and only then it is a gap (tests/model/return.pml). Owned by its
// Drain; loop thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "daemon/base/backoff.h"
#include "daemon/base/id_range.h"
#include "daemon/base/lifetime.h"
#include "daemon/base/one_shot.h"
#include "daemon/base/state_machine.h"
#include "daemon/core/context/core_context.h"
#include "daemon/core/leasing/lease_store.h"

namespace seqd {

class ReturnOperation {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    // Fills in everything but token, range and what to do.
    virtual ReturnRequest return_request() const = 0;
    // As that of a LeaseOperation.
    virtual void when_durable(std::function<void()> then) = 0;
    // Whether the store may be called: it is not an older copy. When it may again, go_on() follows.
    virtual bool may_ask() const = 0;
    // The store is an older copy of the database; the return stays open.
    virtual void met_older_copy() = 0;
    // The end is recorded; `why` it was kept.
    virtual void return_over(const ReturnOpened& opened, const ReturnClosed& closed,
                             const Status& why) = 0;
  };

  // `store` may be set later, before the first start().
  ReturnOperation(const CoreContext& context, Owner& owner, SequenceId sequence, std::string name);

  void set_store(LeaseStore* store) { store_ = store; }

  // For snapshots, and for the sums: what is on its way.
  const std::optional<ReturnOpened>& opened() const { return opened_; }
  // A request is with the log or the store.
  bool in_flight() const { return state_ == State::recording || state_ == State::asking; }

  // Begins to give `range` back. Only when nothing is open. From `deadline_ms` on it gives up.
  void start(const IdRange& range, Reuse reuse, std::int64_t deadline_ms);
  // Takes up a return that was open when the daemon last ended, once the scope is owned.
  void adopt(const ReturnOpened& opened, std::int64_t deadline_ms);
  // The store may be called again: a request that waits for that follows.
  void go_on();
  // A return that may not be repeated any more: a gap.
  void abandon(const ReturnOpened& opened, GapCause cause, const Status& why);
  // The same of one of this process that is between two requests; nothing where none is.
  void abandon_open(GapCause cause, const Status& why);
  // The daemon ends: no new try; what is in flight may still answer.
  void stop();

 private:
  enum class State : std::uint8_t { idle, recording, asking, pausing };
  static const StateTable<State> kMoves;

  void durable();  // the record that releases the range is on the medium
  void ask();
  void answered(const ReturnOutcome& outcome);
  void close(ReturnEnd how, GapCause cause, const Status& why);
  void pause(const ReturnOutcome& outcome);

  const CoreContext& context_;
  Owner& owner_;
  const SequenceId sequence_;
  const std::string name_;
  LeaseStore* store_ = nullptr;

  StateMachine<State> state_{kMoves, State::idle};
  std::optional<ReturnOpened> opened_;
  std::int64_t deadline_ms_ = 0;
  bool give_up_ = false;  // asking again would not help
  bool stopping_ = false;
  Backoff backoff_;
  OneShot timer_{context_.timers};
  Lifetime alive_;
};

}  // namespace seqd
