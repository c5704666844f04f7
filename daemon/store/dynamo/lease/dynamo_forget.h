// DynamoForget: removes the records of an instance that will send no more requests, and its epoch,
// as a plan. The instance's item stays with its heartbeat only: a later claim of the instance
// loses, and the outcome of its leases can no longer be determined. Loop thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "daemon/store/dynamo/lease/dynamo_instances.h"
#include "daemon/store/dynamo/lease/dynamo_records.h"

namespace seqd {

class DynamoForget final : public DynamoPlan<Result<InstanceRecords>> {
 public:
  DynamoForget(ForgetRequest request, std::shared_ptr<DynamoLeaseSlots> slots,
               DynamoInstances instances, std::int64_t wall_ms)
      : request_(std::move(request)),
        slots_(std::move(slots)),
        instances_(std::move(instances)),
        wall_ms_(wall_ms) {}

  Step begin() override { return instance_key(instances_, to_hex(request_.instance)); }
  Step after_read(Result<std::optional<DynamoItem>> item) override;
  Step after_update(DynamoAnswer answer) override;

 private:
  enum class Phase : std::uint8_t { looking, marking, slots, ending };

  // The next lease slot, or the end.
  Step next();
  Step end();
  std::string slot() const;

  const ForgetRequest request_;
  const std::shared_ptr<DynamoLeaseSlots> slots_;
  const DynamoInstances instances_;
  const std::int64_t wall_ms_;
  Phase phase_ = Phase::looking;
  std::size_t at_ = 0;  // of the lease slots
  InstanceRecords found_;
};

}  // namespace seqd
