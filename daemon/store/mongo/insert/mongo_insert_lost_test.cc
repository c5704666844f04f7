// Inserts whose answer is lost, and servers that fail in the middle. The rule under test: no
// document twice, no gap, and `unknown` wherever that cannot be proven.
#include <fmt/format.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/adapters/mongo/mongo_people.h"
#include "tests/adapters/mongo/mongos_proxy.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;
using Kind = InsertOutcome::Kind;

constexpr char kOnce[] = R"({"times": 1})";
constexpr char kTwice[] = R"({"times": 2})";

TEST_CASE("MongoInsert: an answer lost once or more on a replica set is asked for and counts once",
          "[mongo]") {
  People people(kMongoReplicaSet);
  for (const char* times : {kOnce, kTwice, R"({"times": 5})"}) {
    const std::int64_t before = people.server.count("people");
    const FailPoint point(people.server, "failCommand", times,
                          people.command_failure(R"("closeConnection": true)"));
    require_ids(people.insert({"Ada", "Bob", "Cid"}), {before + 1, before + 2, before + 3});
    REQUIRE(people.server.count("people") == before + 3);
  }
}

TEST_CASE(
    "MongoInsert: documents that were written before the answer was lost are not written again",
    "[mongo]") {
  People people(kMongoReplicaSet);
  for (const char* times : {kOnce, kTwice}) {
    const std::int64_t before = people.server.count("people");
    const FailPoint point(people.server, "onPrimaryTransactionalWrite", times,
                          R"({"closeConnection": true})");
    require_ids(people.insert({"Ada", "Bob"}), {before + 1, before + 2});
    REQUIRE(people.server.count("people") == before + 2);
  }
}

TEST_CASE("MongoInsert: a write that no majority has confirmed is asked for until one has",
          "[mongo]") {
  People people(kMongoReplicaSet);
  const FailPoint point(people.server, "failCommand", kTwice,
                        people.command_failure(
                            R"("writeConcernError": {"code": 64, "errmsg": "waiting timed out"})"));
  require_ids(people.insert({"Ada", "Bob"}), {1, 2});
  REQUIRE(people.server.count("people") == 2);
}

TEST_CASE("MongoInsert: a write that no majority ever confirms is unknown", "[mongo]") {
  People people(kMongoReplicaSet);
  people.batch.patience_ms = 300;
  const FailPoint point(people.server, "failCommand", R"("alwaysOn")",
                        people.command_failure(
                            R"("writeConcernError": {"code": 64, "errmsg": "waiting timed out"})"));
  REQUIRE(people.insert_one("Ada").kind == Kind::unknown);
  REQUIRE(people.server.count("people") == 1);
}

TEST_CASE("MongoInsert: an answer that the driver's repeat has lost too is asked for by its number",
          "[mongo]") {
  People people(kMongoReplicaSet);
  std::vector<InsertOutcome> outcomes;
  {
    const FailPoint written(people.server, "onPrimaryTransactionalWrite", kOnce,
                            R"({"closeConnection": true})");
    FailPoint repeated(people.server, "failCommand", R"({"skip": 1})",
                       people.command_failure(R"("closeConnection": true)"));
    std::jthread inserting([&] { outcomes = people.insert({"Ada", "Bob"}); });
    people.server.admin(fmt::format(
        R"({{"waitForFailPoint": "failCommand", "timesEntered": {}, "maxTimeMS": 30000}})",
        repeated.entered_before() + 1));
    repeated.lift();
    inserting.join();
  }
  require_ids(outcomes, {1, 2});
  REQUIRE(people.server.count("people") == 2);
}

TEST_CASE("MongoInsert: an attempt that may come late is not refused with its repeat", "[mongo]") {
  People people(kMongoReplicaSet);
  MongosProxy member(people.server, MongosProxy::Says::itself);
  MongoStoreOptions options = people.server.options();
  options.uri = member.uri();
  people.store = open_mongo_store(options);
  // To the first attempt, which is applied; and to the driver's repeat, which is not.
  member.answer("insert", 1, R"({"ok": 0, "code": 91, "errmsg": "it is going away",
                                 "errorLabels": ["RetryableWriteError"]})");
  member.refuse_next("insert", R"({"ok": 1, "n": 0, "writeErrors": [
                                   {"index": 0, "code": 365, "errmsg": "no room in the cache"}]})");
  // Asked for by its number, the server returns the outcome of the first one.
  require_ids(people.insert({"Ada"}), {1});
  REQUIRE(member.seen("insert") == 3);
  REQUIRE(people.server.count("people") == 1);
}

TEST_CASE("MongoInsert: a server that never answers leaves the outcome unknown and says which _id",
          "[mongo]") {
  People people(kMongoReplicaSet);
  people.batch.patience_ms = 300;
  const FailPoint point(people.server, "failCommand", R"("alwaysOn")",
                        people.command_failure(R"("closeConnection": true)"));
  const auto outcomes = people.insert({"Ada", "Bob"});
  REQUIRE(outcomes[1].kind == Kind::unknown);
  REQUIRE(outcomes[1].id == 2);
  REQUIRE(outcomes[1].error.code() == ErrorCode::OUTCOME_UNKNOWN);
  REQUIRE(mentions(outcomes[1].error, "may have been inserted as _id 2"));
}

TEST_CASE("MongoInsert: an answer lost on a server alone is unknown and nothing is inserted twice",
          "[mongo]") {
  People people(kMongoAlone);
  {
    const FailPoint point(people.server, "failCommand", kOnce,
                          people.command_failure(R"("closeConnection": true)"));
    const InsertOutcome outcome = people.insert_one("Ada");
    REQUIRE(outcome.kind == Kind::unknown);
    REQUIRE(outcome.id == 1);
    REQUIRE(mentions(outcome.error, "where there is none now"));
  }
  {
    // Written, but the confirmation failed: it is there, and still nobody can say whose it is.
    const FailPoint point(
        people.server, "failCommand", kOnce,
        people.command_failure(R"("writeConcernError": {"code": 64, "errmsg": "slow"})"));
    const InsertOutcome outcome = people.insert_one("Bob");
    REQUIRE(outcome.kind == Kind::unknown);
    REQUIRE(mentions(outcome.error, "where there is one like it now"));
  }
  REQUIRE(people.server.count("people") == 1);
  require_ids(people.insert({"Cid"}), {2});
}

TEST_CASE("MongoInsert: without retryable writes a lost answer is unknown on a replica set too",
          "[mongo]") {
  People people(kMongoReplicaSet, "retryWrites=false");
  const FailPoint point(people.server, "failCommand", kOnce,
                        people.command_failure(R"("closeConnection": true)"));
  REQUIRE(people.insert_one("Ada").kind == Kind::unknown);
}

TEST_CASE("MongoInsert: what the server refuses before it writes is tried again by who asked",
          "[mongo]") {
  People people(kMongoReplicaSet);
  const FailPoint point(people.server, "failCommand", kTwice,
                        people.command_failure(R"("errorCode": 10107)"));
  const InsertOutcome outcome = people.insert_one("Ada");
  REQUIRE(outcome.kind == Kind::failed);
  REQUIRE(outcome.error.code() == ErrorCode::UNAVAILABLE);
  REQUIRE(people.server.count("people") == 0);
}

TEST_CASE("MongoInsert: an error that does not prove anything is asked for by the number",
          "[mongo]") {
  // DataCorruptionDetected; AtlasError; overload, and interruptions of newer servers
  const int code = GENERATE(301, 8000, 433, 462, 453);
  CAPTURE(code);
  People people(kMongoReplicaSet);
  const FailPoint point(people.server, "failCommand", kOnce,
                        people.command_failure(fmt::format(R"("errorCode": {})", code)));
  require_ids(people.insert({"Ada"}), {1});
  REQUIRE(people.server.count("people") == 1);
}

TEST_CASE("MongoInsert: a server that is overloaded has inserted nothing if its labels say so",
          "[mongo]") {
  People people(kMongoReplicaSet);
  const char* const proof = GENERATE("RetryableError", "NoWritesPerformed");
  CAPTURE(proof);
  const FailPoint point(
      people.server, "failCommand", R"("alwaysOn")",
      people.command_failure(fmt::format(
          R"("errorCode": 77777, "errorLabels": ["SystemOverloadedError", "{}"])", proof)));
  const InsertOutcome outcome = people.insert_one("Ada");
  INFO(outcome.error.to_string());
  CHECK(outcome.kind == Kind::failed);
  CHECK(outcome.error.code() == ErrorCode::UNAVAILABLE);
}

TEST_CASE("MongoInsert: a server that is away has inserted nothing", "[mongo]") {
  MongoStoreOptions options;
  options.uri = "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=100";
  options.database = "seqd";
  static_cast<void>(testing::mongo_driver());
  const OpenMongoStore store = open_mongo_store(options);
  InsertBatch batch;
  batch.collection = "people";
  batch.max_value = 10;
  batch.items = {{person("Ada"), ""}};
  REQUIRE(store->insert(batch).front().kind == Kind::failed);
}

}  // namespace
}  // namespace seqd
