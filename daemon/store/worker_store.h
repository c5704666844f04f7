// WorkerStore: makes the core's LeaseStore, InsertStore, PurgeStore and RegisterStore of a
// BlockingStore and Workers: one for inserts and registers, which may take long, and one for
// everything else. The call runs on a worker thread; `done` runs on the loop thread. Loop thread
// only.
//
// Each call under way holds the store, the request and the answer, so a WorkerStore may be
// destroyed while calls are under way: they finish, and their `done` still runs once. The workers
// outlive the WorkerStore.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/base/lifetime.h"
#include "daemon/base/worker.h"
#include "daemon/store/batch_queue.h"
#include "daemon/store/blocking_store.h"

namespace seqd {

class WorkerStore final : public LeaseStore,
                          public InsertStore,
                          public PurgeStore,
                          public RegisterStore {
 public:
  using ModeObserver = std::function<void(const BlockingStore::LeaseMode&)>;

  // `mode_changed` is called on the loop thread, after a call to the store, with the lease mode:
  // once it is known and whenever it changes.
  WorkerStore(std::shared_ptr<BlockingStore> store, Worker& worker, Worker& inserter,
              ModeObserver mode_changed = {})
      : store_(std::move(store)),
        worker_(worker),
        inserter_(inserter),
        leases_(std::make_shared<BatchQueue<LeaseRequest, LeaseOutcome>>(
            store_, worker_, &BlockingStore::lease_all)),
        look_ups_(std::make_shared<BatchQueue<LeaseRequest, Resolution>>(
            store_, worker_, &BlockingStore::resolve_all)),
        returns_(std::make_shared<BatchQueue<ReturnRequest, ReturnOutcome>>(
            store_, worker_, &BlockingStore::return_all)),
        mode_changed_(std::move(mode_changed)) {}

  Token new_token(Random& random, const CounterBinding& binding) override {
    return store_->new_token(random, binding);
  }
  BlockingStore::LeaseMode lease_mode() const { return store_->lease_mode(); }
  StorePlace place() const override { return store_->place(); }
  void identify(const Token& candidate, std::function<void(Result<Token>)> done) override;
  void lease(const LeaseRequest& request, std::function<void(LeaseOutcome)> done) override;
  void resolve(const LeaseRequest& request, std::function<void(Resolution)> done) override;
  void claim(const ClaimRequest& request, std::function<void(Result<ClaimOutcome>)> done) override;
  void beat(const BeatRequest& request, std::function<void(Result<BeatOutcome>)> done) override;
  void read(const ReadRequest& request, std::function<void(Result<CounterReading>)> done) override;
  void advance(const AdvanceRequest& request,
               std::function<void(Result<std::int64_t>)> done) override;
  void insert(const InsertBatch& batch,
              std::function<void(std::vector<InsertOutcome>)> done) override;
  void find_counters(const CounterQuery& query,
                     std::function<void(Result<CounterPage>)> done) override;
  void remove_counters(const CounterRemoval& removal,
                       std::function<void(std::vector<RemovalOutcome>)> done) override;
  void read_register(const RegisterQuery& query,
                     std::function<void(Result<RegisterReading>)> done) override;
  void write_register(const RegisterWrite& write,
                      std::function<void(RegisterOutcome)> done) override;
  void list_register(const RegisterPageQuery& query,
                     std::function<void(Result<std::vector<NumberRecord>>)> done) override;
  // See BlockingStore; no caller waits for it.
  void abandoned(const Token& instance);
  void return_range(const ReturnRequest& request, std::function<void(ReturnOutcome)> done) override;
  void forget(const ForgetRequest& request,
              std::function<void(Result<InstanceRecords>)> done) override;

 private:
  void report_mode();
  // `done`, after report_mode().
  template <typename Outcome>
  std::function<void(Outcome)> reporting_mode(std::function<void(Outcome)> done);

  // Runs `verb` of the store on the worker and hands its answer to `done`.
  template <typename Request, typename Answer>
  void call(Answer (BlockingStore::*verb)(const Request&), const Request& request,
            std::function<void(Answer)> done) {
    call_on(worker_, verb, request, std::move(done));
  }
  template <typename Request, typename Answer>
  void call_on(Worker& worker, Answer (BlockingStore::*verb)(const Request&),
               const Request& request, std::function<void(Answer)> done);

  const std::shared_ptr<BlockingStore> store_;
  Worker& worker_;
  Worker& inserter_;
  const std::shared_ptr<BatchQueue<LeaseRequest, LeaseOutcome>> leases_;
  const std::shared_ptr<BatchQueue<LeaseRequest, Resolution>> look_ups_;
  const std::shared_ptr<BatchQueue<ReturnRequest, ReturnOutcome>> returns_;
  const ModeObserver mode_changed_;
  BlockingStore::LeaseMode mode_;  // reported last
  Lifetime alive_;
};

}  // namespace seqd
