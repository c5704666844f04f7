// What a MongoDB store does with an instance that is forgotten while something of it is on its way.
// Real servers and their fail points. The rest is in forget_contract_test.cc.
#include "daemon/store/mongo/lease/mongo_forget.h"

#include <fmt/format.h>

#include <string>

#include "daemon/store/mongo/documents/mongo_binding.h"
#include "tests/adapters/mongo/held_command.h"
#include "tests/adapters/mongo/mongo_server.h"
#include "tests/adapters/mongo/mongo_stores.h"
#include "tests/adapters/store_fixtures.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;

constexpr LeaseTrace kSlot = LeaseTrace::slot;

ReturnRequest return_of(const LeaseRequest& lease, Reuse reuse) {
  ReturnRequest request;
  request.binding = lease.binding;
  request.token = random_token(kSlot);
  request.instance = lease.instance;
  request.sequence = lease.sequence;
  request.begin = 4;
  request.end = 11;
  request.reuse = reuse;
  return request;
}

ForgetRequest forget_of(const LeaseRequest& lease) {
  ForgetRequest request;
  request.instance = lease.instance;
  request.slots.push_back({lease.binding, lease.sequence});
  return request;
}

// A counter at 10, leased by an instance.
struct Leased {
  Leased() {
    options.lease_mode = LeaseModeOption::slot;
    auto store = open_mongo_store(options);
    REQUIRE(*store->claim({.instance = lease.instance, .epoch = 0, .nonce = lease.token}) ==
            ClaimOutcome::won);
    server.put("counters", "orders",
               R"({"seq": {"$numberLong": "0"}, "seqd": {"meaning": "last"}})");
    REQUIRE(store->lease(lease).end == 11);
  }
  // What another host is granted that takes what is parked.
  LeaseOutcome lease_elsewhere() {
    LeaseRequest other = lease_request("orders", 7, kSlot);
    other.instance.fill(9);
    other.take_parked = true;
    return open_mongo_store(options)->lease(other);
  }
  MongoServer server{kMongoAlone};
  MongoStoreOptions options = server.options();
  LeaseRequest lease = lease_request("orders", 10, kSlot);
};

// False: the machine was too slow to say anything.
bool changes_nothing_when_forgotten(Reuse reuse, int block_ms) {
  Leased world;
  const ReturnRequest back = return_of(world.lease, reuse);
  const std::string name = "returning-" + world.server.database();
  MongoStoreOptions slow = world.options;
  slow.uri = with_uri_option(slow.uri, "appName=" + name);
  auto returning = open_mongo_store(slow);
  ReturnOutcome outcome;
  Status forgotten;
  const bool in_time = while_held(
      world.server, {name, block_ms}, [&] { outcome = returning->return_range(back); },
      [&] {
        forgotten = open_mongo_store(world.options)->forget(forget_of(world.lease)).status();
      });
  INFO(forgotten.to_string());
  REQUIRE(forgotten.ok());
  if (!in_time) return false;
  INFO(outcome.error.to_string());
  CHECK(outcome.kind == ReturnOutcome::Kind::kept);
  CHECK(world.server.number("counters", "orders", "seq") == 10);
  CHECK(world.lease_elsewhere().begin == 11);
  return true;
}

TEST_CASE("MongoForget: a return that arrives when its instance is forgotten changes nothing",
          "[mongo]") {
  const Reuse reuse = GENERATE(Reuse::parked, Reuse::tail);
  until_in_time([&](int block_ms) { return changes_nothing_when_forgotten(reuse, block_ms); });
}

TEST_CASE("MongoForget: a return whose record was swept is not applied once more", "[mongo]") {
  Leased world;
  auto store = open_mongo_store(world.options);
  const ReturnRequest back = return_of(world.lease, Reuse::parked);
  REQUIRE(store->return_range(back).kind == ReturnOutcome::Kind::returned);
  CHECK(world.lease_elsewhere().begin == 4);
  // Its daemon is off for long, and another one sweeps.
  ForgetRequest sweep = forget_of(world.lease);
  sweep.entry = false;
  REQUIRE(store->forget(sweep).ok());
  const ReturnOutcome again = open_mongo_store(world.options)->return_range(back);
  CHECK(again.kind == ReturnOutcome::Kind::kept);
  CHECK(again.error.code() == ErrorCode::STORE_REFUSED);
  CHECK(world.lease_elsewhere().begin == 11);
}

TEST_CASE("MongoForget: a server that is away is an error, and asking again is enough", "[mongo]") {
  Leased world;
  auto store = open_mongo_store(world.options);
  REQUIRE(store->lease(world.lease).kind == LeaseOutcome::Kind::granted);
  const char* command = GENERATE("find", "findAndModify");
  {
    const FailPoint away(
        world.server, "failCommand", "\"alwaysOn\"",
        fmt::format(R"({{"failCommands": ["{}"], "closeConnection": true}})", command));
    const auto forgotten = store->forget(forget_of(world.lease));
    REQUIRE_FALSE(forgotten.ok());
    CHECK(forgotten.status().code() == ErrorCode::UNAVAILABLE);
  }
  const auto forgotten = store->forget(forget_of(world.lease));
  REQUIRE(forgotten.ok());
  CHECK(forgotten->entry);
  CHECK(forgotten->records == 1);
}

}  // namespace
}  // namespace seqd
