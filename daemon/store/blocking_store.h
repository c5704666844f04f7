// BlockingStore: one central store, spoken to with calls that block. Each verb has its own
// time-outs and returns within them. The calls of one store may come from several worker threads at
// once, up to `concurrency()`. The words and the promises are those of core/lease_store.h; the same
// contract test runs against every implementation.
#pragma once

#include <memory>

#include "daemon/core/lease_store.h"

namespace seqd {

class BlockingStore {
 public:
  virtual ~BlockingStore() = default;
  virtual LeaseOutcome lease(const LeaseRequest& request) = 0;
  virtual Resolution resolve(const LeaseRequest& request) = 0;
  virtual Result<ClaimOutcome> claim(const ClaimRequest& request) = 0;
  virtual Result<CounterReading> read(const ReadRequest& request) = 0;
  virtual Result<std::int64_t> advance(const AdvanceRequest& request) = 0;
  // How many calls may run at the same time, >= 1. Constant.
  virtual int concurrency() const = 0;
};

}  // namespace seqd
