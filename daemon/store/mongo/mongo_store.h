// MongoStore: a MongoDB server or replica set as central store. A lease moves the counter's
// document atomically and leaves a record of its token, in a ledger or in the document itself
// (lease_trace.h), so that an unknown outcome can be looked up; in plain mode it leaves none, and
// an unknown outcome is a gap. Thread-safe; `concurrency` calls at a time, each on a connection of
// its own.
//
// Invariant: a range is granted only when the server confirmed it with majority and journal.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/store/blocking_store.h"
#include "daemon/store/mongo/documents/mongo_instances.h"
#include "daemon/store/mongo/documents/mongo_lease_records.h"
#include "daemon/store/mongo/documents/mongo_lease_sweep.h"
#include "daemon/store/mongo/driver/mongo_client.h"
#include "daemon/store/mongo/insert/mongo_collection.h"
#include "daemon/store/mongo/lease/mongo_lease_mode.h"
#include "daemon/store/mongo/lease/mongo_sessions.h"
#include "daemon/store/unconfirmed_leases.h"

namespace seqd {

class MongoStore final : public BlockingStore {
 public:
  // `driver` outlives the store. CONFIG when the options cannot be used; a server that is away is
  // no error here.
  static Result<std::unique_ptr<MongoStore>> open(const MongoDriver& driver,
                                                  const MongoStoreOptions& options);

  // Loop thread.
  Token new_token(Random& random, const CounterBinding& binding) override;
  LeaseMode lease_mode() const override { return mode_.present(); }
  StorePlace place() const override;
  Result<Token> identify(const Token& candidate) override { return instances_.identify(candidate); }
  LeaseOutcome lease(const LeaseRequest& request) override;
  Resolution resolve(const LeaseRequest& request) override;
  Result<ClaimOutcome> claim(const ClaimRequest& request) override;
  Result<BeatOutcome> beat(const BeatRequest& request) override { return instances_.beat(request); }
  Result<CounterReading> read(const ReadRequest& request) override;
  Result<std::int64_t> advance(const AdvanceRequest& request) override;
  void abandoned(const Token& instance) override { sessions_.inherit(instance); }
  ReturnOutcome return_range(const ReturnRequest& request) override;
  bool has_chores() const override { return sweep_.is_due(); }
  void do_chores() override { sweep_.run(); }
  Result<InstanceRecords> forget(const ForgetRequest& request) override;
  std::vector<InsertOutcome> insert(const InsertBatch& batch) override;
  Result<CounterPage> find_counters(const CounterQuery& query) override;
  std::vector<RemovalOutcome> remove_counters(const CounterRemoval& removal) override;
  Result<RegisterReading> read_register(const RegisterQuery& query) override;
  RegisterOutcome write_register(const RegisterWrite& write) override;
  Result<std::vector<NumberRecord>> list_register(const RegisterPageQuery& query) override;
  int concurrency() const override { return concurrency_; }
  int insert_concurrency() const override { return concurrency_; }

 private:
  MongoStore(std::unique_ptr<MongoClients> clients, const MongoStoreOptions& options)
      : clients_(std::move(clients)),
        instances_(*clients_),
        records_(*clients_),
        sessions_(*clients_),
        sweep_(*clients_),
        mode_(*clients_, options.lease_mode),
        concurrency_(options.concurrency) {}
  Status check_trace(const LeaseRequest& request);
  Resolution resolve_plain(const LeaseRequest& request);
  // The lease itself, without the comparison of ages.
  LeaseOutcome lease_at_counter(const LeaseRequest& request);
  // OK, unless the database was put back from an older copy.
  Status check_age(const Token& instance, std::int64_t heartbeat, bool* restored);
  static Status check_register(const RegisterPlace& place);

  const std::unique_ptr<MongoClients> clients_;
  MongoInstances instances_;
  MongoLeaseRecords records_;
  MongoSessions sessions_;
  MongoLeaseSweep sweep_;
  MongoLeaseMode mode_;
  MongoCollections collections_;
  UnconfirmedLeases unconfirmed_;
  SessionTokens session_tokens_;  // loop thread
  const int concurrency_;
  std::mutex mutex_;  // guards indexed_
  // Collections and key fields whose unique index was seen. As many as the configuration names.
  std::set<std::pair<std::string, std::string>> indexed_;
};

}  // namespace seqd
