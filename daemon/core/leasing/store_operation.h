// StoreOperation: what a sequence has open at its store, a lease or the return of a range: from the
// record that opens it to the record that ends it. It exists only while it is open.
//
//   recording -> asking    its record is durable
//   recording -> paused    the same, of a return whose store may not be called yet
//   asking -> paused       the answer did not settle it
//   paused -> asking       go_on(): asked again, with the same token
//   left -> asking         adopt(): of the last process
//
// Its record is durable before the request leaves, and its end is recorded before the owner gets
// the event. The owner decides when to ask again. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <variant>

#include "daemon/base/lifetime.h"
#include "daemon/base/one_shot.h"
#include "daemon/base/state_machine.h"
#include "daemon/core/context/core_context.h"
#include "daemon/core/leasing/lease_store.h"

namespace seqd {

struct OperationEvent {
  enum class Kind : std::uint8_t {
    // The operation is over.
    granted,      // a lease: [begin, end) is recorded
    refused,      // a lease: nothing was applied
    absent,       // a lease: the same, because it was not sent, or the store has no trace of it
    untraceable,  // a lease: it will never be known what became of it; or `why` the grant is wrong
    abandoned,    // a lease: the same, by abandon()
    returned,     // a return
    kept,         // a return: the range is a gap
    // The operation is paused: go_on() asks again.
    // is_over(): all before this.
    unknown,  // a lease that may have been applied; the first look-up need not wait
    failed,
  };
  Kind kind;
  Status why{};                        // OK where nothing is wrong
  bool contended = false;              // refused, failed: see LeaseOutcome
  bool restored = false;               // refused, failed: the same
  std::int64_t begin = 0;              // granted
  std::int64_t end = 0;                // granted
  GapCause cause = GapCause::drained;  // kept

  bool is_over() const { return kind < Kind::unknown; }
};

class StoreOperation {
 public:
  enum class State : std::uint8_t { left, recording, asking, paused };

  // The sequence.
  class Owner {
   public:
    virtual ~Owner() = default;
    // All but token and count, as of now.
    virtual LeaseRequest lease_request() const = 0;
    // Whether the store may be called: it is not an older copy.
    virtual bool may_ask() const = 0;
    // Has this turn's record made durable, and calls `then` when it is; not after the owner's end.
    virtual void when_durable(std::function<void()> then) = 0;
    // Before a grant is recorded: why it cannot be held. SEQ_REGRESSED: its IDs may have been
    // issued before, or are available.
    virtual Status check_grant(std::int64_t begin, std::int64_t end) const = 0;
    // The last step of what the operation does. The owner destroys one that is over.
    virtual void happened(const OperationEvent& event) = 0;
  };

  virtual ~StoreOperation() = default;
  StoreOperation(const StoreOperation&) = delete;
  StoreOperation& operator=(const StoreOperation&) = delete;

  State state() const { return state_.state(); }
  // A request is with the log or the store.
  bool in_flight() const { return state_ == State::recording || state_ == State::asking; }
  // The record that opened it, for snapshots: one of them is null.
  const LeaseIntended* lease() const { return std::get_if<LeaseIntended>(&opened_); }
  const ReturnOpened* range_return() const { return std::get_if<ReturnOpened>(&opened_); }

  // Records a new one; once. Its request leaves when that is durable.
  void begin();
  // Takes it up if it was left by the last process. Only while the store may be called.
  void adopt();
  // Asks again if it is paused, no delay is running, and the store may be called.
  void go_on();
  // The same in `delay_ms`.
  void go_on_after(std::int64_t delay_ms);
  // The daemon ends: no new try; what is in flight may still be answered.
  void stop() { timer_.cancel(); }
  // Ends it without asking the store again, which may not know it any more. Nothing while it is in
  // flight. What a return releases is a gap, of that cause; a lease needs neither.
  virtual void abandon(GapCause cause, const Status& why) = 0;

 protected:
  using Opened = std::variant<LeaseIntended, ReturnOpened>;

  // `first`: recording or left. Context, owner and store outlive this; a store that is not
  // configured is null, and may not be called.
  StoreOperation(const CoreContext& context, Owner& owner, LeaseStore* store, Opened opened,
                 State first);

  // Sends the request, or the look-up of an earlier one.
  virtual void send() = 0;
  // Its record is durable, and the store may not be called.
  virtual void hold_back() = 0;
  void pause() { state_.move_to(State::paused); }
  void pause(const OperationEvent& event) {
    pause();
    owner_.happened(event);
  }

  const CoreContext& context_;
  Owner& owner_;
  LeaseStore* const store_;

 private:
  static const StateTable<State> kMoves;

  void ask();
  void durable();

  const Opened opened_;
  StateMachine<State> state_;
  OneShot timer_{context_.timers};  // while paused

 protected:
  Lifetime alive_;  // last: the answers of the store end first
};

}  // namespace seqd
