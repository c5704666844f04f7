// DynamoStore: Amazon DynamoDB as central store, over HTTP on the loop, without a worker; it keeps
// registers, too (dynamo_register_items.h). A lease
// is one conditional update of the counter's item that also leaves a record of its token
// (dynamo_records.h), so that an unknown outcome can be looked up; in plain mode it leaves none,
// and an unknown outcome is a gap. Loop thread; what it refers to outlives it, and calls under way
// outlive the store.
//
// Invariant: a range is granted only when the service confirmed the update.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/random.h"
#include "daemon/core/registers/register_store.h"
#include "daemon/store/dynamo/dynamo_options.h"
#include "daemon/store/dynamo/dynamo_tables.h"
#include "daemon/store/dynamo/lease/dynamo_instances.h"
#include "daemon/store/dynamo/lease/dynamo_records.h"
#include "daemon/store/dynamo/wire/dynamo_client.h"
#include "daemon/store/unconfirmed_leases.h"

namespace seqd {

class DynamoStore final : public LeaseStore, public RegisterStore {
 public:
  // CONFIG when the options cannot be used; a service that is away is no error here.
  static Result<std::unique_ptr<DynamoStore>> open(HttpClient& http, Timers& timers,
                                                   const Clock& clock, Random& random,
                                                   const DynamoStoreOptions& options,
                                                   AwsProvider& credentials);

  LeaseTrace trace() const { return plain_ ? LeaseTrace::plain : LeaseTrace::slot; }
  Token new_token(Random& random, const CounterBinding&) override {
    return new_lease_token(random, trace());
  }
  StorePlace place() const override { return {place_, {}}; }
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
  void read_register(const RegisterQuery& query,
                     std::function<void(Result<RegisterReading>)> done) override;
  void write_register(const RegisterWrite& write,
                      std::function<void(RegisterOutcome)> done) override;
  void list_register(const RegisterPageQuery& query,
                     std::function<void(Result<std::vector<NumberRecord>>)> done) override;

 private:
  // Answers without a request to the service, but not before the call has returned.
  template <typename Answer>
  void answer(std::function<void(Answer)> done, Answer what) {
    client_->later([done = std::move(done), what = std::move(what)] { done(what); });
  }
  void resolve_plain(const LeaseRequest& request, std::function<void(Resolution)> done);
  template <typename Answer, typename Request, typename Plan>
  void run_compared(const Request& request, std::shared_ptr<Plan> plan,
                    std::function<void(Answer)> done);
  Status check(const CounterBinding& binding, const Status& checked) const;
  std::string where(const CounterBinding& binding) const;
  static Status check_register(const RegisterPlace& place);
  template <typename Answer>
  void read_compared(const RegisterPlace& place, std::shared_ptr<DynamoPlan<Result<Answer>>> plan,
                     std::function<void(Result<Answer>)> done);

  DynamoStore(std::shared_ptr<DynamoClient> client, Random& random,
              const DynamoStoreOptions& options)
      : client_(std::move(client)),
        random_(random),
        instances_{options.instances_table, options.instances_key},
        place_("dynamodb " + endpoint_of(options) + " " + options.region + " " +
               options.instances_table),
        plain_(options.plain),
        tables_(client_),
        slots_(std::make_shared<DynamoLeaseSlots>()),
        unconfirmed_(std::make_shared<UnconfirmedLeases>()) {}

  const std::shared_ptr<DynamoClient> client_;
  Random& random_;
  const DynamoInstances instances_;
  const std::string place_;
  const bool plain_;
  DynamoTables tables_;
  const std::shared_ptr<DynamoLeaseSlots> slots_;
  const std::shared_ptr<UnconfirmedLeases> unconfirmed_;
};

}  // namespace seqd
