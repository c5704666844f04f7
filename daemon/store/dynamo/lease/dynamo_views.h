// Operations on a counter besides leases, as plans: DynamoReading reads it, and DynamoAdvance
// raises it, and its floor. An advance is an update on condition that the number is still lower, so
// old code and leases at the same time are not disturbed, and a request that arrives twice or late
// changes nothing. Loop thread.
#pragma once

#include <string>

#include "daemon/store/dynamo/lease/dynamo_counter.h"
#include "daemon/store/dynamo/wire/dynamo_plan.h"

namespace seqd {

class DynamoReading final : public DynamoPlan<Result<CounterReading>> {
 public:
  DynamoReading(CounterBinding binding, std::string where)
      : binding_(std::move(binding)), where_(std::move(where)) {}

  Step begin() override { return dynamo_key_of(binding_); }
  Step after_read(Result<std::optional<DynamoItem>> item) override;

 private:
  const CounterBinding binding_;
  const std::string where_;
};

class DynamoAdvance final : public DynamoPlan<Result<std::int64_t>> {
 public:
  DynamoAdvance(AdvanceRequest request, std::string where)
      : request_(std::move(request)), where_(std::move(where)) {}

  Step begin() override { return dynamo_key_of(request_.binding); }
  Step after_read(Result<std::optional<DynamoItem>> item) override;
  Step after_update(DynamoAnswer answer) override;

 private:
  DynamoUpdate raise(const DynamoCounterState& state, const std::vector<std::string>& parked) const;

  const AdvanceRequest request_;
  const std::string where_;
  std::int64_t wanted_ = 0;    // what the next ID is to be at least
  bool floor_is_set_ = false;  // it is set, or was not requested
  int attempts_ = 0;
};

}  // namespace seqd
