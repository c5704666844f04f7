#include "tests/adapters/mongo/mongo_stores.h"

#include <condition_variable>
#include <mutex>
#include <thread>

#include <catch2/catch.hpp>

namespace seqd::testing {
namespace {

// Its end waits for every store. It is made after the driver, so that it ends before it. The
// threads are detached: a test that forks leaves its child none that is waiting to be joined.
class Closings {
 public:
  ~Closings() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return open_ == 0; });
  }
  void add(MongoStore* store) {
    const std::lock_guard adding(mutex_);
    ++open_;
    std::thread([this, store] {
      delete store;
      const std::lock_guard ending(mutex_);
      if (--open_ == 0) ended_.notify_all();
    }).detach();
  }

 private:
  std::mutex mutex_;  // guards the others
  std::condition_variable ended_;
  int open_ = 0;
};

}  // namespace

void ClosedAside::operator()(MongoStore* store) const {
  static Closings closings;
  closings.add(store);
}

OpenMongoStore open_mongo_store(const MongoStoreOptions& options) {
  auto store = MongoStore::open(mongo_driver(), options);
  INFO(store.status().to_string());
  REQUIRE(store.ok());
  return OpenMongoStore(store->release());
}

OpenMongoStore open_mongo_store(const MongoServer& server, LeaseModeOption mode) {
  MongoStoreOptions options = server.options();
  options.lease_mode = mode;
  return open_mongo_store(options);
}

}  // namespace seqd::testing
