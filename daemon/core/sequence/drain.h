// Drain: releases everything that a sequence has available, and returns it as the sequence's option
// `reuse` says: written off as a gap, or returned to the store, the last range first. Ranges not
// returned by the deadline stay available.
//
//   idle -> draining -> idle    until nothing is left, or the deadline
//
// Owned by its Sequence, which calls step() once a turn. What it needs for that exists only until
// nothing is draining and no return is open; loop thread.
//
// Invariant: a range is available, in the one return that is open, or recorded as a gap or
// returned.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/one_shot.h"
#include "daemon/base/state_machine.h"
#include "daemon/core/leasing/return_operation.h"
#include "daemon/core/sequence/held_ranges.h"

namespace seqd {

struct DrainReport {
  struct Span {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  Reuse reuse = Reuse::never;
  std::vector<Span> returned;
  std::vector<Span> gaps;
  std::string why;             // the gaps are not returned; of the last one
  std::int64_t returning = 0;  // IDs of a return whose outcome is not known yet
  std::int64_t available = 0;  // IDs for which there was no time
};

class Drain final : private ReturnOperation::Owner {
 public:
  // The sequence.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual SequenceId id() const = 0;
    virtual const std::string& name() const = 0;
    virtual LeaseStore* store() const = 0;
    virtual ReturnRequest return_request() const = 0;
    // What is available is ours, and no lease is under way or has to be looked up.
    virtual bool may_drain() const = 0;
    // See ReturnOperation.
    virtual void when_durable(std::function<void()> then) = 0;
    virtual bool may_ask() const = 0;
    virtual void met_older_copy() = 0;
    // These are a gap now; the log has it.
    virtual void written_off(std::int64_t begin, std::int64_t end, GapCause cause) = 0;
    virtual void returned(std::int64_t begin, std::int64_t end, Reuse reuse) = 0;
    // Whether it is active has changed, or there is something to do.
    virtual void drain_changed() = 0;
  };
  using Done = std::function<void(const DrainReport&)>;

  // `held` is the sequence's. All outlive this.
  Drain(const CoreContext& context, Owner& owner, HeldRanges& held)
      : context_(context), owner_(owner), held_(held) {}

  // Nothing may be issued or leased meanwhile.
  bool active() const { return work_ != nullptr && work_->state == State::draining; }
  // Nothing may be leased: a return is open, or was when the daemon last ended.
  bool blocks_leases() const { return work_ != nullptr && (active() || returning() > 0); }
  bool in_flight() const { return work_ != nullptr && work_->operation.in_flight(); }
  // How many wait for its end.
  std::size_t askers() const { return work_ == nullptr ? 0 : work_->done.size(); }
  // IDs of the return that is open, or was when the daemon last ended.
  std::int64_t returning() const;
  std::optional<ReturnOpened> open_return() const;

  // Answers once, in this or a later turn, at `deadline_ms` at the latest. One that comes while
  // another is active has its answer. `cause` is that of what is written off.
  void begin(Reuse reuse, std::int64_t deadline_ms, Done done, GapCause cause = GapCause::drained);
  // Does what can be done now. Once a turn, after everything that was issued is in the log.
  void step() {
    if (active()) go_further();
  }
  // Its store does not answer: what is available stays so, and is issued again.
  void give_in() {
    if (active()) finish();
  }
  // Gives up what is not needed any more. At the end of a turn.
  void end_turn() {
    if (work_ != nullptr && !active() && returning() == 0) work_.reset();
  }

  // A return that was open when the daemon last ended; later it is taken up, or abandoned.
  void restore(const ReturnOpened& opened) { work().left_open = opened; }
  void adopt();
  void go_on();
  // An open return that is not in flight is abandoned: it may not be requested again.
  void abandon(GapCause cause, const std::string& why);
  void snapshot(const std::function<void(const LogEntry&)>& entry) const;
  // The daemon ends: what is available stays available.
  void stop();

 private:
  enum class State : std::uint8_t { idle, draining };
  static const StateTable<State> kMoves;

  struct Work {
    Work(const CoreContext& context, Owner& drained, ReturnOperation::Owner& owner);
    const SequenceId sequence;
    const std::string name;
    ReturnOperation operation;
    std::optional<ReturnOpened> left_open;
    StateMachine<State> state{kMoves, State::idle};
    GapCause cause = GapCause::drained;
    std::int64_t deadline_ms = 0;
    OneShot timer;
    DrainReport report;
    std::vector<Done> done;
  };

  // ReturnOperation::Owner
  ReturnRequest return_request() const override { return owner_.return_request(); }
  bool may_ask() const override { return owner_.may_ask(); }
  void met_older_copy() override { owner_.met_older_copy(); }
  void when_durable(std::function<void()> then) override { owner_.when_durable(std::move(then)); }
  void return_over(const ReturnOpened& opened, const ReturnClosed& closed,
                   const Status& why) override;

  Work& work();  // made where there is none
  void write_off(const HeldRanges::Held& held);
  void go_further(), finish();

  std::unique_ptr<Work> work_;  // first: all others are for it
  const CoreContext& context_;
  Owner& owner_;
  HeldRanges& held_;
};

}  // namespace seqd
