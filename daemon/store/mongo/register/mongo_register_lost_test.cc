// Registers in MongoDB whose answers are lost, and closes that are cut off. The rule under test:
// nothing is guessed, asking again tells, and a period is closed when nothing in it can be
// assigned.
#include <fmt/format.h>

#include <string>

#include "tests/adapters/mongo/held_command.h"
#include "tests/adapters/mongo/mongo_registers.h"
#include "tests/adapters/mongo/mongos_proxy.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;
using Ended = RegisterOutcome::Kind;

constexpr char kOnce[] = R"({"times": 1})";
constexpr char kAlways[] = R"("alwaysOn")";
constexpr char kClosed[] = R"("closeConnection": true)";
constexpr char kUnconfirmed[] = R"("writeConcernError": {"code": 64, "errmsg": "slow"})";

TEST_CASE("MongoRegister: an add without an answer is unknown, and asking again tells",
          "[mongo][register]") {
  const std::string lost = GENERATE(kClosed, kUnconfirmed);
  CAPTURE(lost);
  Registers world(kMongoAlone);
  TestRegister& invoices = world.invoices;
  require_ended(invoices.write({invoices.add(1, "a")}), Ended::all, 1);
  {
    const FailPoint point(world.server, "failCommand", kOnce, world.failure("insert", lost));
    require_ended(invoices.write({invoices.add(2, "b"), invoices.add(3, "c")}), Ended::unknown, 0);
  }
  REQUIRE(invoices.assign("b") == 2);
  REQUIRE(invoices.assign("c") == 3);
  REQUIRE(invoices.keys() == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("MongoRegister: a change without an answer is unknown, and is there or is not",
          "[mongo][register]") {
  const std::string lost = GENERATE(kClosed, kUnconfirmed);
  CAPTURE(lost);
  Registers world(kMongoAlone);
  TestRegister& invoices = world.invoices;
  require_ended(invoices.write({invoices.add(1, "a"), invoices.add(2, "b"), invoices.add(3, "c"),
                                invoices.cancel(3, "c", true)}),
                Ended::all, 4);
  {
    const FailPoint point(world.server, "failCommand", R"({"times": 3})",
                          world.failure("findAndModify", lost));
    for (const RegisterChange& change :
         {invoices.cancel(1, "a"), invoices.confirm(2, "b"), invoices.refill(3, "d", 1)})
      require_ended(invoices.write({change}), Ended::unknown, 0);
  }
  const bool applied = lost == kUnconfirmed;
  const auto numbers = invoices.read({"d"}, {1, 2}).of_numbers;
  REQUIRE((numbers.at(0)->state == NumberState::voided) == applied);
  REQUIRE((numbers.at(1)->state == NumberState::confirmed) == applied);
  REQUIRE(invoices.assign("d") == 3);
}

TEST_CASE("MongoRegister: an answer that was lost once on a replica set is asked for by the driver",
          "[mongo][register]") {
  Registers world(kMongoReplicaSet);
  TestRegister& invoices = world.invoices;
  {
    const FailPoint point(world.server, "failCommand", kOnce, world.failure("insert", kClosed));
    require_ended(invoices.write({invoices.add(1, "a"), invoices.add(2, "b")}), Ended::all, 2);
  }
  {
    const FailPoint point(world.server, "failCommand", kAlways,
                          world.failure("insert", kUnconfirmed));
    require_ended(invoices.write({invoices.add(3, "c")}), Ended::unknown, 0);
  }
  REQUIRE(invoices.assign("c") == 3);
}

TEST_CASE("MongoRegister: what the server refuses before it writes has failed",
          "[mongo][register]") {
  Registers world(kMongoReplicaSet);
  TestRegister& invoices = world.invoices;
  require_ended(invoices.write({invoices.add(1, "a")}), Ended::all, 1);
  const FailPoint point(world.server, "failCommand", R"({"times": 2})",
                        world.failure("insert", R"("errorCode": 10107)"));
  const RegisterOutcome outcome = invoices.write({invoices.add(2, "b")});
  REQUIRE((outcome.kind == Ended::failed && outcome.error.code() == ErrorCode::UNAVAILABLE));
}

TEST_CASE("MongoRegister: a mongos that lost its shard proves nothing of an add",
          "[mongo][register]") {
  MongoServer upstream(kMongoReplicaSet);
  MongosProxy mongos(upstream);
  Registers world(kMongoReplicaSet, mongos.uri());
  TestRegister& invoices = world.invoices;
  require_ended(invoices.write({invoices.add(1, "a")}), Ended::all, 1);
  mongos.answer("insert", 2, R"({"ok": 1, "n": 1, "writeErrors": [
                                 {"index": 1, "code": 6, "errmsg": "the shard did not answer"}]})");
  require_ended(invoices.write({invoices.add(2, "b"), invoices.add(3, "c")}), Ended::unknown, 1);
  REQUIRE(invoices.keys() == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("MongoRegister: a collection that is sharded by another field than the register is none",
          "[mongo][register]") {
  const bool by_counter = GENERATE(true, false);
  MongoServer upstream(kMongoReplicaSet);
  MongosProxy mongos(upstream);
  Registers world(kMongoReplicaSet, mongos.uri());
  TestRegister& invoices = world.invoices;
  mongos.answer("find", 1,
                fmt::format(R"({{"ok": 1, "cursor": {{"id": {{"$numberLong": "0"}},
                                 "ns": "config.collections", "firstBatch":
                                 [{{"_id": "a.seqd_register", "key": {{"{}": 1}}}}]}}}})",
                            by_counter ? "counter" : "_id"));
  if (by_counter)
    require_ended(invoices.write({invoices.add(1, "a")}), Ended::all, 1);
  else
    world.require_refused({invoices.add(1, "a")}, "sharded by");
}

// Of a host that has a heartbeat; the comparison before the write is the first.
TEST_CASE("MongoRegister: a comparison of ages that fails behind a write leaves it unknown",
          "[mongo][register]") {
  Registers world(kMongoReplicaSet);
  TestRegister& invoices = world.invoices;
  invoices.place.instance = random_token();
  REQUIRE(world.store->claim({invoices.place.instance, 0, random_token()}).ok());
  REQUIRE(world.store->beat({invoices.place.instance, 0, true}).ok());
  invoices.place.heartbeat = 1;
  require_ended(invoices.write({invoices.add(1, "a")}), Ended::all, 1);
  const std::string comparison = world.failure(
      "aggregate",
      fmt::format(R"("namespace": "{}.seqd_instances", "errorCode": 91)", world.server.database()));
  {
    const FailPoint point(world.server, "failCommand", R"({"skip": 1})", comparison);
    require_ended(invoices.write({invoices.add(2, "b")}), Ended::unknown, 0);
    REQUIRE(world.read_error({"a"}) == ErrorCode::UNAVAILABLE);
    REQUIRE(invoices.write({invoices.add(3, "c")}).kind == Ended::failed);
  }
  REQUIRE(invoices.keys() == std::vector<std::string>{"a", "b"});
}

// --- closes

// Two numbers: one is assigned, the other one free.
void begin(TestRegister& invoices) {
  require_ended(
      invoices.write({invoices.add(1, "a"), invoices.add(2, "b"), invoices.cancel(2, "b", true)}),
      Ended::all, 3);
}

TEST_CASE("MongoRegister: a close that was cut off is completed before anybody hears of it",
          "[mongo][register]") {
  Registers world(kMongoAlone);
  TestRegister& invoices = world.invoices;
  begin(invoices);
  const OpenMongoStore other = open_mongo_store(world.server);
  TestRegister there(*other);
  {
    const FailPoint point(world.server, "failCommand", kAlways, world.failure("update", kClosed));
    require_ended(invoices.write({invoices.close(3)}), Ended::unknown, 0);
    REQUIRE(world.read_error({"a"}) == ErrorCode::UNAVAILABLE);
    REQUIRE_FALSE(world.has(R"({"swept": true})"));
    // Nothing is added, although the close was not reported yet: that is allowed.
    require_ended(there.write({there.add(3, "c")}), Ended::changed, 0);
    require_ended(there.write({there.refill(2, "c", 1)}), Ended::all, 1);
    require_ended(there.write({there.cancel(1, "a", true)}), Ended::all, 1);
  }
  REQUIRE(there.read({}).closed);
  REQUIRE(world.has(R"({"state": "end", "swept": true})"));
  require_ended(there.write({there.refill(1, "d", 1)}), Ended::changed, 0);
  require_ended(there.write({there.cancel(2, "c", true)}), Ended::changed, 0);
  require_ended(there.write({there.cancel(2, "c")}), Ended::all, 1);
  REQUIRE(there.page(0, NumberState::voided).size() == 2);
  REQUIRE_FALSE(world.has(R"({"state": "free"})"));
}

TEST_CASE("MongoRegister: what is free behind a close is void, before it is written",
          "[mongo][register]") {
  Registers world(kMongoAlone);
  TestRegister& invoices = world.invoices;
  begin(invoices);
  {
    // The first update marks what is open, the second one makes void.
    const FailPoint point(world.server, "failCommand", R"({"skip": 1})",
                          world.failure("update", kClosed));
    require_ended(invoices.write({invoices.close(3)}), Ended::unknown, 0);
    REQUIRE(world.has(R"({"state": "free", "ended": true})"));
    REQUIRE(invoices.page(0, NumberState::free).empty());
    REQUIRE(invoices.page(0, NumberState::voided).size() == 1);
    REQUIRE(invoices.page(1, {}, 1).at(0).state == NumberState::voided);
    require_ended(invoices.write({invoices.refill(2, "c", 1)}), Ended::changed, 0);
    require_ended(invoices.write({invoices.cancel(1, "a", true)}), Ended::changed, 0);
  }
  REQUIRE(invoices.read({}).closed);
  REQUIRE(world.has(R"({"state": "void", "ended": true})"));
}

TEST_CASE("MongoRegister: a change that waited during a close assigns nothing and frees nothing",
          "[mongo][register]") {
  const bool refills = GENERATE(true, false);
  until_in_time([&](int block_ms) {
    Registers world(kMongoAlone);
    TestRegister& invoices = world.invoices;
    begin(invoices);
    const OpenMongoStore other = open_mongo_store(world.server);
    TestRegister there(*other);
    RegisterOutcome outcome;
    const bool in_time = while_held(
        world.server, {world.name, block_ms},
        [&] {
          outcome = invoices.write(
              {refills ? invoices.refill(2, "c", 1) : invoices.cancel(1, "a", true)});
        },
        [&] { require_ended(there.write({there.close(3)}), Ended::all, 1); });
    if (!in_time) return false;
    require_ended(outcome, Ended::changed, 0);
    REQUIRE_FALSE(world.has(R"({"state": "free"})"));
    REQUIRE_FALSE(world.has(R"({"key": "c"})"));
    return true;
  });
}

}  // namespace
}  // namespace seqd
