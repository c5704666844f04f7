// MongoCollections: whether a name is that of a real collection. A time-series collection takes the
// same _id any number of times; a view is another collection's. Thread-safe; blocks, a worker's.
#pragma once

#include <mutex>
#include <set>
#include <string>

#include "daemon/store/mongo/driver/mongo_client.h"

namespace seqd {

class MongoCollections {
 public:
  // OK, also where there is nothing of that name yet; STORE_REFUSED where it is anything else, or
  // where that cannot be read. `again`: also if it was a collection before.
  Status check(MongoClients& clients, const std::string& collection, bool again);

 private:
  std::mutex mutex_;             // guards known_
  std::set<std::string> known_;  // as many as the configuration names
};

}  // namespace seqd
