// Replenisher: decides when a sequence leases its next range and how many IDs, and which failed
// leases fail the waiters. One lease at a time, whose LeaseOperation exists until it is at rest.
// Owned by its Sequence; loop thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/core/leasing/lease_operation.h"
#include "daemon/core/leasing/lease_sizer.h"
#include "daemon/core/sequence/held_ranges.h"
#include "daemon/core/sequence/sequence_owner.h"
#include "daemon/core/settings/sequence_settings.h"

namespace seqd {

class Replenisher final : private LeaseOperation::Owner {
 public:
  // The sequence.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual SequenceId id() const = 0;
    virtual const std::string& name() const = 0;
    virtual const SequenceSettings& settings() const = 0;  // those of now, but for the key
    virtual CounterBinding binding() const = 0;            // of now
    virtual std::int64_t high_water() const = 0;
    virtual const HeldRanges& held() const = 0;
    // As that of a LeaseOperation.
    virtual Status check_range(std::int64_t begin, std::int64_t end) const = 0;
    // Whether to lease is to be decided again: replenish().
    virtual void lease_changed() = 0;
    // A range that the log has.
    virtual void leased(IdRange range, const Token& lease) = 0;
    // What became of a lease will never be known; the log has that.
    virtual void leased_in_vain() = 0;
    // The counter was set back.
    virtual void counter_regressed(const Status& why) = 0;
    // Nothing can be leased: requests that need more than is available fail with `why`.
    virtual void cannot_lease(const Status& why) = 0;
  };

  // `settings`: those of now. Context and owner outlive this.
  Replenisher(const SequenceContext& context, Owner& owner, const SequenceSettings& settings);

  // Requests came since the last grant: another lease is worth having.
  void want() { wanted_ = true; }
  void want_nothing() { wanted_ = false; }
  bool wants() const { return wanted_; }

  bool idle() const { return operation_ == nullptr || operation_->idle(); }
  bool in_flight() const { return operation_ != nullptr && operation_->in_flight(); }
  // A lease is open: under way, or to be looked up.
  bool leasing() const {
    return left_open_ != nullptr || (operation_ != nullptr && operation_->intent_open());
  }
  // The error for callers while nothing is available and a retry would not help.
  const Status& failing() const { return failing_; }
  Status last_error() const { return operation_ == nullptr ? Status() : operation_->last_error(); }

  // Whether the available IDs, less the `demand` of the waiters, run low, and none are being
  // leased.
  bool due(const HeldRanges& held, std::int64_t demand) const {
    return held.available() - demand <= sizer_.size() / 2 && (wanted_ || demand > 0) && idle() &&
           left_open_ == nullptr;
  }
  // Starts a lease, if there is room for one; it has to be due. `issued`: by the sequence so far.
  // Only while the store may be called.
  void replenish(const HeldRanges& held, std::int64_t out, std::int64_t demand,
                 std::int64_t issued);
  // Drops the operation if it is at rest. At the end of a turn: it does not call.
  void end_turn() {
    if (operation_ != nullptr && operation_->at_rest()) operation_.reset();
  }
  void apply_settings();
  void mended();  // what the last lease failed for; or perhaps: the next one is tried at once

  // A lease that was in flight when the last process ended waits for adopt() or abandon().
  void restore(const std::optional<LeaseIntended>& intent) {
    left_open_ = intent ? std::make_unique<const LeaseIntended>(*intent) : nullptr;
  }
  void adopt();
  void abandon();  // and one of this process that is between two look-ups
  void go_on();
  void stop();
  void snapshot(const std::function<void(const LogEntry&)>& entry) const;

 private:
  LeaseRequest lease_request() const override;
  void when_durable(std::function<void()> then) override;
  Status check_range(std::int64_t begin, std::int64_t end) const override {
    return owner_.check_range(begin, end);
  }
  Status check_counter_kept() const override;
  void lease_granted(IdRange range, const Token& lease) override;
  void lease_failed(const Status& status) override;
  void lease_contended() override;
  bool may_ask() const override;
  void met_older_copy() override;
  void lease_untraceable() override;
  void lease_moved_on() override { owner_.lease_changed(); }

  LeaseOperation& operation();  // made where there is none

  const SequenceContext& context_;
  Owner& owner_;
  LeaseSizer sizer_;
  std::unique_ptr<LeaseOperation> operation_;
  std::unique_ptr<const LeaseIntended> left_open_;
  Status failing_;
  bool wanted_ = false;
  bool stopping_ = false;
};

}  // namespace seqd
