#include "daemon/store/worker_store.h"

#include <optional>
#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {

template <typename Request, typename Answer>
void WorkerStore::call_on(Worker& worker, Answer (BlockingStore::*verb)(const Request&),
                          const Request& request, std::function<void(Answer)> done) {
  ASSERT(done);
  struct Call {
    std::shared_ptr<BlockingStore> store;
    Request request;
    std::optional<Answer> answer;
    std::function<void(Answer)> done;
  };
  auto call = std::make_shared<Call>(Call{store_, request, std::nullopt, std::move(done)});
  worker.submit([call, verb] { call->answer.emplace((*call->store.*verb)(call->request)); },
                [call, report = alive_.guard([this] { report_mode(); })] {
                  ASSERT(call->answer.has_value());
                  report();
                  call->done(std::move(*call->answer));
                });
}

void WorkerStore::report_mode() {
  if (!mode_changed_) return;
  const BlockingStore::LeaseMode now = lease_mode();
  if (now == mode_) return;
  mode_ = now;
  mode_changed_(now);
}

template <typename Outcome>
std::function<void(Outcome)> WorkerStore::reporting_mode(std::function<void(Outcome)> done) {
  return
      [report = alive_.guard([this] { report_mode(); }), done = std::move(done)](Outcome outcome) {
        report();
        done(std::move(outcome));
      };
}

void WorkerStore::identify(const Token& candidate, std::function<void(Result<Token>)> done) {
  call(&BlockingStore::identify, candidate, std::move(done));
}

void WorkerStore::lease(const LeaseRequest& request, std::function<void(LeaseOutcome)> done) {
  leases_->add(request, reporting_mode(std::move(done)));
}

void WorkerStore::resolve(const LeaseRequest& request, std::function<void(Resolution)> done) {
  look_ups_->add(request, reporting_mode(std::move(done)));
}

void WorkerStore::claim(const ClaimRequest& request,
                        std::function<void(Result<ClaimOutcome>)> done) {
  call(&BlockingStore::claim, request, std::move(done));
}

void WorkerStore::beat(const BeatRequest& request, std::function<void(Result<BeatOutcome>)> done) {
  call(&BlockingStore::beat, request, std::move(done));
}

void WorkerStore::read(const ReadRequest& request,
                       std::function<void(Result<CounterReading>)> done) {
  call(&BlockingStore::read, request, std::move(done));
}

void WorkerStore::advance(const AdvanceRequest& request,
                          std::function<void(Result<std::int64_t>)> done) {
  call(&BlockingStore::advance, request, std::move(done));
}

void WorkerStore::abandoned(const Token& instance) {
  worker_.submit([store = store_, instance] { store->abandoned(instance); }, [] {});
}

void WorkerStore::return_range(const ReturnRequest& request,
                               std::function<void(ReturnOutcome)> done) {
  returns_->add(request, reporting_mode(std::move(done)));
}

void WorkerStore::forget(const ForgetRequest& request,
                         std::function<void(Result<InstanceRecords>)> done) {
  call(&BlockingStore::forget, request, std::move(done));
}

void WorkerStore::insert(const InsertBatch& batch,
                         std::function<void(std::vector<InsertOutcome>)> done) {
  call_on(inserter_, &BlockingStore::insert, batch, std::move(done));
}

void WorkerStore::read_register(const RegisterQuery& query,
                                std::function<void(Result<RegisterReading>)> done) {
  call_on(inserter_, &BlockingStore::read_register, query, std::move(done));
}

void WorkerStore::write_register(const RegisterWrite& write,
                                 std::function<void(RegisterOutcome)> done) {
  call_on(inserter_, &BlockingStore::write_register, write, std::move(done));
}

void WorkerStore::list_register(const RegisterPageQuery& query,
                                std::function<void(Result<std::vector<NumberRecord>>)> done) {
  call_on(inserter_, &BlockingStore::list_register, query, std::move(done));
}

void WorkerStore::find_counters(const CounterQuery& query,
                                std::function<void(Result<CounterPage>)> done) {
  call(&BlockingStore::find_counters, query, std::move(done));
}

void WorkerStore::remove_counters(const CounterRemoval& removal,
                                  std::function<void(std::vector<RemovalOutcome>)> done) {
  call(&BlockingStore::remove_counters, removal, std::move(done));
}

std::vector<LeaseOutcome> BlockingStore::lease_all(std::span<const LeaseRequest> requests) {
  std::vector<LeaseOutcome> outcomes;
  for (const LeaseRequest& request : requests) outcomes.push_back(lease(request));
  return outcomes;
}

std::vector<Resolution> BlockingStore::resolve_all(std::span<const LeaseRequest> requests) {
  std::vector<Resolution> resolutions;
  for (const LeaseRequest& request : requests) resolutions.push_back(resolve(request));
  return resolutions;
}

std::vector<ReturnOutcome> BlockingStore::return_all(std::span<const ReturnRequest> requests) {
  std::vector<ReturnOutcome> outcomes;
  for (const ReturnRequest& request : requests) outcomes.push_back(return_range(request));
  return outcomes;
}

std::vector<InsertOutcome> BlockingStore::insert(const InsertBatch& batch) {
  return {batch.items.size(),
          {InsertOutcome::Kind::refused, 0,
           Status(ErrorCode::CONFIG, "only a mongodb store inserts documents")}};
}

namespace {

Status no_keys_in_order() {
  return {ErrorCode::CONFIG, "counters can be listed in sqlite and mongodb stores only"};
}

}  // namespace

Result<CounterPage> BlockingStore::find_counters(const CounterQuery& /*query*/) {
  return no_keys_in_order();
}

std::vector<RemovalOutcome> BlockingStore::remove_counters(const CounterRemoval& /*removal*/) {
  return {{RemovalOutcome::Kind::failed, no_keys_in_order()}};
}

namespace {

Status no_registers() {
  return {ErrorCode::CONFIG, "registers are kept in sqlite and mongodb stores only"};
}

}  // namespace

Result<RegisterReading> BlockingStore::read_register(const RegisterQuery& /*query*/) {
  return no_registers();
}

RegisterOutcome BlockingStore::write_register(const RegisterWrite& /*write*/) {
  return {RegisterOutcome::Kind::failed, 0, no_registers()};
}

Result<std::vector<NumberRecord>> BlockingStore::list_register(const RegisterPageQuery& /*query*/) {
  return no_registers();
}

}  // namespace seqd
