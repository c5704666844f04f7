// Replenisher: decides when a sequence leases its next range and how many IDs, and remembers what
// leases failed for: how long the next one is put off, and which error requests get meanwhile.
// Owned by its Sequence; loop thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "daemon/base/backoff.h"
#include "daemon/base/one_shot.h"
#include "daemon/core/leasing/lease_sizer.h"
#include "daemon/core/ranges/held_ranges.h"
#include "daemon/core/sequence/sequence_owner.h"
#include "daemon/core/settings/sequence_settings.h"

namespace seqd {

class Replenisher {
 public:
  // Of the sequence, now.
  struct Facts {
    const std::string& name;
    const SequenceSettings& settings;
    const HeldRanges& held;
    std::int64_t out = 0;     // IDs in blocks
    std::int64_t demand = 0;  // IDs that requests wait for
    std::int64_t issued = 0;  // IDs, by the sequence so far
  };

  // The context outlives this.
  Replenisher(const SequenceContext& context, const SequenceSettings& settings);

  // Requests came since the last grant: another lease is worth having.
  void want() { wanted_ = true; }
  void want_nothing() { wanted_ = false; }
  bool wants() const { return wanted_; }

  // Whether the available IDs, less the `demand` of the waiters, run low, and the next lease is not
  // put off.
  bool due(const HeldRanges& held, std::int64_t demand) const {
    return held.available() - demand <= sizer_.size() / 2 && (wanted_ || demand > 0) && !pausing();
  }
  // How many IDs the next lease is for, which has to be due; 0: there is too little room for one.
  // BUSY: the log has none.
  Result<std::int64_t> next_lease(const Facts& facts);

  // The next lease is put off.
  bool pausing() const { return failure_ != nullptr && failure_->pause.running(); }
  // The error for callers while nothing is available and a retry would not help.
  const Status& failing() const { return failing_; }
  // Of the lease that is open, or else of those since the last grant.
  Status last_error() const { return failure_ == nullptr ? Status() : failure_->last_error; }

  void granted();
  void abandoned();
  // A lease or a look-up of it failed.
  void failed(const Status& why) { failure().last_error = why; }
  // The same, since other hosts were faster. How often that was since the last grant.
  int count_conflict() { return ++failure().conflicts; }
  // Until the next try; the next delay is longer.
  std::int64_t next_delay_ms(bool contended);
  // Puts the next lease off; then calls `then`.
  void pause(std::int64_t delay_ms, std::function<void()> then);
  // The next leases will fail in the same way: requests fail with `why`.
  void fail_requests(const Status& why);
  void apply_settings(const SequenceSettings& settings);
  void mended();  // what the last lease failed for; or perhaps: the next one is tried at once
  void stop();    // the daemon ends: no lease follows

 private:
  struct Failure {
    explicit Failure(Timers& timers) : pause(timers) {}
    Status last_error;
    Backoff backoff;
    int conflicts = 0;
    OneShot pause;
  };

  Failure& failure();  // made where there is none

  const SequenceContext& context_;
  LeaseSizer sizer_;
  std::unique_ptr<Failure> failure_;  // null: nothing has failed since the last grant
  Status failing_;
  bool wanted_ = false;
};

}  // namespace seqd
