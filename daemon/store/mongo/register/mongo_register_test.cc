// What is particular to registers in MongoDB: which copies are read, in which order, indexes that
// are not as they were made, and documents that were changed by hand.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "tests/adapters/mongo/held_command.h"
#include "tests/adapters/mongo/mongo_registers.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;
using Ended = RegisterOutcome::Kind;

TEST_CASE("MongoRegister: keys are read where the newest is, all else of what a majority has",
          "[mongo][register]") {
  Registers world(kMongoReplicaSet);
  TestRegister& invoices = world.invoices;
  require_ended(
      invoices.write({invoices.add(1, "a"), invoices.add(2, "b"), invoices.cancel(2, "b", true)}),
      Ended::all, 3);
  world.server.command(R"({"profile": 2})");
  const RegisterReading reading = invoices.read({"a"}, {2}, 1);
  REQUIRE(invoices.page().size() == 2);
  world.server.command(R"({"profile": 0})");
  REQUIRE((reading.of_keys.at(0) && reading.of_numbers.at(0) && reading.free.size() == 1));
  const auto seen = [&](const std::string& with) {
    return !world.server
                .find("system.profile", fmt::format(R"({{"ns": "{}.seqd_register", {}}})",
                                                    world.server.database(), with))
                .empty();
  };
  REQUIRE(seen(R"("command.filter.key": {"$exists": true},
                  "command.readConcern.level": "linearizable")"));
  REQUIRE(seen(R"("command.filter._id": {"$exists": true},
                  "command.readConcern.level": "linearizable")"));
  REQUIRE(seen(R"("command.aggregate": "seqd_register", "command.readConcern.level": "majority")"));
  REQUIRE_FALSE(seen(R"("op": {"$in": ["query", "command"]},
                        "command.readConcern.level": {"$nin": ["majority", "linearizable"]})"));
}

TEST_CASE("MongoRegister: a server alone answers a key when it is in the journal",
          "[mongo][register]") {
  Registers world(kMongoAlone);
  TestRegister& invoices = world.invoices;
  require_ended(invoices.write({invoices.add(1, "a")}), Ended::all, 1);
  const FailPoint point(world.server, "failCommand", R"("alwaysOn")",
                        world.failure("findAndModify", R"("errorCode": 91)"));
  REQUIRE(world.read_error({"a"}) == ErrorCode::UNAVAILABLE);
  REQUIRE_FALSE(invoices.read({"b"}).of_keys.at(0));
}

// Otherwise a late insert could give a cancelled key a number that was not requested.
TEST_CASE("MongoRegister: the highest and what is free are read before the keys",
          "[mongo][register]") {
  until_in_time([&](int block_ms) {
    Registers world(kMongoAlone);
    const OpenMongoStore other = open_mongo_store(world.server);
    TestRegister there(*other);
    require_ended(there.write({there.add(1, "a"), there.add(2, "b")}), Ended::all, 2);
    RegisterReading reading;
    const bool in_time = while_held(
        world.server, {world.name, block_ms, "find"},
        [&] { reading = world.invoices.read({"c"}, {}, 1); },
        [&] {
          require_ended(there.write({there.add(3, "c"), there.cancel(1, "a", true)}), Ended::all,
                        2);
        });
    if (!in_time) return false;
    REQUIRE(reading.of_keys.at(0).has_value());
    REQUIRE((reading.highest == 2 && reading.free.empty()));
    return true;
  });
}

TEST_CASE("MongoRegister: nothing is written while keys are not unique, and it is told",
          "[mongo][register]") {
  Registers world(kMongoAlone);
  TestRegister& invoices = world.invoices;
  require_ended(
      invoices.write({invoices.add(1, "a"), invoices.add(2, "b"), invoices.cancel(1, "a", true)}),
      Ended::all, 3);
  world.server.command(R"({"dropIndexes": "seqd_register", "index": "seqd_register_by_key"})");
  const std::string instead = GENERATE("", R"("key": {"counter": 1, "key": 1})",
                                       R"("key": {"counter": 1, "key": 1}, "unique": true,
                                          "partialFilterExpression": {"state": "assigned"})",
                                       R"("key": {"counter": 1, "key": 1}, "unique": true,
                                          "partialFilterExpression": {"key": {"$exists": true}},
                                          "collation": {"locale": "en"})",
                                       R"("key": {"key": 1, "counter": 1}, "unique": true,
                                          "partialFilterExpression": {"key": {"$exists": true}})");
  CAPTURE(instead);
  if (!instead.empty())
    world.server.command(fmt::format(
        R"({{"createIndexes": "seqd_register", "indexes": [{{"name": "other", {}}}]}})", instead));
  for (const RegisterChange& change : {invoices.add(3, "c"), invoices.refill(1, "c", 1)})
    world.require_refused({change}, "unique: true");
  // What has a number is still answered, and ended.
  REQUIRE(invoices.read({"b"}).of_keys.at(0)->number == 2);
  require_ended(invoices.write({invoices.confirm(2, "b")}), Ended::all, 1);
  if (!instead.empty())
    world.server.command(R"({"dropIndexes": "seqd_register", "index": "other"})");
  world.server.command(
      R"({"createIndexes": "seqd_register", "indexes": [{"key": {"counter": 1, "key": 1},
          "name": "again", "unique": true,
          "partialFilterExpression": {"key": {"$exists": true}}}]})");
  require_ended(invoices.write({invoices.add(3, "c")}), Ended::all, 1);
}

TEST_CASE("MongoRegister: a collection that compares words loosely keeps no registers",
          "[mongo][register]") {
  Registers world(kMongoAlone);
  world.server.command(
      R"({"create": "seqd_register", "collation": {"locale": "en", "strength": 1}})");
  world.require_refused({world.invoices.add(1, "a")}, "collation");
  REQUIRE(world.server.count("seqd_register") == 0);
}

TEST_CASE("MongoRegister: a unique index of somebody else is told, and not asked again for ever",
          "[mongo][register]") {
  Registers world(kMongoAlone);
  TestRegister& invoices = world.invoices;
  require_ended(invoices.write({invoices.add(1, "a")}), Ended::all, 1);
  world.server.command(R"({"createIndexes": "seqd_register", "indexes": [
      {"key": {"text": 1}, "name": "text_1", "unique": true}]})");
  RegisterChange same = invoices.add(2, "b");
  same.text = "T-1";
  world.require_refused({same}, "11000", Ended::refused);
  same.number = 3;
  same.key = "c";
  require_ended(invoices.write({invoices.add(2, "b"), same}), Ended::refused, 1);
  REQUIRE(invoices.read({"b"}).of_keys.at(0)->number == 2);
}

TEST_CASE("MongoRegister: a document that was changed by hand is named and the others are as ever",
          "[mongo][register]") {
  Registers world(kMongoAlone);
  TestRegister& invoices = world.invoices;
  require_ended(invoices.write({invoices.add(1, "a"), invoices.add(2, "b")}), Ended::all, 2);
  struct Case {
    const char* field;
    const char* update;
  };
  const auto tried = GENERATE(
      Case{"state", R"({"$set": {"state": "sold"}})"}, Case{"text", R"({"$set": {"text": 1}})"},
      Case{"key", R"({"$set": {"state": "void"}})"},
      Case{"assigned.at", R"({"$set": {"assigned": {"at": 1, "by": ""}}})"},
      Case{"former", R"({"$unset": {"former": 1}})"},
      Case{"former.0.reason", R"({"$set": {"former": [{"key": "x", "assigned":
          {"at": {"$date": "2026-01-01T00:00:00Z"}, "by": ""}, "cancelled":
          {"at": {"$date": "2026-01-01T00:00:00Z"}, "by": ""}}]}})"});
  CAPTURE(tried.field);
  world.change_by_hand(1, tried.update);
  const RegisterReading reading = invoices.read({"a", "b"}, {1, 2});
  REQUIRE((reading.of_keys.at(1)->number == 2 && reading.of_numbers.at(1)->key == "b"));
  REQUIRE((!reading.of_keys.at(0) && !reading.of_numbers.at(0)));
  REQUIRE(reading.unreadable.size() == 2);
  for (const UnreadableNumber& each : reading.unreadable) {
    INFO(each.why.to_string());
    REQUIRE((each.number == 1 && each.why.code() == ErrorCode::STORE_REFUSED));
    REQUIRE(each.why.text().find(fmt::format("field {}:", tried.field)) != std::string::npos);
    REQUIRE(each.why.text().find(R"("number" : 1)") != std::string::npos);
  }
  REQUIRE((reading.unreadable.at(0).key == "a" && reading.unreadable.at(1).key.empty()));
  world.require_refused({invoices.cancel(1, "a")}, "", Ended::refused);
  REQUIRE(world.store->list_register({invoices.place, 0, {}, 10}).status().code() ==
          ErrorCode::STORE_REFUSED);
  REQUIRE(invoices.read({"b"}).of_keys.at(0)->number == 2);
  require_ended(invoices.write({invoices.add(3, "c"), invoices.confirm(2, "b")}), Ended::all, 2);
  REQUIRE(invoices.page(1).size() == 2);
}

TEST_CASE("MongoRegister: nothing follows a highest number that cannot be read, but elsewhere",
          "[mongo][register]") {
  Registers world(kMongoAlone);
  TestRegister& invoices = world.invoices;
  TestRegister next(*world.store, "2027");
  require_ended(invoices.write({invoices.add(1, "a")}), Ended::all, 1);
  world.change_by_hand(1, R"({"$set": {"state": "End"}})");
  world.require_refused({invoices.add(2, "b")}, "field state");
  require_ended(next.write({next.add(1, "b")}), Ended::all, 1);
}

TEST_CASE("MongoRegister: what is free and cannot be read is passed over", "[mongo][register]") {
  Registers world(kMongoAlone);
  TestRegister& invoices = world.invoices;
  require_ended(invoices.write({invoices.add(1, "a"), invoices.add(2, "b"),
                                invoices.cancel(1, "a", true), invoices.cancel(2, "b", true)}),
                Ended::all, 4);
  world.change_by_hand(1, R"({"$set": {"text": 1}})");
  const RegisterReading reading = invoices.read({"c"}, {}, 2);
  REQUIRE((reading.free.size() == 1 && reading.free.at(0).number == 2));
}

TEST_CASE("MongoRegister: a key that has two numbers is told", "[mongo][register]") {
  Registers world(kMongoAlone);
  TestRegister& invoices = world.invoices;
  require_ended(invoices.write({invoices.add(1, "a"), invoices.add(2, "b")}), Ended::all, 2);
  world.server.command(R"({"dropIndexes": "seqd_register", "index": "seqd_register_by_key"})");
  world.change_by_hand(2, R"({"$set": {"key": "a"}})");
  const RegisterReading reading = invoices.read({"a"});
  REQUIRE(!reading.of_keys.at(0));
  REQUIRE((reading.unreadable.size() == 1 && reading.unreadable.at(0).key == "a"));
  REQUIRE(reading.unreadable.at(0).why.text().find("has the numbers") != std::string::npos);
}

TEST_CASE("MongoRegister: hosts that are configured with two first numbers do not both begin",
          "[mongo][register]") {
  Registers world(kMongoAlone);
  TestRegister& invoices = world.invoices;
  // Another host was killed behind its mark.
  world.server.put("counters", "invoices", R"({"seq": "register", "seqd": {"first": {"seq": 7}}})");
  const RegisterOutcome outcome = invoices.write({invoices.add(1, "a")});
  REQUIRE((outcome.kind == Ended::failed && outcome.error.code() == ErrorCode::CONFIG));
  REQUIRE(invoices.page().empty());
  invoices.place.binding.first_id = 7;
  require_ended(invoices.write({invoices.add(7, "a")}), Ended::all, 1);
}

TEST_CASE("MongoRegister: its mark leaves alone what else is in the document of the name",
          "[mongo][register]") {
  Registers world(kMongoAlone);
  TestRegister& invoices = world.invoices;
  world.server.put("counters", "invoices", R"({"other": 5})");
  require_ended(invoices.write({invoices.add(1, "a")}), Ended::all, 1);
  REQUIRE(world.server.number("counters", "invoices", "other") == 5);
  REQUIRE(world.server.find("counters", R"({"seq": "register"})") != "");
}

}  // namespace
}  // namespace seqd
