// Counters that are found by a number (`{prefix: 261122, count: 7}`), and the unique index without
// which there could be two of one name.
#include <fmt/format.h>

#include <thread>

#include "tests/adapters/mongo/mongo_server.h"
#include "tests/adapters/mongo/mongo_stores.h"
#include "tests/adapters/mongo/mongo_target.h"
#include "tests/adapters/mongo/mongos_proxy.h"
#include "tests/adapters/store_fixtures.h"
#include "tests/unit/seeded_random.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;
using testing::MongoTarget;  // not that of the driver
using Kind = LeaseOutcome::Kind;

LeaseRequest by_prefix(const std::string& key) {
  LeaseRequest request = lease_request("ids@2026-11-22", 10);
  request.binding.collection = "ids";
  request.binding.key_field = "prefix";
  request.binding.key = key;
  request.binding.key_type = KeyType::integer;
  request.binding.counter_field = "count";
  request.binding.meaning = Meaning::last;
  return request;
}

void make_index(MongoServer& server) {
  server.command(R"({"createIndexes": "ids", "indexes": [
      {"key": {"prefix": 1}, "name": "by.prefix", "unique": true}]})");
}

TEST_CASE("MongoKeys: a counter is found and made by a number, in every lease mode", "[mongo]") {
  for (const auto& place : kMongoPlaces) {
    INFO(place.name);
    MongoServer server(place.variable);
    make_index(server);
    server.insert("ids", R"({"prefix": {"$numberInt": "261121"}, "count": {"$numberInt": "7"}})");
    auto store = open_mongo_store(server, place.mode);
    SeededRandom random{1};
    for (const char* key : {"261121", "261122", "20261122180000"}) {
      LeaseRequest request = by_prefix(key);
      request.token = store->new_token(random, request.binding);
      const LeaseOutcome outcome = store->lease(request);
      INFO(outcome.error.to_string());
      REQUIRE(outcome.kind == Kind::granted);
      CHECK(outcome.begin == (std::string(key) == "261121" ? 8 : 1));
      CHECK(store->resolve(request).kind == Resolution::Kind::granted);
    }
    CHECK(server.count("ids") == 3);
    // Written as the old code writes it, and the long one as what holds it.
    CHECK_FALSE(
        server.find("ids", R"({"prefix": {"$type": "int", "$eq": 261122}, "count": 10})").empty());
    CHECK_FALSE(server.find("ids", R"({"prefix": {"$type": "long"}, "count": 10})").empty());
    CHECK(server.find("ids", R"({"prefix": {"$type": "string"}})").empty());
  }
}

TEST_CASE("MongoKeys: a number of any type is the same key", "[mongo]") {
  MongoServer server(kMongoAlone);
  make_index(server);
  for (const char* number : {R"({"$numberDouble": "7"})", R"({"$numberLong": "8"})"}) {
    server.insert("ids", fmt::format(R"({{"prefix": {}, "count": 5}})", number));
  }
  auto store = open_mongo_store(server);
  for (const char* key : {"7", "8"}) {
    const LeaseOutcome outcome = store->lease(by_prefix(key));
    INFO(outcome.error.to_string());
    REQUIRE(outcome.kind == Kind::granted);
    CHECK(outcome.begin == 6);
  }
  CHECK(server.count("ids") == 2);
}

TEST_CASE("MongoKeys: an integer key that is none is refused", "[mongo]") {
  MongoServer server(kMongoAlone);
  auto store = open_mongo_store(server);
  for (const char* key : {"x", "7x", "7.5", "99999999999999999999"}) {
    const LeaseOutcome outcome = store->lease(by_prefix(key));
    REQUIRE(outcome.kind == Kind::refused);
    CHECK(outcome.error.code() == ErrorCode::CONFIG);
  }
}

TEST_CASE("MongoKeys: somebody else who made the counter of a number first is joined", "[mongo]") {
  MongoTarget target({kMongoAlone, LeaseModeOption::slot, LeaseTrace::slot, "a server alone"},
                     "keys");
  make_index(target.server);
  const auto failure = [&](int key) {
    return fmt::format(R"({{"failCommands": ["findAndModify"], "appName": "{}", "errorCode": 11000,
      "blockConnection": true, "blockTimeMS": 1000,
      "errorExtraInfo": {{"keyPattern": {{"prefix": 1}}, "keyValue": {{"prefix": {}}}}}}})",
                       target.name, key);
  };
  // The first findAndModify finds no counter; the second, the upsert, waits and then answers that
  // somebody else has inserted a key. Meanwhile somebody has, and the fail point is off.
  const auto lease_beside = [&](int key) {
    FailPoint point(target.server, "failCommand", R"({"skip": 1})", failure(key));
    LeaseOutcome outcome;
    std::jthread creator([&] { outcome = target.store->lease(by_prefix("5")); });
    target.server.admin(fmt::format(
        R"({{"waitForFailPoint": "failCommand", "timesEntered": {}, "maxTimeMS": 30000}})",
        point.entered_before() + 1));
    target.server.insert("ids",
                         fmt::format(R"({{"prefix": {{"$numberInt": "{}"}}, "count": 25}})", key));
    point.lift();
    creator.join();
    return outcome;
  };
  const LeaseOutcome other = lease_beside(4);
  CHECK(other.kind == Kind::refused);
  CHECK(other.error.code() == ErrorCode::STORE_REFUSED);
  const LeaseOutcome ours = lease_beside(5);
  INFO(ours.error.to_string());
  REQUIRE(ours.kind == Kind::granted);
  CHECK(ours.begin == 26);
  CHECK(target.server.count("ids") == 2);
}

// Until its build ends, duplicates are let in, though the server lists the index.
TEST_CASE("MongoKeys: an index that is being built is not unique yet", "[mongo]") {
  const char* place = GENERATE(kMongoAlone, kMongoReplicaSet);
  INFO(place);
  MongoServer server(place);
  server.insert("ids", R"({"prefix": {"$numberInt": "1"}, "count": {"$numberInt": "7"}})");
  auto builder = open_mongo_store(server);
  auto store = open_mongo_store(server);
  SeededRandom random{1};
  LeaseRequest building = by_prefix("261121");
  building.binding.create_index = true;
  building.token = builder->new_token(random, building.binding);
  LeaseRequest request = by_prefix("261122");
  {
    std::jthread lease;  // ends when the fail point is lifted
    const FailPoint point(server, "hangAfterStartingIndexBuild", "\"alwaysOn\"", "{}");
    lease = std::jthread([&] { builder->lease(building); });
    server.admin(fmt::format(R"({{"waitForFailPoint": "hangAfterStartingIndexBuild",
                                  "timesEntered": {}, "maxTimeMS": 30000}})",
                             point.entered_before() + 1));
    request.token = store->new_token(random, request.binding);
    const LeaseOutcome outcome = store->lease(request);
    CHECK(outcome.kind == Kind::refused);
    CHECK(outcome.error.code() == ErrorCode::UNAVAILABLE);
    CHECK(outcome.error.text().find("being built") != std::string::npos);
  }
  request.token = store->new_token(random, request.binding);
  CHECK(store->lease(request).kind == Kind::granted);
}

// The builds of a collection are in collStats. Where that fails, nothing is concluded from it.
TEST_CASE("MongoKeys: whether an index is being built has to be known", "[mongo]") {
  MongoTarget target(
      {kMongoReplicaSet, LeaseModeOption::session, LeaseTrace::session, "a replica set"}, "builds");
  target.server.insert("ids", R"({"prefix": {"$numberInt": "1"}, "count": {"$numberInt": "7"}})");
  SeededRandom random{1};
  auto builder = open_mongo_store(target.server);
  LeaseRequest building = by_prefix("261121");
  building.binding.create_index = true;
  building.token = builder->new_token(random, building.binding);
  const auto lease_where = [&](int code) {
    const FailPoint point(
        target.server, "failCommand", R"("alwaysOn")",
        fmt::format(R"({{"failCommands": ["collStats"], "appName": "{}", "errorCode": {}}})",
                    target.name, code));
    LeaseRequest request = by_prefix("261122");
    request.token = target.store->new_token(random, request.binding);
    return target.store->lease(request);
  };
  {
    std::jthread lease;  // ends when the fail point is lifted
    const FailPoint point(target.server, "hangAfterStartingIndexBuild", "\"alwaysOn\"", "{}");
    lease = std::jthread([&] { builder->lease(building); });
    target.server.admin(fmt::format(R"({{"waitForFailPoint": "hangAfterStartingIndexBuild",
                                         "timesEntered": {}, "maxTimeMS": 30000}})",
                                    point.entered_before() + 1));
    for (const int code : {10107, 50, 13}) {
      CAPTURE(code);
      const LeaseOutcome outcome = lease_where(code);
      CHECK(outcome.kind == Kind::refused);
      CHECK(outcome.error.code() ==
            (code == 13 ? ErrorCode::STORE_REFUSED : ErrorCode::UNAVAILABLE));
      CHECK((code == 13) == (outcome.error.text().find("collStats") != std::string::npos));
    }
    CHECK(target.server.count("ids") == 1);
  }
  // CommandNotFound: a server that has no such builds.
  CHECK(lease_where(59).kind == Kind::granted);
}

TEST_CASE("MongoKeys: an index that one shard is building is not unique yet", "[mongo]") {
  MongoServer server(kMongoReplicaSet);
  make_index(server);
  MongosProxy mongos(server);
  MongoStoreOptions options = server.options();
  options.uri = mongos.uri();
  auto store = open_mongo_store(options);
  mongos.answer("collStats", 1, R"({"ok": 1, "indexSizes": {"_id_": 1, "by.prefix": 2}, "shards": {
      "a": {"ok": 1}, "b": {"ok": 1, "indexBuilds": ["by.prefix"]}}})");
  CHECK(store->lease(by_prefix("261122")).error.code() == ErrorCode::UNAVAILABLE);
  // Listed, and gone since: its build has failed.
  mongos.answer("collStats", 1, R"({"ok": 1, "indexSizes": {"_id_": 1}})");
  CHECK(store->lease(by_prefix("261122")).error.code() == ErrorCode::STORE_REFUSED);
  CHECK(server.count("ids") == 0);
  const LeaseOutcome outcome = store->lease(by_prefix("261122"));
  INFO(outcome.error.to_string());
  CHECK(outcome.kind == Kind::granted);
}

TEST_CASE("MongoKeys: a missing unique index is made where that is asked for", "[mongo]") {
  MongoServer server(kMongoReplicaSet);
  auto store = open_mongo_store(server);
  LeaseRequest request = by_prefix("261122");
  const LeaseOutcome refused = store->lease(request);
  REQUIRE(refused.kind == Kind::refused);
  CHECK(refused.error.code() == ErrorCode::STORE_REFUSED);
  CHECK(refused.error.text().find("create_index = true lets seqd do it") != std::string::npos);
  request.binding.create_index = true;
  const LeaseOutcome outcome = store->lease(request);
  INFO(outcome.error.to_string());
  REQUIRE(outcome.kind == Kind::granted);
  // Seen by whoever does not make one.
  auto other = open_mongo_store(server);
  CHECK(other->lease(by_prefix("261123")).kind == Kind::granted);
}

TEST_CASE("MongoKeys: where there are two of one key already, nothing is leased", "[mongo]") {
  MongoServer server(kMongoAlone);
  server.insert("ids", R"({"prefix": 5, "count": 5})");
  server.insert("ids", R"({"prefix": 5, "count": 9})");
  auto store = open_mongo_store(server);
  LeaseRequest request = by_prefix("5");
  request.binding.create_index = true;
  const LeaseOutcome outcome = store->lease(request);
  REQUIRE(outcome.kind == Kind::refused);
  CHECK(outcome.error.text().find("the unique index on prefix cannot be created") !=
        std::string::npos);
}

}  // namespace
}  // namespace seqd
