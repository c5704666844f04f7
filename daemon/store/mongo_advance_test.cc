// Raising a counter of MongoDB beside others who move it at the same moment. A real server and its
// fail points.
#include "daemon/store/mongo_advance.h"

#include <fmt/format.h>

#include <string>
#include <thread>

#include "tests/adapters/mongo_server.h"
#include "tests/adapters/mongo_stores.h"
#include "tests/adapters/store_contract.h"

// After the project's headers: both define CHECK, and here Catch's is meant.
#include <catch2/catch.hpp>

namespace seqd {
namespace {

using testing::FailPoint;
using testing::kMongoAlone;
using testing::lease_request;
using testing::MongoServer;
using testing::open_mongo_store;
using testing::OpenMongoStore;
using testing::with_uri_option;

// A store whose writes, and nobody else's, wait in the server for a moment.
struct Delayed {
  explicit Delayed(const std::string& json) : name("advance-" + server.database()) {
    MongoStoreOptions options = server.options();
    options.uri = with_uri_option(options.uri, "appName=" + name);
    store = open_mongo_store(options);
    server.put("counters", "orders", json);
  }

  // Raises the counter to 500; `meanwhile` runs between its reading and its write.
  template <typename Meanwhile>
  Result<std::int64_t> advance(Meanwhile meanwhile) {
    Result<std::int64_t> reached = Status(ErrorCode::INTERNAL, "not asked");
    with(
        [&] {
          reached = store->advance({.binding = lease_request("orders", 1).binding, .next_id = 500});
        },
        meanwhile);
    return reached;
  }

  // `meanwhile` runs before the first write of `call`.
  template <typename Call, typename Meanwhile>
  void with(Call call, Meanwhile meanwhile) {
    FailPoint point(server, "failCommand", R"({"times": 1})",
                    fmt::format(R"({{"failCommands": ["findAndModify"], "appName": "{}",
                                     "blockConnection": true, "blockTimeMS": 1000}})",
                                name));
    std::thread calling(call);
    server.admin(fmt::format(
        R"({{"waitForFailPoint": "failCommand", "timesEntered": {}, "maxTimeMS": 30000}})",
        point.entered_before() + 1));
    meanwhile();
    calling.join();
  }

  MongoServer server{kMongoAlone};
  const std::string name;
  OpenMongoStore store;
};

constexpr char kAtTen[] = R"({"seq": {"$numberLong": "10"}, "seqd": {"meaning": "last"}})";

TEST_CASE("MongoAdvance: a counter that others moved past it meanwhile is not lowered", "[mongo]") {
  Delayed delayed(kAtTen);
  const auto reached =
      delayed.advance([&] { delayed.server.foreign_increment("counters", "orders", "seq", 990); });
  INFO(reached.status().to_string());
  REQUIRE(reached.ok());
  REQUIRE(*reached == 1001);
  REQUIRE(delayed.server.number("counters", "orders", "seq") == 1000);
}

TEST_CASE("MongoAdvance: a return that is under way when the floor is set is not applied",
          "[mongo]") {
  Delayed delayed(kAtTen);
  const auto lease = lease_request("orders", 10, LeaseTrace::slot);
  testing::require_granted(delayed.store->lease(lease), 11, 21);
  const auto back =
      testing::return_of(lease, 15, 21, GENERATE(Reuse::tail, Reuse::parked), LeaseTrace::slot);
  ReturnOutcome outcome;
  delayed.with(
      [&] { outcome = delayed.store->give_back(back); },
      [&] {
        auto other = open_mongo_store(delayed.server.options());
        REQUIRE(*other->advance({.binding = lease.binding, .next_id = 1, .withdraw = true}) == 21);
      });
  testing::require_kept(outcome, ErrorCode::STORE_REFUSED);
  const auto reading = delayed.store->read({.binding = lease.binding, .instance = {}});
  REQUIRE(reading->next_id == 21);
  REQUIRE(reading->floor == 21);
  REQUIRE(reading->parked.ranges == 0);
}

TEST_CASE("MongoAdvance: a counter that was deleted meanwhile is made", "[mongo]") {
  Delayed delayed(kAtTen);
  const auto reached = delayed.advance([&] { delayed.server.remove("counters", "orders"); });
  INFO(reached.status().to_string());
  REQUIRE(reached.ok());
  REQUIRE(*reached == 500);
  REQUIRE(delayed.server.number("counters", "orders", "seq") == 499);
}

}  // namespace
}  // namespace seqd
