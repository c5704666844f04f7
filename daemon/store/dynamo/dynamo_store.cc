#include "daemon/store/dynamo/dynamo_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "daemon/store/dynamo/lease/dynamo_forget.h"
#include "daemon/store/dynamo/lease/dynamo_lease.h"
#include "daemon/store/dynamo/lease/dynamo_resolve.h"
#include "daemon/store/dynamo/lease/dynamo_return.h"
#include "daemon/store/dynamo/lease/dynamo_views.h"

namespace seqd {
Result<std::unique_ptr<DynamoStore>> DynamoStore::open(HttpClient& http, Timers& timers,
                                                       const Clock& clock, Random& random,
                                                       const DynamoStoreOptions& options,
                                                       AwsProvider& credentials) {
  if (Status status = check_dynamo_options(options); !status.ok()) return status;
  auto client =
      std::make_shared<DynamoClient>(http, timers, clock,
                                     DynamoTarget{endpoint_of(options), options.region,
                                                  options.timeout_ms, options.unsafe_global_table},
                                     credentials);
  return std::unique_ptr<DynamoStore>(new DynamoStore(std::move(client), random, options));
}

Status DynamoStore::check(const CounterBinding& binding, const Status& checked) const {
  return checked.ok() ? check_dynamo_binding(binding) : checked;
}

std::string DynamoStore::where(const CounterBinding& binding) const {
  return client_->place_of(dynamo_key_of(binding));
}

void DynamoStore::identify(const Token& candidate, std::function<void(Result<Token>)> done) {
  auto plan = std::make_shared<DynamoIdentity>(instances_, candidate,
                                               client_->place_of(identity_key(instances_)));
  tables_.check(instances_.table,
                [client = client_, plan, done = std::move(done)](const Status& table) {
                  if (!table.ok()) return done(table);
                  run_plan<Result<Token>>(client, plan, done);
                });
}

void DynamoStore::lease(const LeaseRequest& request, std::function<void(LeaseOutcome)> done) {
  Status status = check(request.binding, check_lease_request(request));
  const LeaseTrace marked = trace_of(request.token);
  // A lease is sent as its token is marked or not at all: the token in the log then shows where to
  // look.
  if (status.ok() && marked != LeaseTrace::plain && marked != trace())
    status = {
        ErrorCode::UNAVAILABLE,
        fmt::format("{}: leases are traced by {} from now on, and this one was to be traced by {}; "
                    "it is requested again",
                    where(request.binding), lease_trace_word(trace()), lease_trace_word(marked))};
  if (!status.ok()) return answer(std::move(done), refused(std::move(status)));
  // Behind the lease: a table that was put back before it is noticed, whenever that was.
  auto granted_by_current = [client = client_, instances = instances_, request, marked,
                             unconfirmed = unconfirmed_, done](LeaseOutcome outcome) {
    if (outcome.kind != LeaseOutcome::Kind::granted) return done(std::move(outcome));
    compare_heartbeat(
        client, instances, request.instance, request.heartbeat,
        [done, outcome, request, marked, unconfirmed](const Status& error, bool restored) {
          if (error.ok()) return done(outcome);
          // The look-up compares again.
          if (!restored && marked == LeaseTrace::plain) unconfirmed->keep(request, outcome);
          LeaseOutcome unknown = unknown_outcome(error);
          unknown.restored = restored;
          done(std::move(unknown));
        });
  };
  auto plan = std::make_shared<DynamoLease>(request, slots_, instances_, where(request.binding),
                                            client_->wall_ms());
  // Before it, too, where what was granted could not be looked up when the comparison behind it
  // fails.
  const std::int64_t compared_first = marked == LeaseTrace::plain ? request.heartbeat : 0;
  tables_.check(request.binding.collection, [client = client_, instances = instances_, request,
                                             compared_first, plan, granted_by_current,
                                             done](const Status& table) {
    if (!table.ok()) return done(refused(table));
    compare_heartbeat(client, instances, request.instance, compared_first,
                      [client, plan, granted_by_current, done](const Status& error, bool restored) {
                        if (error.ok())
                          return run_plan<LeaseOutcome>(client, plan, granted_by_current);
                        LeaseOutcome not_sent = refused(error);
                        not_sent.restored = restored;
                        done(std::move(not_sent));
                      });
  });
}

void DynamoStore::beat(const BeatRequest& request, std::function<void(Result<BeatOutcome>)> done) {
  run_plan<Result<BeatOutcome>>(
      client_, std::make_shared<DynamoBeat>(instances_, request, client_->wall_ms()),
      std::move(done));
}

void DynamoStore::resolve(const LeaseRequest& request, std::function<void(Resolution)> done) {
  // By the token alone, not by the present mode: the lease is where it was sent.
  if (trace_of(request.token) != LeaseTrace::slot) return resolve_plain(request, std::move(done));
  if (Status status = check(request.binding, check_counter_binding(request.binding)); !status.ok())
    return answer(std::move(done),
                  Resolution{.kind = Resolution::Kind::failed, .error = std::move(status)});
  auto plan = std::make_shared<DynamoResolve>(request, slots_, instances_, where(request.binding),
                                              client_->wall_ms());
  run_compared<Resolution>(request, std::move(plan), std::move(done));
}

void DynamoStore::resolve_plain(const LeaseRequest& request, std::function<void(Resolution)> done) {
  const std::optional<Resolution> granted = unconfirmed_->find(request);
  if (!granted)
    return answer(std::move(done), Resolution{.kind = Resolution::Kind::untraceable, .error = {}});
  compare_heartbeat(
      client_, instances_, request.instance, request.heartbeat,
      [request, granted, unconfirmed = unconfirmed_, done = std::move(done)](const Status& error,
                                                                             bool restored) {
        if (error.ok() || restored) unconfirmed->drop(request);
        if (error.ok()) return done(*granted);
        done({.kind = Resolution::Kind::failed, .error = error, .restored = restored});
      });
}

// Compares the heartbeat before it and after it: in an older copy, nothing is made void, and its
// answer is not used.
template <typename Answer, typename Request, typename Plan>
void DynamoStore::run_compared(const Request& request, std::shared_ptr<Plan> plan,
                               std::function<void(Answer)> done) {
  const auto compare = [client = client_, instances = instances_, instance = request.instance,
                        heartbeat = request.heartbeat, done](const std::function<void()>& then) {
    compare_heartbeat(client, instances, instance, heartbeat,
                      [done, then](const Status& error, bool restored) {
                        if (error.ok()) return then();
                        Answer older;
                        older.kind = Answer::Kind::failed;
                        older.error = error;
                        older.restored = restored;
                        done(std::move(older));
                      });
  };
  compare([client = client_, plan = std::move(plan), compare, done] {
    run_plan<Answer>(client, plan, [compare, done](Answer answer) {
      if (answer.kind == Answer::Kind::failed) return done(std::move(answer));
      compare([done, answer] { done(answer); });
    });
  });
}

void DynamoStore::claim(const ClaimRequest& request,
                        std::function<void(Result<ClaimOutcome>)> done) {
  if (request.epoch >= static_cast<std::uint64_t>(kHighestId))
    return answer(
        std::move(done),
        Result<ClaimOutcome>(ErrorCode::STATE_CORRUPT,
                             fmt::format("epoch {} of instance {} is invalid: it counts starts",
                                         request.epoch, to_hex(request.instance))));
  run_plan<Result<ClaimOutcome>>(
      client_, std::make_shared<DynamoClaim>(instances_, request, client_->wall_ms()),
      std::move(done));
}

void DynamoStore::read(const ReadRequest& request,
                       std::function<void(Result<CounterReading>)> done) {
  if (Status status = check(request.binding, check_counter_binding(request.binding)); !status.ok())
    return answer(std::move(done), Result<CounterReading>(std::move(status)));
  run_plan<Result<CounterReading>>(
      client_, std::make_shared<DynamoReading>(request.binding, where(request.binding)),
      std::move(done));
}

void DynamoStore::advance(const AdvanceRequest& request,
                          std::function<void(Result<std::int64_t>)> done) {
  if (Status status = check(request.binding, check_advance_request(request)); !status.ok())
    return answer(std::move(done), Result<std::int64_t>(std::move(status)));
  run_plan<Result<std::int64_t>>(
      client_, std::make_shared<DynamoAdvance>(request, where(request.binding)), std::move(done));
}

void DynamoStore::return_range(const ReturnRequest& request,
                               std::function<void(ReturnOutcome)> done) {
  Status status = check(request.binding, check_return_request(request));
  if (status.ok() && trace_of(request.token) != LeaseTrace::slot)
    status = {ErrorCode::STORE_REFUSED,
              fmt::format("{}: in lease_mode \"plain\" there is nowhere to note that a range was "
                          "returned, and it could be returned twice",
                          where(request.binding))};
  if (!status.ok()) return answer(std::move(done), kept(std::move(status)));
  auto plan = std::make_shared<DynamoReturn>(request, slots_, instances_, where(request.binding),
                                             client_->wall_ms());
  run_compared<ReturnOutcome>(request, std::move(plan), std::move(done));
}

void DynamoStore::forget(const ForgetRequest& request,
                         std::function<void(Result<InstanceRecords>)> done) {
  run_plan<Result<InstanceRecords>>(
      client_, std::make_shared<DynamoForget>(request, slots_, instances_, client_->wall_ms()),
      std::move(done));
}

}  // namespace seqd
