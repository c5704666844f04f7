// DynamoResolve: determines the outcome of a lease or a return, as a plan: either its record is
// there, or its token is put there as void, on condition that the record is still the one that was
// seen; then it can never be applied. Loop thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "daemon/store/dynamo/lease/dynamo_counter.h"
#include "daemon/store/dynamo/lease/dynamo_instances.h"
#include "daemon/store/dynamo/lease/dynamo_records.h"

namespace seqd {

class DynamoResolve final : public DynamoPlan<Resolution> {
 public:
  // The request's token is one of trace `slot`.
  DynamoResolve(const LeaseRequest& request, std::shared_ptr<DynamoLeaseSlots> slots,
                DynamoInstances instances, std::string where, std::int64_t wall_ms)
      : request_(request),
        slots_(std::move(slots)),
        instances_(std::move(instances)),
        where_(std::move(where)),
        wall_ms_(wall_ms),
        slot_(slot_of(request)) {}

  Step begin() override;
  Step after_read(Result<std::optional<DynamoItem>> item) override;
  Step after_update(DynamoAnswer answer) override;

 private:
  Step after_counter(const std::optional<DynamoItem>& counter);
  Step make_void(const std::optional<Token>& newest) const;

  const LeaseRequest request_;
  const std::shared_ptr<DynamoLeaseSlots> slots_;
  const DynamoInstances instances_;
  const std::string where_;
  const std::int64_t wall_ms_;
  const std::string slot_;
  int attempts_ = 0;
  bool asks_instance_ = false;   // the item under way is the instance's
  bool counter_exists_ = false;  // when it was looked at last
};

}  // namespace seqd
