// MeasuredStore: a LeaseStore that hands everything on to another one. It counts how its leases end
// and how long they take, and knows since when the store has not answered. So nothing that leases
// has to know of figures. Loop thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "daemon/base/time/fine_clock.h"
#include "daemon/core/leasing/lease_figures.h"
#include "daemon/core/leasing/lease_store.h"

namespace seqd {

class MeasuredStore final : public LeaseStore {
 public:
  // Both outlive this. An answer that comes later is still handed on, so the clock outlives that.
  // `timeout_ms`: within which the store answers a call.
  MeasuredStore(LeaseStore& store, const FineClock& clock, std::int64_t timeout_ms)
      : store_(store), clock_(clock), timeout_ms_(timeout_ms) {}

  const LeaseFigures& figures() const { return *figures_; }

  // How long a call has waited while the store answered nothing; 0: not for longer than its time.
  // An error that a later try may not have is no answer of the store.
  std::int64_t silent_ms() const;

  StorePlace place() const override { return store_.place(); }
  Token new_token(Random& random, const CounterBinding& binding) override {
    return store_.new_token(random, binding);
  }
  void identify(const Token& candidate, std::function<void(Result<Token>)> done) override;
  void lease(const LeaseRequest& request, std::function<void(LeaseOutcome)> done) override;
  void resolve(const LeaseRequest& request, std::function<void(Resolution)> done) override;
  void claim(const ClaimRequest& request, std::function<void(Result<ClaimOutcome>)> done) override;
  void beat(const BeatRequest& request, std::function<void(Result<BeatOutcome>)> done) override;
  void read(const ReadRequest& request, std::function<void(Result<CounterReading>)> done) override;
  void advance(const AdvanceRequest& request,
               std::function<void(Result<std::int64_t>)> done) override;
  void return_range(const ReturnRequest& request, std::function<void(ReturnOutcome)> done) override;
  void forget(const ForgetRequest& request,
              std::function<void(Result<InstanceRecords>)> done) override;

 private:
  struct Calls {
    std::int64_t open = 0;
    std::optional<std::int64_t> silent_since_us;
  };
  template <typename Answer>
  std::function<void(Answer)> watched(std::function<void(Answer)> done);

  LeaseStore& store_;
  const FineClock& clock_;
  const std::int64_t timeout_ms_;
  const std::shared_ptr<LeaseFigures> figures_ = std::make_shared<LeaseFigures>();
  const std::shared_ptr<Calls> calls_ = std::make_shared<Calls>();
};

}  // namespace seqd
