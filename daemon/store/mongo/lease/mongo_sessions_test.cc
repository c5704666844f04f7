// Sessions that several threads announce at the same moment, and those whose commit failed: all of
// them can be ended later. A real replica set and its fail points.
#include "daemon/store/mongo/lease/mongo_sessions.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <string>

#include "daemon/store/mongo/documents/mongo_instances.h"
#include "daemon/store/mongo/driver/mongo_attempts.h"
#include "tests/adapters/mongo/held_command.h"
#include "tests/adapters/mongo/mongo_server.h"
#include "tests/adapters/store_fixtures.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using testing::FailPoint;
using testing::kMongoReplicaSet;
using testing::MongoServer;
using testing::with_uri_option;

// Its connections have this name.
std::unique_ptr<MongoClients> opened(const MongoServer& server, const std::string& name) {
  MongoStoreOptions options = server.options();
  options.uri = with_uri_option(options.uri, "appName=" + name);
  auto target = read_mongo_uri(options);
  REQUIRE(target.ok());
  auto clients = MongoClients::open(testing::mongo_driver(), std::move(*target));
  REQUIRE(clients.ok());
  return std::move(*clients);
}

// False: the machine was too slow to say anything.
bool both_are_kept(int block_ms) {
  MongoServer server(kMongoReplicaSet);
  const std::string name = "sessions-" + server.database();
  const auto clients = opened(server, name);
  const Token instance = testing::random_token();
  REQUIRE(*MongoInstances(*clients).claim({.instance = instance, .epoch = 0, .nonce = instance}) ==
          ClaimOutcome::won);
  MongoSessions sessions(*clients);
  sessions.take_over(instance);
  MongoTransaction one(*clients);
  MongoTransaction two(*clients);
  REQUIRE(one.begin().ok());
  REQUIRE(two.begin().ok());
  Status announced;
  // The first is on its way when the second arrives.
  const bool in_time = testing::while_held(
      server, {name, block_ms}, [&] { announced = sessions.announce(instance, one); },
      [&] { CHECK(sessions.announce(instance, two).ok()); });
  CHECK(announced.ok());
  if (!in_time) return false;
  const auto known = MongoInstances(*clients).sessions(instance);
  REQUIRE(known.ok());
  REQUIRE(known->size() == 2);
  CHECK(bson_equal((*known)[0].get(), two.session_id().get()));
  CHECK(bson_equal((*known)[1].get(), one.session_id().get()));
  return true;
}

TEST_CASE("MongoSessions: no announcement removes one that another thread made meanwhile",
          "[mongo]") {
  testing::until_in_time(both_are_kept);
}

TEST_CASE("MongoSessions: a transaction whose commit the server refused can be ended", "[mongo]") {
  const int code = GENERATE(13, 59);  // rights were taken away; a server of another version
  MongoServer server(kMongoReplicaSet);
  server.put("counters", "orders", R"({"seq": {"$numberLong": "5"}})");
  const std::string name = "commit-" + server.database();
  const auto clients = opened(server, name);
  MongoWrite write;
  write.collection = "counters";
  write.filter.add("_id", std::string("orders"));
  write.update.add("$inc", Document().add("seq", std::int64_t{1}));
  MongoSessions sessions(*clients);
  MongoTransaction open(*clients);
  REQUIRE(open.begin().ok());
  REQUIRE(sessions.run(open, write).kind == MongoWriteAnswer::Kind::done);
  {
    const FailPoint point(
        server, "failCommand", R"({"times": 1})",
        fmt::format(
            R"({{"failCommands": ["commitTransaction"], "appName": "{}", "errorCode": {}}})", name,
            code));
    const MongoWriteAnswer refused = sessions.commit(
        open, "counters", std::chrono::steady_clock::now() + std::chrono::seconds(60));
    REQUIRE(refused.server_code == static_cast<std::uint32_t>(code));
  }
  const auto increment = [&] {
    MongoTransaction next(*clients);
    REQUIRE(next.begin().ok());
    return sessions.run(next, write);
  };
  REQUIRE(increment().server_code == kMongoWriteConflict);  // it is open
  sessions.end_suspects();
  CHECK(increment().kind == MongoWriteAnswer::Kind::done);
}

}  // namespace
}  // namespace seqd
