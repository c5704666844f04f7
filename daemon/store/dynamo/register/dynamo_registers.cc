// The registers of a DynamoStore: a part of dynamo_store.h.
#include <utility>

#include "daemon/store/dynamo/dynamo_names.h"
#include "daemon/store/dynamo/dynamo_store.h"
#include "daemon/store/dynamo/register/dynamo_register_reads.h"
#include "daemon/store/dynamo/register/dynamo_register_write.h"

namespace seqd {

Status DynamoStore::check_register(const RegisterPlace& place) {
  CounterBinding binding = place.binding;
  binding.key = dynamo_register_name(place);
  return check_dynamo_binding(binding);
}

// Behind the read: what an older copy says is no answer, whenever it was put in place.
template <typename Answer>
void DynamoStore::read_compared(const RegisterPlace& place,
                                std::shared_ptr<DynamoPlan<Result<Answer>>> plan,
                                std::function<void(Result<Answer>)> done) {
  if (Status status = check_register(place); !status.ok())
    return answer(std::move(done), Result<Answer>(std::move(status)));
  tables_.check(place.binding.collection, [client = client_, instances = instances_, place,
                                           plan = std::move(plan),
                                           done = std::move(done)](const Status& table) {
    // That it may be answered at once is of no use here.
    if (!table.ok()) return client->later([done, table] { done(table); });
    run_plan<Result<Answer>>(client, plan, [client, instances, place, done](Result<Answer> read) {
      compare_heartbeat(client, instances, place.instance, place.heartbeat,
                        [done, read = std::move(read)](const Status& age, bool /*restored*/) {
                          done(age.ok() ? read : Result<Answer>(age));
                        });
    });
  });
}

void DynamoStore::read_register(const RegisterQuery& query,
                                std::function<void(Result<RegisterReading>)> done) {
  read_compared<RegisterReading>(
      query.place,
      std::make_shared<DynamoRegisterRead>(query,
                                           client_->place_of_table(query.place.binding.collection)),
      std::move(done));
}

void DynamoStore::list_register(const RegisterPageQuery& query,
                                std::function<void(Result<std::vector<NumberRecord>>)> done) {
  read_compared<std::vector<NumberRecord>>(
      query.place,
      std::make_shared<DynamoRegisterPage>(query,
                                           client_->place_of_table(query.place.binding.collection)),
      std::move(done));
}

// Before the write, so that an older copy stays as it is; and behind it, as it may have been put in
// place meanwhile. What was written is not answered then.
void DynamoStore::write_register(const RegisterWrite& write,
                                 std::function<void(RegisterOutcome)> done) {
  using Kind = RegisterOutcome::Kind;
  const RegisterPlace& place = write.place;
  if (Status status = check_register(place); !status.ok())
    return answer(std::move(done), RegisterOutcome{Kind::failed, 0, std::move(status)});
  auto plan = std::make_shared<DynamoRegisterWrite>(
      write, client_->place_of_table(place.binding.collection), random_);
  const auto compare = [client = client_, instances = instances_, instance = place.instance,
                        heartbeat =
                            place.heartbeat](const std::function<void(const Status& age)>& then) {
    compare_heartbeat(client, instances, instance, heartbeat,
                      [then](const Status& age, bool /*restored*/) { then(age); });
  };
  const auto behind = [compare, done](const RegisterOutcome& outcome) {
    if (outcome.done == 0) return done(outcome);
    compare([outcome, done](const Status& age) {
      done(age.ok() ? outcome : RegisterOutcome{Kind::unknown, 0, age});
    });
  };
  tables_.check(place.binding.collection,
                [client = client_, plan, compare, behind, done](const Status& table) {
                  if (!table.ok())
                    return client->later([done, table] { done({Kind::failed, 0, table}); });
                  compare([client, plan, behind, done](const Status& age) {
                    if (!age.ok()) return done({Kind::failed, 0, age});
                    run_plan<RegisterOutcome>(client, plan, behind);
                  });
                });
}

}  // namespace seqd
