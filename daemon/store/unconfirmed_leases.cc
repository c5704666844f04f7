#include "daemon/store/unconfirmed_leases.h"

#include "daemon/base/assertion.h"
#include "daemon/store/lease_trace.h"

namespace seqd {

void UnconfirmedLeases::keep(const LeaseRequest& request, const LeaseOutcome& granted) {
  ASSERT(granted.kind == LeaseOutcome::Kind::granted);
  ASSERT(trace_of(request.token) == LeaseTrace::plain && !granted.parked);
  const std::lock_guard lock(mutex_);
  leases_[slot_of(request)] = {request.token, granted.begin, granted.end};
}

std::optional<Resolution> UnconfirmedLeases::find(const LeaseRequest& request) const {
  const std::lock_guard lock(mutex_);
  const auto found = leases_.find(slot_of(request));
  if (found == leases_.end() || found->second.token != request.token || request.heartbeat == 0)
    return std::nullopt;
  return Resolution{.kind = Resolution::Kind::granted,
                    .begin = found->second.begin,
                    .end = found->second.end,
                    .error = {}};
}

void UnconfirmedLeases::drop(const LeaseRequest& request) {
  const std::lock_guard lock(mutex_);
  leases_.erase(slot_of(request));
}

}  // namespace seqd
