// MongoStore: a MongoDB server or replica set as central store, in plain mode: a lease is one
// atomic findAndModify on the counter's document and leaves no token, so an unknown outcome is a
// gap. Thread-safe; `concurrency` calls at a time, each on a connection of its own.
//
// Invariant: a range is granted only when the server confirmed it with majority and journal.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "daemon/store/blocking_store.h"
#include "daemon/store/mongo_client.h"
#include "daemon/store/mongo_instances.h"

namespace seqd {

class MongoStore final : public BlockingStore {
 public:
  // `driver` outlives the store. CONFIG when the options cannot be used; a server that is away is
  // no error here.
  static Result<std::unique_ptr<MongoStore>> open(const MongoDriver& driver,
                                                  const MongoStoreOptions& options);

  LeaseOutcome lease(const LeaseRequest& request) override;
  Resolution resolve(const LeaseRequest& request) override;
  Result<ClaimOutcome> claim(const ClaimRequest& request) override;
  Result<CounterReading> read(const ReadRequest& request) override;
  Result<std::int64_t> advance(const AdvanceRequest& request) override;
  int concurrency() const override { return concurrency_; }

 private:
  MongoStore(std::unique_ptr<MongoClients> clients, int concurrency)
      : clients_(std::move(clients)), instances_(*clients_), concurrency_(concurrency) {}

  const std::unique_ptr<MongoClients> clients_;
  MongoInstances instances_;
  const int concurrency_;
  std::mutex mutex_;  // guards indexed_
  // Collections and key fields whose unique index was seen. As many as the configuration names.
  std::set<std::pair<std::string, std::string>> indexed_;
};

}  // namespace seqd
