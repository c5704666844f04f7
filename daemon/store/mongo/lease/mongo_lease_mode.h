// MongoLeaseMode: how the leases of one MongoDB store are traced: as configured, or by what the
// server can do. Decided at the first request to the store, and again whenever the server has
// changed (a standalone server that was made a replica set). Thread-safe.
//
// A collection whose validator takes no further field in a counter is leased from in plain mode,
// alone, and only once a plain lease of the same counter and of as many IDs was granted: the
// validator may have refused the number itself.
//
// Invariant: a lease is sent only as its token is marked, and only if the server can do that.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "daemon/store/blocking_store.h"
#include "daemon/store/lease_trace.h"
#include "daemon/store/mongo/driver/mongo_client.h"

namespace seqd {

class MongoLeaseMode {
 public:
  MongoLeaseMode(MongoClients& clients, LeaseModeOption configured);

  // For a new token of that counter: what was decided, or what the URI lets expect.
  LeaseTrace expected(const CounterBinding& binding) const;

  // Looks at the server. STORE_REFUSED when it cannot do what is configured, UNAVAILABLE when it is
  // away. `collection` is for the text, `instance` for a document that is written for a moment.
  Result<LeaseTrace> decide(const std::string& collection, const Token& instance);

  // The validator of its collection refused this lease, or to give it up. Whether the next one of
  // the counter goes without a field, which shows what the validator meant.
  bool validator_refused(const LeaseRequest& request);
  // `count`: of the IDs, which may be fewer than were requested.
  void granted(const LeaseRequest& request, std::int64_t count);

  BlockingStore::LeaseMode present() const;

 private:
  struct Choice {
    LeaseTrace trace = LeaseTrace::plain;
    std::string reason;
  };
  // Collection, field, type and value of its key, field of its number.
  using Counter = std::tuple<std::string, std::string, KeyType, std::string, std::string>;
  static Counter counter_of(const CounterBinding& binding);
  Result<Choice> choose(const MongoServerFacts& facts, const Token& instance);
  Result<Choice> choose_session(const Token& instance);
  Status cannot(const char* mode, const std::string& why) const;

  MongoClients& clients_;
  const LeaseModeOption configured_;
  const LeaseTrace guess_;
  std::mutex choosing_;       // one thread at a time
  mutable std::mutex mutex_;  // guards everything below
  std::optional<MongoServerFacts> facts_;
  std::optional<Choice> choice_;
  // The next two are at most as many as the configuration names.
  std::map<Counter, std::int64_t> tried_plain_;  // with the IDs of the lease that was refused
  std::set<std::string> plain_;                  // collections
};

}  // namespace seqd
