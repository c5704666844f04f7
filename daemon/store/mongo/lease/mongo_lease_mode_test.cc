// How the leases of a MongoDB store are traced: what is chosen by itself, what is refused, and what
// becomes of an open lease when the mode changes over a restart. Real servers.
#include "daemon/store/mongo/lease/mongo_lease_mode.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "tests/adapters/mongo/mongo_front.h"
#include "tests/adapters/mongo/mongo_server.h"
#include "tests/adapters/mongo/mongo_stores.h"
#include "tests/adapters/store_fixtures.h"
#include "tests/unit/seeded_random.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;
using Kind = LeaseOutcome::Kind;

// As the core does it: the token comes from the store, and the lease follows.
LeaseRequest next_request(MongoStore& store, SeededRandom& random) {
  LeaseRequest request = lease_request("orders", 10);
  request.token = store.new_token(random, request.binding);
  return request;
}

// Which mode sends leases that are traced so; by "ledger" none sends them any more.
LeaseModeOption mode_of(LeaseTrace trace) {
  return trace == LeaseTrace::slot ? LeaseModeOption::slot : LeaseModeOption::session;
}

LeaseRequest next_request(MongoStore& store, SeededRandom& random, LeaseTrace trace) {
  LeaseRequest request = next_request(store, random);
  if (trace == LeaseTrace::transaction) request.token = new_lease_token(random, trace);
  return request;
}

void claim(MongoStore& store, const LeaseRequest& request) {
  auto outcome = store.claim({.instance = request.instance, .epoch = 0, .nonce = request.token});
  INFO(outcome.status().to_string());
  REQUIRE(outcome.ok());
}

TEST_CASE("MongoLeaseMode: a replica set gets the session, a server alone the slot", "[mongo]") {
  SeededRandom random(1);
  const bool set = GENERATE(false, true);
  MongoServer server(set ? kMongoReplicaSet : kMongoAlone);
  auto store = open_mongo_store(server, LeaseModeOption::automatic);
  REQUIRE(store->lease_mode().word.empty());
  claim(*store, lease_request("orders", 10));
  REQUIRE(store->lease_mode().word == (set ? "session" : "slot"));
  REQUIRE(store->lease_mode().reason.find(set ? "replica set" : "alone") != std::string::npos);
  const LeaseRequest request = next_request(*store, random);
  REQUIRE(store->lease(request).begin == 1);
  const std::string slot = slot_of(request);
  const std::string record = set ? server.find("seqd_leases", R"({"_id": ")" + slot + R"("})")
                                 : server.find("counters", R"({"_id": "orders"})");
  INFO(record);
  for (const std::string& part :
       {slot, std::string(set ? R"("state" : "sent")" : R"("state" : "granted")"),
        std::string(set ? R"("count" : 10)" : R"("begin" : 1)"),
        std::string(set ? R"("statement" : 1)" : R"("end" : 11)"), std::string(R"("at" : )")}) {
    REQUIRE(record.find(part) != std::string::npos);
  }
  // A session leaves the counter as it is, a slot needs no collection.
  REQUIRE((server.find("counters", R"({"seqd.slots": {"$exists": true}})").empty()) == set);
  REQUIRE(server.count("seqd_leases") == (set ? 1 : 0));
}

TEST_CASE("MongoLeaseMode: a wrong expectation costs one refused lease, and moves nothing",
          "[mongo]") {
  // One host and no name of a set in the URI look like a server alone.
  SeededRandom random(1);
  MongoServer set(kMongoReplicaSet);
  auto store = open_mongo_store(set, LeaseModeOption::automatic);
  LeaseRequest request = lease_request("orders", 10, LeaseTrace::slot);
  const LeaseOutcome outcome = store->lease(request);
  REQUIRE(outcome.kind == Kind::refused);
  REQUIRE(outcome.error.code() == ErrorCode::UNAVAILABLE);
  REQUIRE(set.count("counters") == 0);
  REQUIRE(store->lease(next_request(*store, random)).begin == 1);
}

TEST_CASE("MongoLeaseMode: sessions on a server alone are refused with what to do", "[mongo]") {
  SeededRandom random(1);
  MongoServer server(kMongoAlone);
  auto store = open_mongo_store(server, LeaseModeOption::session);
  const LeaseOutcome outcome = store->lease(next_request(*store, random));
  REQUIRE(outcome.kind == Kind::refused);
  REQUIRE(outcome.error.code() == ErrorCode::STORE_REFUSED);
  for (const char* part : {"lease_mode = \"session\"", "replica set", "\"slot\""}) {
    INFO(outcome.error.text());
    REQUIRE(outcome.error.text().find(part) != std::string::npos);
  }
  REQUIRE(store->lease_mode().word.empty());
}

TEST_CASE("MongoLeaseMode: a foreign value under our name is left alone, and the lease refused",
          "[mongo]") {
  MongoServer server(kMongoAlone);
  const std::string json = GENERATE(R"({"seq": {"$numberInt": "41"}, "seqd": "theirs"})",
                                    R"({"seq": {"$numberInt": "41"}, "seqd": {"slots": [1]}})");
  server.put("counters", "orders", json);
  const std::string before = server.find("counters", "{}");
  auto store = open_mongo_store(server, LeaseModeOption::slot);
  LeaseRequest request = lease_request("orders", 10, LeaseTrace::slot);
  request.binding.meaning = Meaning::last;
  const LeaseOutcome outcome = store->lease(request);
  REQUIRE(outcome.kind == Kind::refused);
  REQUIRE(outcome.error.code() == ErrorCode::STORE_REFUSED);
  REQUIRE(outcome.error.text().find("seqd.slots") != std::string::npos);
  REQUIRE(server.find("counters", "{}") == before);
}

// --- changes of the mode while a lease is open

TEST_CASE("MongoLeaseMode: a lease that was sent plain stays untraceable in every later mode",
          "[mongo]") {
  SeededRandom random(1);
  const LeaseModeOption later = GENERATE(LeaseModeOption::automatic, LeaseModeOption::slot,
                                         LeaseModeOption::plain, LeaseModeOption::session);
  MongoServer server(kMongoReplicaSet);
  LeaseRequest open;
  {
    auto store = open_mongo_store(server, LeaseModeOption::plain);
    open = next_request(*store, random);
    REQUIRE(store->lease(open).begin == 1);  // and the reply never came
  }
  auto store = open_mongo_store(server, later);
  REQUIRE(store->resolve(open).kind == Resolution::Kind::untraceable);
  REQUIRE(server.find("counters", R"({"seqd.slots": {"$exists": true}})").empty());
  REQUIRE(server.count("seqd_leases") == 0);
}

TEST_CASE("MongoLeaseMode: a token without a mark, as older versions made them, is untraceable",
          "[mongo]") {
  MongoServer server(kMongoReplicaSet);
  auto store = open_mongo_store(server, LeaseModeOption::session);
  LeaseRequest open = lease_request("orders", 10);
  open.token = testing::random_token();
  REQUIRE(store->resolve(open).kind == Resolution::Kind::untraceable);
}

TEST_CASE("MongoLeaseMode: a traced lease is found where it was sent, whatever the mode is now",
          "[mongo]") {
  const LeaseTrace before =
      GENERATE(LeaseTrace::transaction, LeaseTrace::slot, LeaseTrace::session);
  const LeaseModeOption later =
      GENERATE(LeaseModeOption::slot, LeaseModeOption::plain, LeaseModeOption::session);
  SeededRandom random(1);
  MongoServer server(kMongoReplicaSet);
  LeaseRequest granted;
  LeaseRequest lost;
  {
    auto store = open_mongo_store(server, mode_of(before));
    claim(*store, lease_request("orders", 10));
    granted = next_request(*store, random, before);
    REQUIRE(store->lease(granted).begin == 1);
    lost = next_request(*store, random, before);
    lost.sequence = "others";
    lost.binding.key = "orders";
  }
  auto store = open_mongo_store(server, later);
  const Resolution found = store->resolve(granted);
  REQUIRE(found.kind == Resolution::Kind::granted);
  REQUIRE(found.begin == 1);
  REQUIRE(found.end == 11);
  // The request that never arrived is given up, and refused when it comes after all.
  REQUIRE(store->resolve(lost).kind == Resolution::Kind::absent);
  auto late = open_mongo_store(server, mode_of(before));
  REQUIRE(late->lease(lost).kind == Kind::refused);
  REQUIRE(server.number("counters", "orders", "seq") == 10);
}

TEST_CASE("MongoLeaseMode: what a standalone server's slot holds is found after it became a set",
          "[mongo]") {
  // The document as a server alone would have it, read on a replica set.
  SeededRandom random(1);
  MongoServer alone(kMongoAlone);
  LeaseRequest open;
  {
    auto store = open_mongo_store(alone, LeaseModeOption::automatic);
    claim(*store, lease_request("orders", 10));
    open = next_request(*store, random);
    REQUIRE(store->lease(open).begin == 1);
  }
  MongoServer set(kMongoReplicaSet);
  set.insert("counters", alone.find("counters", "{}"));
  auto store = open_mongo_store(set, LeaseModeOption::automatic);
  REQUIRE(store->resolve(open).kind == Resolution::Kind::granted);
  REQUIRE(store->lease(next_request(*store, random)).begin == 11);
  REQUIRE(store->lease_mode().word == "session");
}

// As when the last member of a set is started alone.
TEST_CASE("MongoLeaseMode: a numbered lease on a server that became one alone is untraceable",
          "[mongo]") {
  SeededRandom random(1);
  MongoServer server(kMongoAlone);
  auto clients =
      MongoClients::open(testing::mongo_driver(), std::move(*read_mongo_uri(server.options())));
  REQUIRE(clients.ok());
  const LeaseRequest lost = lease_request("orders", 10, LeaseTrace::session);
  MongoLeaseRecords records(**clients);
  const LeaseRecord::Sent sent{.count = 10, .meaning = Meaning::last, .statement = 1};
  const LeaseRecord record{.token = lost.token, .state = LeaseRecord::State::sent, .sent = sent};
  REQUIRE((*clients)->find_and_modify(records.replacement(lost, record)).kind ==
          MongoWriteAnswer::Kind::done);
  auto store = open_mongo_store(server, LeaseModeOption::automatic);
  claim(*store, lost);
  for (int asked = 0; asked < 2; ++asked) {
    const Resolution found = store->resolve(lost);
    INFO(found.error.to_string());
    REQUIRE(found.kind == Resolution::Kind::untraceable);
  }
  REQUIRE(store->lease(next_request(*store, random)).begin == 1);
}

TEST_CASE("MongoLeaseMode: a lost record of a lease makes it untraceable, never absent",
          "[mongo]") {
  SeededRandom random(1);
  const LeaseTrace trace = GENERATE(LeaseTrace::transaction, LeaseTrace::slot, LeaseTrace::session);
  const LeaseModeOption mode = mode_of(trace);
  const std::string how = GENERATE("another database", "counter deleted", "records swept");
  MongoServer server(kMongoReplicaSet);
  auto store = open_mongo_store(server, mode);
  LeaseRequest open = next_request(*store, random, trace);
  claim(*store, open);
  REQUIRE(store->lease(open).begin == 1);
  if (how == "another database") {
    MongoServer other(kMongoReplicaSet);
    other.put("counters", "orders", R"({"seq": {"$numberLong": "10"}})");
    REQUIRE(open_mongo_store(other, mode)->resolve(open).kind == Resolution::Kind::untraceable);
    return;
  }
  if (how == "counter deleted" && mode == LeaseModeOption::slot) {
    server.remove("counters", "orders");
    open.high_water = 11;
    REQUIRE(store->resolve(open).kind == Resolution::Kind::untraceable);
    return;
  }
  server.command(
      R"({"update": "seqd_instances", "updates": [{"q": {}, "u": {"$set": {"swept": true}}}]})");
  server.command(R"({"delete": "seqd_leases", "deletes": [{"q": {}, "limit": 0}]})");
  server.command(R"({"update": "counters", "updates": [{"q": {}, "u": {"$unset": {"seqd": 1}}}]})");
  REQUIRE(store->resolve(open).kind == Resolution::Kind::untraceable);
}

TEST_CASE("MongoLeaseMode: an error that passes by itself makes no store plain", "[mongo]") {
  SeededRandom random(1);
  MongoServer server(kMongoReplicaSet);
  MongoStoreOptions options = server.options();
  const std::string name = "mode-" + server.database();
  options.uri = with_uri_option(options.uri, "appName=" + name);
  auto store = open_mongo_store(options);
  const LeaseRequest request = next_request(*store, random);
  claim(*store, request);
  store = open_mongo_store(options);
  {
    const FailPoint point(
        server, "failCommand", R"("alwaysOn")",
        fmt::format(R"({{"failCommands": ["create"], "appName": "{}", "errorCode": 117}})", name));
    const LeaseOutcome outcome = store->lease(request);
    REQUIRE(outcome.kind == Kind::refused);
    REQUIRE(outcome.error.code() == ErrorCode::UNAVAILABLE);
  }
  REQUIRE(store->lease(next_request(*store, random)).kind == Kind::granted);
  REQUIRE(store->lease_mode().word == "session");
}

TEST_CASE("MongoLeaseMode: a set that takes no numbered writes is leased from in plain mode",
          "[mongo]") {
  SeededRandom random(1);
  const bool configured = GENERATE(false, true);
  MongoServer server(kMongoReplicaSet);
  MongoStoreOptions options = server.options();
  const std::string name = "mode-" + server.database();
  options.uri = with_uri_option(options.uri, "appName=" + name);
  if (configured) options.lease_mode = LeaseModeOption::session;
  auto store = open_mongo_store(options);
  const FailPoint point(
      server, "failCommand", R"("alwaysOn")",
      fmt::format(R"({{"failCommands": ["update"], "appName": "{}", "errorCode": 20}})", name));
  claim(*store, lease_request("orders", 10));
  if (configured) {
    const LeaseOutcome outcome = store->lease(next_request(*store, random));
    REQUIRE(outcome.kind == Kind::refused);
    REQUIRE(outcome.error.code() == ErrorCode::STORE_REFUSED);
    REQUIRE(outcome.error.text().find("\"session\" is configured") != std::string::npos);
    return;
  }
  REQUIRE(store->lease_mode().word == "plain");
  REQUIRE(store->lease_mode().reason.find("no numbered writes") != std::string::npos);
  REQUIRE(store->lease(next_request(*store, random)).begin == 1);
}

// As a service that takes the number of a write for a field of no meaning.
TEST_CASE("MongoLeaseMode: a server that applies a numbered write twice is not believed",
          "[mongo]") {
  SeededRandom random(1);
  const bool configured = GENERATE(false, true);
  MongoServer server(kMongoReplicaSet);
  MongoFront front(server);
  front.leave_out("txnNumber");
  front.leave_out("stmtId");
  MongoStoreOptions options = server.options();
  options.uri = front.uri();
  if (configured) options.lease_mode = LeaseModeOption::session;
  auto store = open_mongo_store(options);
  claim(*store, lease_request("orders", 10));
  REQUIRE(front.met("txnNumber") > 0);
  const LeaseOutcome outcome = store->lease(next_request(*store, random));
  INFO(outcome.error.to_string());
  if (configured) {
    REQUIRE(outcome.kind == Kind::refused);
    CHECK(outcome.error.code() == ErrorCode::STORE_REFUSED);
    CHECK(outcome.error.text().find("numbered writes") != std::string::npos);
    return;
  }
  CHECK(store->lease_mode().word == "plain");
  CHECK(store->lease_mode().reason.find("no numbered writes") != std::string::npos);
  CHECK(outcome.begin == 1);
}

TEST_CASE("MongoLeaseMode: the first lease of a counter that is not there yet can be given up, too",
          "[mongo]") {
  SeededRandom random(1);
  const bool allowed = GENERATE(true, false);
  MongoServer server(kMongoAlone);
  auto store = open_mongo_store(server, LeaseModeOption::slot);
  LeaseRequest lost = next_request(*store, random);
  lost.binding.first_id = 500;
  lost.binding.create = allowed;
  claim(*store, lost);
  // The request never arrived.
  if (!allowed) {
    REQUIRE(store->resolve(lost).kind == Resolution::Kind::untraceable);
    REQUIRE(server.count("counters") == 0);
    return;
  }
  REQUIRE(store->resolve(lost).kind == Resolution::Kind::absent);
  REQUIRE(open_mongo_store(server, LeaseModeOption::slot)->lease(lost).kind == Kind::refused);
  LeaseRequest next = lost;
  next.token = store->new_token(random, next.binding);
  REQUIRE(store->lease(next).begin == 500);
}

TEST_CASE("MongoLeaseMode: two sequences of one instance on one counter keep their leases apart",
          "[mongo]") {
  SeededRandom random(1);
  const LeaseTrace trace = GENERATE(LeaseTrace::transaction, LeaseTrace::slot, LeaseTrace::session);
  MongoServer server(kMongoReplicaSet);
  auto store = open_mongo_store(server, mode_of(trace));
  LeaseRequest one = next_request(*store, random, trace);
  one.sequence = "a.b";
  LeaseRequest two = next_request(*store, random, trace);
  two.sequence = "a:b";
  REQUIRE(store->lease(one).begin == 1);
  REQUIRE(store->lease(two).begin == 11);
  REQUIRE(store->resolve(one).begin == 1);
  REQUIRE(store->resolve(two).begin == 11);
}

}  // namespace
}  // namespace seqd
