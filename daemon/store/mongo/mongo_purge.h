// MongoPurge: finds counters of a MongoDB store by the form of their keys, and removes the
// requested ones. A counter is removed only if it still has the key and the number that were found,
// together with its parked ranges, in one transaction if the server supports that. Records of
// leases in the ledger stay: a late look-up must not return that the lease was not applied. The
// sweep removes them after 30 days. Blocking; thread-safe as far as MongoClients is.
#pragma once

#include <chrono>
#include <vector>

#include "daemon/core/upkeep/purge_store.h"
#include "daemon/store/mongo/driver/mongo_client.h"

namespace seqd {

class MongoPurge {
 public:
  explicit MongoPurge(MongoClients& clients) : clients_(clients) {}

  Result<CounterPage> find(const CounterQuery& query);
  std::vector<RemovalOutcome> remove(const CounterRemoval& removal);

 private:
  Result<std::int64_t> server_clock_s(const MongoConnection& connection,
                                      const std::string& collection);
  RemovalOutcome remove_alone(const CounterBinding& binding, const FoundCounter& counter);
  RemovalOutcome remove_in_transaction(const CounterBinding& binding, const FoundCounter& counter);
  RemovalOutcome outcome_of(const MongoWriteAnswer& answer) const;

  MongoClients& clients_;
};

}  // namespace seqd
