// DynamoLease: one lease as a plan. Every condition it depends on (type, meaning, high-water mark,
// maximum, the token before it) stands in the one update that moves the number and leaves the
// record, so a counter that may not be used is left exactly as it was; only then is the item read,
// to say why, or to create it. Refers to nothing but the lease slots, which outlive it. Loop
// thread.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "daemon/store/dynamo/lease/dynamo_counter.h"
#include "daemon/store/dynamo/lease/dynamo_instances.h"
#include "daemon/store/dynamo/lease/dynamo_records.h"

namespace seqd {

class DynamoLease final : public DynamoPlan<LeaseOutcome> {
 public:
  DynamoLease(const LeaseRequest& request, std::shared_ptr<DynamoLeaseSlots> slots,
              DynamoInstances instances, std::string where, std::int64_t wall_ms);

  Step begin() override;
  Step after_read(Result<std::optional<DynamoItem>> item) override;
  Step after_update(DynamoAnswer answer) override;

 private:
  enum class Phase : std::uint8_t { leasing, taking_parked, creating, sweeping };

  Step create();
  Step increment();
  Step take_parked(const DynamoItem& item, std::int64_t next);
  Step sweep_or(const DynamoItem& item);
  LeaseOutcome grant(const DynamoItem& changed);
  void learn(const Token& token) {
    if (slots_->size() >= kMostDynamoLeaseSlots && !slots_->contains(slot_))
      slots_->erase(slots_->begin());
    (*slots_)[slot_] = {token, meaning_, floor_};
  }
  std::optional<Token> newest() const;

  const LeaseRequest request_;
  const std::shared_ptr<DynamoLeaseSlots> slots_;
  const DynamoInstances instances_;
  const std::string where_;
  const std::int64_t wall_ms_;
  const std::string slot_;
  const bool traced_;
  Phase phase_ = Phase::leasing;
  Meaning meaning_;
  std::int64_t floor_ = 0;  // as it was last read
  std::int64_t count_;
  int attempts_ = 0;
  LeasedSpan parked_;                  // being taken
  std::vector<std::string> outdated_;  // lease slots whose records go with the update
  std::set<std::string> swept_;        // of these, the ones whose instance knows
};

}  // namespace seqd
