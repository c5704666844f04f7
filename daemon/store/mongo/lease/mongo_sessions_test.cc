// Sessions that several threads announce at the same moment: all of them can be ended later. A real
// replica set and its fail points.
#include "daemon/store/mongo/lease/mongo_sessions.h"

#include <string>

#include "daemon/store/mongo/lease/mongo_instances.h"
#include "tests/adapters/held_command.h"
#include "tests/adapters/mongo_server.h"
#include "tests/adapters/store_fixtures.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using testing::kMongoReplicaSet;
using testing::MongoServer;
using testing::with_uri_option;

// False: the machine was too slow to say anything.
bool both_are_kept(int block_ms) {
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
  // The first is on its way when the second arrives.
  const bool in_time = testing::while_held(
      server, {name, block_ms}, [&] { announced = sessions.announce(instance, one); },
      [&] { CHECK(sessions.announce(instance, two).ok()); });
  CHECK(announced.ok());
  if (!in_time) return false;
  const auto known = MongoInstances(**clients).sessions(instance);
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

}  // namespace
}  // namespace seqd
