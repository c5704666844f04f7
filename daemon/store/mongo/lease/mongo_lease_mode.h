// MongoLeaseMode: how the leases of one MongoDB store are traced: as configured, or by what the
// server can do. Decided when the store is first spoken to, and again whenever the server turns out
// to be another one (a server alone that was made a replica set). Thread-safe.
//
// Invariant: a lease is sent only as its token is marked, and only if the server can do that.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "daemon/store/blocking_store.h"
#include "daemon/store/lease_trace.h"
#include "daemon/store/mongo/driver/mongo_client.h"

namespace seqd {

class MongoLeaseMode {
 public:
  MongoLeaseMode(MongoClients& clients, LeaseModeOption configured);

  // For a new token: what was decided, or what the URI lets expect.
  LeaseTrace expected() const;

  // Looks at the server. STORE_REFUSED when it cannot do what is configured, UNAVAILABLE when it is
  // away. `collection` is for the text.
  Result<LeaseTrace> decide(const std::string& collection);

  // The server does not allow a new field in a counter. If the mode is configured, this is an error
  // (false); otherwise the store continues in plain mode.
  bool no_fields_allowed(const std::string& why);

  BlockingStore::LeaseMode told() const;

 private:
  struct Choice {
    LeaseTrace trace = LeaseTrace::plain;
    std::string reason;
  };
  Result<Choice> choose(const MongoServerFacts& facts);
  Result<Choice> choose_session();
  Status cannot(const char* mode, const std::string& why) const;

  MongoClients& clients_;
  const LeaseModeOption configured_;
  const LeaseTrace guess_;
  mutable std::mutex mutex_;  // guards everything below
  std::optional<MongoServerFacts> facts_;
  std::optional<Choice> choice_;
};

}  // namespace seqd
