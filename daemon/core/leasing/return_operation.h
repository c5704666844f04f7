// ReturnOperation: the return of one range to the store. One whose outcome is not known is repeated
// with its token until it is, also by the next daemon. When its time is up, the store makes the
// token void, and only then the range is a gap (tests/model/return.pml). See StoreOperation.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/core/leasing/store_operation.h"

namespace seqd {

class ReturnOperation final : public StoreOperation {
 public:
  // A new one, with a new token of the store. From `deadline_ms` on it gives up.
  ReturnOperation(const CoreContext& context, Owner& owner, LeaseStore* store,
                  const ReturnOpened& opened, std::int64_t deadline_ms);
  // One that was open when the daemon last ended.
  ReturnOperation(const CoreContext& context, Owner& owner, LeaseStore* store,
                  const ReturnOpened& left);

  void abandon(GapCause cause, const Status& why) override;

 private:
  void send() override;
  void hold_back() override;
  void answered(const ReturnOutcome& outcome);
  void close(ReturnEnd how, GapCause cause, const Status& why);

  std::optional<std::int64_t> deadline_ms_;  // none: it was left, and is not adopted yet
  bool give_up_ = false;                     // asking again would not help
};

}  // namespace seqd
