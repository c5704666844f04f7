// MongoTarget: a store on a real server, or one after another, that only the fail points of its own
// name reach. It is set up with a time-out that a busy machine keeps; the one of the test counts
// from the first reopen(). One thread.
#pragma once

#include <string>

#include "tests/adapters/mongo/mongo_server.h"
#include "tests/adapters/mongo/mongo_stores.h"

namespace seqd::testing {

// Where leases leave a record, and how.
struct MongoPlace {
  const char* variable;  // of the server, for MongoServer
  LeaseModeOption mode;
  LeaseTrace trace;
  const char* name;
};
inline constexpr MongoPlace kMongoPlaces[] = {
    {kMongoReplicaSet, LeaseModeOption::session, LeaseTrace::transaction,
     "a replica set, transactions"},
    {kMongoReplicaSet, LeaseModeOption::slot, LeaseTrace::slot, "a replica set, slot"},
    {kMongoAlone, LeaseModeOption::slot, LeaseTrace::slot, "a server alone, slot"},
    {kMongoReplicaSet, LeaseModeOption::session, LeaseTrace::session, "a replica set, session"},
};

class MongoTarget {
 public:
  // Opens the store and claims its instance, that of lease_request().
  MongoTarget(const MongoPlace& place, const char* purpose);

  // As a daemon that is started again, which gives up after `timeout_ms` from now on.
  void reopen(int timeout_ms = kPatientMs);

  // As the store's, but where the place has leases sent in transactions.
  Token new_token(Random& random) const;

  // Of fail point "failCommand": `what` happens to the commands that lease and return.
  std::string failure(const std::string& what) const;

  // Until no command of the store is under way in the server any more.
  void wait_until_idle();

  MongoServer server;
  const std::string name;
  OpenMongoStore store;

 private:
  const LeaseTrace trace_;
  MongoStoreOptions options_;
};

}  // namespace seqd::testing
