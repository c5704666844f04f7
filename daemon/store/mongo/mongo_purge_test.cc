// Counters that are found by a number and removed, beside everything that old code and others may
// keep in the same collection. Real servers and their fail points.
#include "daemon/store/mongo/mongo_purge.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "tests/adapters/mongo/mongo_server.h"
#include "tests/adapters/mongo/mongo_stores.h"
#include "tests/adapters/mongo/mongo_target.h"
#include "tests/adapters/store_fixtures.h"
#include "tests/unit/seeded_random.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;
using testing::MongoTarget;  // not that of the driver
using Kind = RemovalOutcome::Kind;
using Keys = std::vector<std::string>;

CounterQuery by_prefix() {
  CounterQuery query;
  query.binding.collection = "ids";
  query.binding.key_field = "prefix";
  query.binding.key_type = KeyType::integer;
  query.binding.counter_field = "count";
  query.binding.meaning = Meaning::last;
  query.form = {"", 6, ""};
  query.limit = 100;
  return query;
}

void make_index(MongoServer& server) {
  server.command(R"({"createIndexes": "ids", "indexes": [
      {"key": {"prefix": 1}, "name": "prefix_1", "unique": true}]})");
}

template <typename Store>
CounterPage find(Store& store, const CounterQuery& query = by_prefix()) {
  const auto page = store->find_counters(query);
  INFO(page.status().to_string());
  REQUIRE(page.ok());
  return *page;
}

Keys keys_of(const CounterPage& page) {
  Keys out;
  for (const FoundCounter& counter : page.counters) out.push_back(counter.key);
  return out;
}

std::int64_t wall_s() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

TEST_CASE("MongoPurge: only documents with an integer key of that length are found", "[mongo]") {
  for (const auto& place : kMongoPlaces) {
    INFO(place.name);
    MongoServer server(place.variable);
    make_index(server);
    for (const char* found : {R"({"$numberInt": "261121"})", R"({"$numberLong": "261122"})",
                              R"({"$numberDouble": "261123"})", R"({"$numberInt": "50101"})"})
      server.insert("ids", fmt::format(R"({{"prefix": {}, "count": 7, "__v": 0}})", found));
    for (const char* foreign :
         {R"("261124")", R"({"$numberDouble": "261125.5"})", R"({"$numberDecimal": "261126"})",
          "[261127]", R"([261128, "x"])", R"({"a": 261129})", "true", R"({"$date": 261130})",
          "-261131", "1000000", R"({"$numberDouble": "NaN"})", R"({"$numberDouble": "1e300"})"})
      server.insert("ids", fmt::format(R"({{"prefix": {}, "count": 7}})", foreign));
    const std::int64_t documents = server.count("ids");
    auto store = open_mongo_store(server, place.mode);
    const CounterPage page = find(store);
    CHECK(keys_of(page) == Keys{"50101", "261121", "261122", "261123"});
    REQUIRE(page.clock_s.has_value());
    CHECK(std::abs(*page.clock_s - wall_s()) < 60);
    for (const RemovalOutcome& outcome :
         store->remove_counters({by_prefix().binding, page.counters}))
      CHECK(outcome.kind == Kind::removed);
    CHECK(server.count("ids") == documents - 4);
    CHECK(find(store).counters.empty());
  }
}

TEST_CASE("MongoPurge: keys of as many digits as a number can have are found", "[mongo]") {
  MongoServer server(kMongoAlone);
  for (const char* key : {"9123456789012345678", "912345678901234567", "7"})
    server.insert("ids", fmt::format(R"({{"prefix": {{"$numberLong": "{}"}}, "count": 7}})", key));
  auto store = open_mongo_store(server);
  CounterQuery query = by_prefix();
  query.form = {"9", 18, ""};
  CHECK(keys_of(find(store, query)) == Keys{"7", "912345678901234567", "9123456789012345678"});
  query.after = "912345678901234567";
  CHECK(keys_of(find(store, query)) == Keys{"9123456789012345678"});
  query.after = "";
  query.form = {"9", 17, ""};
  CHECK(keys_of(find(store, query)) == Keys{"7", "912345678901234567"});
}

TEST_CASE("MongoPurge: what is no counter is told and stays", "[mongo]") {
  MongoServer server(kMongoAlone);
  for (const char* count : {R"("7")", "null", "7.5", "[7]", R"({"$numberDecimal": "7"})"})
    server.insert("ids", fmt::format(R"({{"prefix": {}, "count": {}}})",
                                     261101 + server.count("ids"), count));
  server.insert("ids", R"({"prefix": 261120})");
  server.insert("ids", R"({"prefix": 261121, "count": 7, "seqd": {"meaning": "next"}})");
  server.insert("ids", R"({"prefix": 261122, "count": 7})");
  auto store = open_mongo_store(server);
  const CounterPage page = find(store);
  REQUIRE(page.counters.size() == 8);
  for (const FoundCounter& counter : page.counters)
    CHECK(counter.problem.empty() == (counter.key == "261122"));
  // Even if it were asked for, it would stay.
  for (const FoundCounter& counter : page.counters) {
    if (counter.key >= "261121") continue;
    const auto outcomes = store->remove_counters({by_prefix().binding, {counter}});
    CHECK(outcomes.front().kind == Kind::changed);
  }
  CHECK(server.count("ids") == 8);
}

TEST_CASE("MongoPurge: a counter that old code moves meanwhile stays", "[mongo]") {
  for (const char* kind : {kMongoAlone, kMongoReplicaSet}) {
    MongoServer server(kind);
    server.insert("ids", R"({"_id": "a", "prefix": 261121, "count": 7})");
    server.insert("ids", R"({"_id": "b", "prefix": 261122, "count": 7.0})");
    auto store = open_mongo_store(server);
    const CounterPage page = find(store);
    server.foreign_increment("ids", "a", "count", 1);
    const auto outcomes = store->remove_counters({by_prefix().binding, page.counters});
    REQUIRE(outcomes.size() == 2);
    CHECK(outcomes[0].kind == Kind::changed);
    CHECK(outcomes[1].kind == Kind::removed);
    CHECK(server.number("ids", "a", "count") == 8);
    CHECK(server.count("ids") == 1);
  }
}

TEST_CASE("MongoPurge: texts around the period stand for themselves, whatever they are",
          "[mongo]") {
  MongoServer server(kMongoAlone);
  CounterQuery query;
  query.form = {"a.b*(ä", 4, "$)\\E"};
  query.limit = 2;
  query.binding.meaning = Meaning::last;
  for (const char* key : {R"(a.b*(ä2025$)\\E)", R"(a.b*(ä2026$)\\E)", R"(a.b*(ä202$)\\E)",
                          R"(axb*(ä2025$)\\E)", R"(a.b*(ä2025$)\\E\n)", "2025"})
    server.insert("counters", fmt::format(R"({{"_id": "{}", "seq": 4}})", key));
  server.insert("counters", fmt::format(R"({{"_id": "{}", "seq": 4}})", std::string(9'000, 'x')));
  auto store = open_mongo_store(server);
  const CounterPage page = find(store, query);
  CHECK(keys_of(page) == Keys{"a.b*(ä2025$)\\E", "a.b*(ä2026$)\\E"});
  query.after = page.after;
  CHECK(find(store, query).counters.empty());
  CHECK(store->remove_counters({query.binding, page.counters}).size() == 2);
  CHECK(server.count("counters") == 5);
}

TEST_CASE("MongoPurge: collections and fields that cannot be are refused", "[mongo]") {
  MongoServer server(kMongoAlone);
  auto store = open_mongo_store(server);
  CounterQuery query = by_prefix();
  query.binding.collection = "system.ids";
  CHECK(store->find_counters(query).status().code() == ErrorCode::CONFIG);
}

struct Parked {
  explicit Parked(const testing::MongoPlace& place, const char* purpose) : target(place, purpose) {
    make_index(target.server);
    for (const char* key : {"251101", "251102"}) {
      LeaseRequest lease = lease_request(key, 10);
      lease.token = target.new_token(random);
      lease.binding = by_prefix().binding;
      lease.binding.key = key;
      lease.sequence = std::string("ids@") + key;
      REQUIRE(target.store->lease(lease).kind == LeaseOutcome::Kind::granted);
      ReturnRequest back;
      back.binding = lease.binding;
      back.token = target.new_token(random);
      back.instance = lease.instance;
      back.sequence = lease.sequence;
      back.begin = 4;
      back.end = 11;
      back.reuse = Reuse::parked;
      REQUIRE(target.store->return_range(back).kind == ReturnOutcome::Kind::returned);
    }
  }
  SeededRandom random{5};
  MongoTarget target;
};

TEST_CASE("MongoPurge: ranges that are parked apart go in the same transaction", "[mongo]") {
  Parked world(kMongoPlaces[0], "parked");
  MongoServer& server = world.target.server;
  REQUIRE(server.count("seqd_returned") == 2);
  REQUIRE(server.count("seqd_leases") == 2);
  std::vector<FoundCounter> counters = find(world.target.store).counters;
  REQUIRE(counters.size() == 2);
  counters.pop_back();
  {
    // The counter is out of the transaction's sight again, and so is what was parked.
    const FailPoint broken(server, "failCommand", R"({"skip": 1})",
                           world.target.failure(R"("errorCode": 13)"));
    const auto outcomes = world.target.store->remove_counters({by_prefix().binding, counters});
    REQUIRE(outcomes.size() == 1);
    CHECK(outcomes[0].kind == Kind::failed);
  }
  CHECK(server.count("ids") == 2);
  CHECK(server.count("seqd_returned") == 2);
  const auto outcomes = world.target.store->remove_counters({by_prefix().binding, counters});
  REQUIRE(outcomes.size() == 1);
  INFO(outcomes[0].error.to_string());
  CHECK(outcomes[0].kind == Kind::removed);
  CHECK(server.count("ids") == 1);
  CHECK(server.count("seqd_returned") == 1);
  CHECK_FALSE(server.find("seqd_returned", R"({"key": "251102"})").empty());
  // Whoever still looks a lease up finds it; the sweep takes it later.
  CHECK(server.count("seqd_leases") == 2);
}

TEST_CASE("MongoPurge: a counter that a lease is moving in a transaction stays", "[mongo]") {
  MongoTarget leasing(kMongoPlaces[0], "leasing");
  MongoServer& server = leasing.server;
  make_index(server);
  server.insert("ids", R"({"prefix": 251101, "count": 7})");
  auto store = open_mongo_store(server);
  const CounterPage page = find(store);
  SeededRandom random{7};
  LeaseRequest lease = lease_request("251101", 10);
  lease.token = leasing.new_token(random);
  lease.binding = by_prefix().binding;
  lease.binding.key = "251101";
  LeaseOutcome outcome;
  FailPoint point(server, "failCommand", R"({"times": 1})",
                  fmt::format(R"({{"failCommands": ["commitTransaction"], "appName": "{}",
                                   "blockConnection": true, "blockTimeMS": 1000}})",
                              leasing.name));
  std::jthread late([&] { outcome = leasing.store->lease(lease); });
  server.admin(fmt::format(
      R"({{"waitForFailPoint": "failCommand", "timesEntered": {}, "maxTimeMS": 30000}})",
      point.entered_before() + 1));
  const auto outcomes = store->remove_counters({by_prefix().binding, page.counters});
  late.join();
  REQUIRE(outcomes.size() == 1);
  CHECK(outcomes[0].kind == Kind::changed);
  CHECK(outcome.kind == LeaseOutcome::Kind::granted);
  CHECK(keys_of(find(store)) == Keys{"251101"});
}

TEST_CASE("MongoPurge: a server that is away is an error, and asking again is enough", "[mongo]") {
  for (const auto& place : kMongoPlaces) {
    INFO(place.name);
    MongoTarget target(place, "purge");
    for (const int key : {251101, 251102})
      target.server.insert("ids", fmt::format(R"({{"prefix": {}, "count": 7}})", key));
    const CounterPage page = find(target.store);
    {
      const FailPoint away(
          target.server, "failCommand", "\"alwaysOn\"",
          fmt::format(R"({{"failCommands": ["find"], "appName": "{}", "closeConnection": true}})",
                      target.name));
      CHECK(target.store->find_counters(by_prefix()).status().code() == ErrorCode::UNAVAILABLE);
    }
    {
      const FailPoint away(target.server, "failCommand", "\"alwaysOn\"",
                           target.failure(R"("closeConnection": true)"));
      const auto outcomes = target.store->remove_counters({by_prefix().binding, page.counters});
      REQUIRE(outcomes.size() == 1);
      CHECK(outcomes[0].kind == Kind::failed);
      CHECK(outcomes[0].error.code() == ErrorCode::UNAVAILABLE);
    }
    const auto outcomes = target.store->remove_counters({by_prefix().binding, page.counters});
    REQUIRE(outcomes.size() == 2);
    CHECK(outcomes[1].kind == Kind::removed);
    CHECK(target.server.count("ids") == 0);
  }
}

}  // namespace
}  // namespace seqd
