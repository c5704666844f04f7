// MongoPool: the connections of one MongoDB store, as the driver keeps them. The servers of a
// mongodb+srv:// URI are found by the name service: they are looked up by the first call that needs
// one, and by each after it until that succeeds, so a name service that is away is a store that is
// away. Thread-safe; a call waits as long as the name service lets it.
#pragma once

#include <mongoc/mongoc.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "daemon/base/status.h"
#include "daemon/store/mongo/driver/mongo_uri.h"

namespace seqd {

class MongoPool {
 public:
  // `target` outlives it. CONFIG when the URI cannot be used; queries neither name service nor
  // server.
  static Result<std::unique_ptr<MongoPool>> open(const MongoTarget& target);
  ~MongoPool();
  MongoPool(const MongoPool&) = delete;
  MongoPool& operator=(const MongoPool&) = delete;

  // Null: the servers could not be looked up, and failure() says why.
  mongoc_client_pool_t* get();
  // OK: they were, or were not needed yet.
  Status failure() const;

 private:
  explicit MongoPool(const MongoTarget& target) : target_(target) {}
  void make();

  const MongoTarget& target_;
  std::atomic<std::uint64_t> attempts_ = 0;  // that have ended
  mutable std::mutex mutex_;                 // guards what follows
  mongoc_client_pool_t* pool_ = nullptr;
  Status failure_;
};

}  // namespace seqd
