// DynamoReturn: returns one range, or determines the outcome of that, as a plan. Range and record
// change in one update of the counter's item, on condition that the lease slot's record is the one
// that was seen: a return that arrives late, after it was given up or followed by another operation
// of its lease slot, changes nothing. Loop thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "daemon/store/dynamo/lease/dynamo_resolve.h"

namespace seqd {

class DynamoReturn final : public DynamoPlan<ReturnOutcome> {
 public:
  // The request's token is one of trace `slot`.
  DynamoReturn(const ReturnRequest& request, const std::shared_ptr<DynamoLeaseSlots>& slots,
               const DynamoInstances& instances, const std::string& where, std::int64_t wall_ms);

  Step begin() override;
  Step after_read(Result<std::optional<DynamoItem>> item) override;
  Step after_update(DynamoAnswer answer) override;

 private:
  Step apply(const DynamoCounterState& state, const std::optional<LeaseRecord>& record);
  // The token is made void, unless the return was applied: then that is its outcome.
  Step give_up(Status why);
  Step following(DynamoResolve::Step step);

  const ReturnRequest request_;
  const std::shared_ptr<DynamoLeaseSlots> slots_;
  const std::string where_;
  const std::int64_t wall_ms_;
  const std::string slot_;
  DynamoResolve resolve_;
  int attempts_ = 0;
  std::optional<Status> given_up_;  // why
};

}  // namespace seqd
