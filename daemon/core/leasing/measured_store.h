// MeasuredStore: a LeaseStore that hands everything on to another one, and counts how its leases
// end and how long they take. So nothing that leases has to know of figures. Loop thread.
#pragma once

#include <functional>
#include <memory>

#include "daemon/base/time/fine_clock.h"
#include "daemon/core/leasing/lease_figures.h"
#include "daemon/core/leasing/lease_store.h"

namespace seqd {

class MeasuredStore final : public LeaseStore {
 public:
  // Both outlive this. An answer that comes later is still handed on, so the clock outlives that.
  MeasuredStore(LeaseStore& store, const FineClock& clock) : store_(store), clock_(clock) {}

  const LeaseFigures& figures() const { return *figures_; }

  StorePlace place() const override { return store_.place(); }
  void identify(const Token& candidate, std::function<void(Result<Token>)> done) override {
    store_.identify(candidate, std::move(done));
  }
  Token new_token(Random& random, const CounterBinding& binding) override {
    return store_.new_token(random, binding);
  }
  void lease(const LeaseRequest& request, std::function<void(LeaseOutcome)> done) override;
  void resolve(const LeaseRequest& request, std::function<void(Resolution)> done) override;
  void claim(const ClaimRequest& request, std::function<void(Result<ClaimOutcome>)> done) override {
    store_.claim(request, std::move(done));
  }
  void beat(const BeatRequest& request, std::function<void(Result<BeatOutcome>)> done) override {
    store_.beat(request, std::move(done));
  }
  void read(const ReadRequest& request, std::function<void(Result<CounterReading>)> done) override {
    store_.read(request, std::move(done));
  }
  void advance(const AdvanceRequest& request,
               std::function<void(Result<std::int64_t>)> done) override {
    store_.advance(request, std::move(done));
  }
  void return_range(const ReturnRequest& request,
                    std::function<void(ReturnOutcome)> done) override {
    store_.return_range(request, std::move(done));
  }
  void forget(const ForgetRequest& request,
              std::function<void(Result<InstanceRecords>)> done) override {
    store_.forget(request, std::move(done));
  }

 private:
  LeaseStore& store_;
  const FineClock& clock_;
  const std::shared_ptr<LeaseFigures> figures_ = std::make_shared<LeaseFigures>();
};

}  // namespace seqd
