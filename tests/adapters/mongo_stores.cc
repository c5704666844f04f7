#include "tests/adapters/mongo_stores.h"

#include <chrono>
#include <future>
#include <mutex>
#include <utility>
#include <vector>

// After the project's headers: both define CHECK, and here Catch's is meant.
#include <catch2/catch.hpp>

namespace seqd::testing {
namespace {

// Its end waits for every store. It is made after the driver, so that it ends before it.
class Closings {
 public:
  void add(MongoStore* store) {
    const std::lock_guard lock(mutex_);
    std::erase_if(closings_, [](const std::future<void>& closing) {
      return closing.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    });
    closings_.push_back(std::async(std::launch::async, [store] { delete store; }));
  }

 private:
  std::mutex mutex_;  // guards closings_
  std::vector<std::future<void>> closings_;
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
