// A MongoDB store as a test has it: it is closed on a thread of its own. The driver's monitors wait
// for the server in steps of 500 ms, and only between two of them see that they are to end; no test
// has to stand by. All are closed when the process ends. Any thread.
#pragma once

#include <memory>

#include "daemon/store/mongo/mongo_store.h"
#include "tests/adapters/mongo/mongo_server.h"

namespace seqd::testing {

struct ClosedAside {
  void operator()(MongoStore* store) const;
};

using OpenMongoStore = std::unique_ptr<MongoStore, ClosedAside>;

// Fails the test if the options cannot be used; call it on the test's thread.
OpenMongoStore open_mongo_store(const MongoStoreOptions& options);
// On the server's own database.
OpenMongoStore open_mongo_store(const MongoServer& server,
                                LeaseModeOption mode = LeaseModeOption::automatic);

}  // namespace seqd::testing
