// LeaseOperation: one lease of a range for a sequence. One whose outcome is not known is looked up
// by its token until it is, and never requested again. See StoreOperation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/core/leasing/store_operation.h"

namespace seqd {

class LeaseOperation final : public StoreOperation {
 public:
  // A new one. The request has a new token of the store.
  LeaseOperation(const CoreContext& context, Owner& owner, LeaseStore* store, SequenceId sequence,
                 LeaseRequest request);
  // One that was in flight when the daemon last ended.
  LeaseOperation(const CoreContext& context, Owner& owner, LeaseStore* store,
                 const LeaseIntended& left);

  void abandon(GapCause cause, const Status& why) override;

 private:
  void send() override;
  void hold_back() override;
  void look_up();
  void lease_answered(const LeaseOutcome& outcome);
  void look_up_answered(const Resolution& resolution);
  void granted(std::int64_t begin, std::int64_t end, bool parked, EventKind how);
  // Records the end, and reports it to the owner.
  void close(LeaseEnd how, const OperationEvent& event);
  void raise(EventKind kind, std::string text);
  LeaseRequest former_request() const;
  // Why the range cannot be the requested one; OK if it can.
  Status check(std::int64_t begin, std::int64_t end, bool parked) const;

  std::optional<LeaseRequest> request_;  // none: it was left, and is not adopted yet
  bool sent_ = false;                    // a look-up is next
};

}  // namespace seqd
