// Sessions that several threads announce at the same moment: all of them can be ended later. A real
// replica set and its fail points.
#include "daemon/store/mongo/mongo_sessions.h"

#include <fmt/format.h>

#include <string>
#include <thread>

#include "daemon/store/mongo/mongo_instances.h"
#include "tests/adapters/mongo_server.h"
#include "tests/adapters/store_fixtures.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using testing::FailPoint;
using testing::kMongoReplicaSet;
using testing::MongoServer;
using testing::with_uri_option;

TEST_CASE("MongoSessions: no announcement removes one that another thread made meanwhile",
          "[mongo]") {
  MongoServer server(kMongoReplicaSet);
  const std::string name = "sessions-" + server.database();
  MongoStoreOptions options = server.options();
  options.uri = with_uri_option(options.uri, "appName=" + name);
  auto target = read_mongo_uri(options);
  REQUIRE(target.ok());
  auto clients = MongoClients::open(testing::mongo_driver(), std::move(*target));
  REQUIRE(clients.ok());
  const Token instance = testing::random_token();
  REQUIRE(*MongoInstances(**clients).claim({.instance = instance, .epoch = 0, .nonce = instance}) ==
          ClaimOutcome::won);
  MongoSessions sessions(**clients);
  sessions.take_over(instance);
  MongoTransaction one(**clients);
  MongoTransaction two(**clients);
  REQUIRE(one.begin().ok());
  REQUIRE(two.begin().ok());
  Status announced;
  {
    // The first is on its way when the second arrives.
    FailPoint point(server, "failCommand", R"({"times": 1})",
                    fmt::format(R"({{"failCommands": ["findAndModify"], "appName": "{}",
                                     "blockConnection": true, "blockTimeMS": 1000}})",
                                name));
    std::thread first([&] { announced = sessions.announce(instance, one); });
    server.admin(fmt::format(
        R"({{"waitForFailPoint": "failCommand", "timesEntered": {}, "maxTimeMS": 30000}})",
        point.entered_before() + 1));
    CHECK(sessions.announce(instance, two).ok());
    first.join();
  }
  CHECK(announced.ok());
  const auto known = MongoInstances(**clients).sessions(instance);
  REQUIRE(known.ok());
  REQUIRE(known->size() == 2);
  CHECK(bson_equal((*known)[0].get(), two.session_id().get()));
  CHECK(bson_equal((*known)[1].get(), one.session_id().get()));
}

}  // namespace
}  // namespace seqd
