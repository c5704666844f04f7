// What a lease says when the server fails in the middle of it, by the server's own fail points. The
// rule under test: `granted` only when confirmed, `refused` only when nothing was applied.
#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "tests/adapters/mongo/faulty_mongo.h"
#include "tests/adapters/mongo/mongos_proxy.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;
using Kind = LeaseOutcome::Kind;

constexpr char kOnce[] = R"({"times": 1})";
constexpr char kTwice[] = R"({"times": 2})";
constexpr char kAlways[] = R"("alwaysOn")";

TEST_CASE("MongoFaults: a reply lost after the write is applied is repeated and granted once",
          "[mongo]") {
  Faulty faulty(kMongoReplicaSet);
  {
    const FailPoint point(faulty.server, "onPrimaryTransactionalWrite", kOnce,
                          R"({"closeConnection": true})");
    faulty.lease(Kind::granted);
  }
  REQUIRE(faulty.outcome.begin == 11);
  REQUIRE(faulty.value() == 20);
}

TEST_CASE("MongoFaults: a connection closed twice leaves the outcome unknown on a replica set",
          "[mongo]") {
  Faulty faulty(kMongoReplicaSet);
  const FailPoint point(faulty.server, "failCommand", kTwice,
                        faulty.command_failure(R"("closeConnection": true)"));
  REQUIRE(faulty.lease(Kind::unknown) == ErrorCode::UNAVAILABLE);
  faulty.lease(Kind::granted);
}

TEST_CASE("MongoFaults: a connection closed once leaves the outcome unknown on a server alone",
          "[mongo]") {
  Faulty faulty(kMongoAlone);
  const FailPoint point(faulty.server, "failCommand", kOnce,
                        faulty.command_failure(R"("closeConnection": true)"));
  REQUIRE(faulty.lease(Kind::unknown) == ErrorCode::UNAVAILABLE);
  faulty.lease(Kind::granted);
  REQUIRE(faulty.outcome.begin == 11);
}

TEST_CASE("MongoFaults: a write concern error beside a value is never granted", "[mongo]") {
  Faulty faulty(kMongoReplicaSet);
  {
    const FailPoint point(
        faulty.server, "failCommand", kOnce,
        faulty.command_failure(
            R"("writeConcernError": {"code": 64, "errmsg": "waiting timed out"})"));
    REQUIRE(faulty.lease(Kind::unknown) == ErrorCode::UNAVAILABLE);
  }
  REQUIRE(faulty.value() == 20);  // it was applied: those ten are spent
  REQUIRE(faulty.outcome.error.text().find("waiting timed out") != std::string::npos);
  faulty.lease(Kind::granted);
  REQUIRE(faulty.outcome.begin == 21);
}

TEST_CASE("MongoFaults: a server that blocks is given up at the time-out, unknown", "[mongo]") {
  Faulty faulty(kMongoAlone);
  faulty.reopen(300);
  faulty.connect();
  {
    const FailPoint point(
        faulty.server, "failCommand", kOnce,
        faulty.command_failure(R"("blockConnection": true, "blockTimeMS": 3000)"));
    // A lease that waited for the answer would be granted.
    REQUIRE(faulty.lease(Kind::unknown) == ErrorCode::UNAVAILABLE);
  }
  // The blocked command is applied later; ranges stay disjoint.
  faulty.reopen();
  faulty.lease(Kind::granted);
  REQUIRE(faulty.outcome.begin >= 11);
}

TEST_CASE("MongoFaults: an attempt that may come late is unknown though its repeat met nothing",
          "[mongo]") {
  Faulty faulty(kMongoReplicaSet);
  const auto value = [&] { return faulty.server.number("counters", "late", "seq"); };
  faulty.reopen(500);
  faulty.connect();
  const FailPoint point(faulty.server, "failCommand", kOnce,
                        faulty.command_failure(R"("blockConnection": true, "blockTimeMS": 3000)"));
  // The driver repeats it at once, when the counter is not there.
  const LeaseOutcome outcome = faulty.store->lease(last_request("late", 10));
  INFO(outcome.error.to_string());
  REQUIRE(outcome.kind == Kind::unknown);
  REQUIRE(outcome.error.code() == ErrorCode::UNAVAILABLE);
  MongoStoreOptions patient = faulty.options;
  patient.timeout_ms = kPatientMs;
  const OpenMongoStore other = open_mongo_store(patient);
  REQUIRE(other->lease(last_request("late", 10)).kind == Kind::granted);
  // The first attempt finds the counter now.
  const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (value() == 10) REQUIRE_IN_TIME(std::chrono::steady_clock::now() < late);
  REQUIRE(value() == 20);
}

TEST_CASE("MongoFaults: a lease with an attempt that may come late is not refused", "[mongo]") {
  // Nothing is there at the driver's repeat, and the counter may not be made: no proof of the
  // first.
  const LeaseModeOption mode = GENERATE(LeaseModeOption::slot, LeaseModeOption::session);
  MongoServer server(kMongoReplicaSet);
  MongosProxy member(server, MongosProxy::Says::itself);
  MongoStoreOptions options = server.options();
  options.uri = member.uri();
  options.lease_mode = mode;
  const OpenMongoStore store = open_mongo_store(options);
  const LeaseTrace trace = mode == LeaseModeOption::slot ? LeaseTrace::slot : LeaseTrace::session;
  REQUIRE(store->lease(lease_request("other", 10, trace)).kind == Kind::granted);
  LeaseRequest request = lease_request("missing", 10, trace);
  request.binding.create = false;
  REQUIRE(store->lease(request).kind == Kind::refused);
  request.token = random_token(trace);
  member.refuse("findAndModify", 1, R"({"ok": 0, "code": 91, "errmsg": "it is going away",
                                        "errorLabels": ["RetryableWriteError"]})");
  const int before = member.seen("findAndModify");
  const LeaseOutcome outcome = store->lease(request);
  INFO(outcome.error.to_string());
  REQUIRE(outcome.kind == Kind::unknown);
  REQUIRE(outcome.error.text().find("may still be applied; the last one: ") != std::string::npos);
  REQUIRE(member.seen("findAndModify") == before + 2);
  // A slot is in the counter's document, which is not there.
  REQUIRE(
      store->resolve(request).kind ==
      (mode == LeaseModeOption::slot ? Resolution::Kind::untraceable : Resolution::Kind::absent));
}

TEST_CASE("MongoFaults: an error raised before the write is a refusal", "[mongo]") {
  // The fail point stands before the command; what is tried here is what the lease makes of each.
  // The last ones: ShardKeyNotFound, DataCorruptionDetected, Atlas, Cosmos DB's word for too many
  // requests, and one that is in no list.
  const int code = GENERATE(2, 13, 18, 10107, 13435, 61, 301, 8000, 16500, 77'777);
  const ErrorCode expected = code == 10107 || code == 13435 || code == 16500
                                 ? ErrorCode::UNAVAILABLE
                                 : ErrorCode::STORE_REFUSED;
  CAPTURE(code);
  Faulty faulty(kMongoAlone);
  const FailPoint point(faulty.server, "failCommand", kOnce,
                        faulty.command_failure(fmt::format(R"("errorCode": {})", code)));
  REQUIRE(error_name(faulty.lease(Kind::refused)) == error_name(expected));
  REQUIRE(faulty.outcome.error.text().find("retryWrites=false") == std::string::npos);
}

TEST_CASE("MongoFaults: what the server itself refuses has moved nothing", "[mongo]") {
  Faulty faulty(kMongoAlone);
  LeaseRequest request = lease_request("orders", 10);
  if (GENERATE(true, false)) {
    faulty.server.command(R"({"collMod": "counters", "validator": {"seq": {"$lt": 20}}})");
  } else {
    faulty.server.command(R"({"create": "seen", "viewOn": "counters", "pipeline": []})");
    request.binding.collection = "seen";
  }
  const LeaseOutcome outcome = faulty.store->lease(request);
  INFO(outcome.error.to_string());
  REQUIRE(outcome.kind == Kind::refused);
  REQUIRE(outcome.error.code() == ErrorCode::STORE_REFUSED);
  REQUIRE(faulty.value() == 10);
}

TEST_CASE("MongoFaults: an error that may follow the write is unknown", "[mongo]") {
  // The last line: interruptions and overload of newer servers.
  const int code = GENERATE(91, 189, 11600, 11602, 50, 64, 79, 279, 1, 8,  //
                            355, 453, 473, 91'331, 10'045'600, 433, 449, 450, 462, 463);
  CAPTURE(code);
  Faulty faulty(kMongoAlone);
  const FailPoint point(faulty.server, "failCommand", kOnce,
                        faulty.command_failure(fmt::format(R"("errorCode": {})", code)));
  faulty.lease(Kind::unknown);
}

TEST_CASE("MongoFaults: the labels of an error say whether it may follow the write", "[mongo]") {
  struct Case {
    const char* labels;
    Kind kind;
  };
  const auto tried =
      GENERATE(Case{R"("SystemOverloadedError")", Kind::unknown},
               Case{R"("SystemOverloadedError", "NoWritesPerformed")", Kind::refused},
               Case{R"("SystemOverloadedError", "RetryableError")", Kind::refused},
               Case{R"("NoWritesPerformed")", Kind::refused});
  const int code = GENERATE(462, 453, 77'777);
  CAPTURE(tried.labels, code);
  Faulty faulty(kMongoAlone);
  const FailPoint point(faulty.server, "failCommand", kOnce,
                        faulty.command_failure(fmt::format(
                            R"("errorCode": {}, "errorLabels": [{}])", code, tried.labels)));
  const ErrorCode error = faulty.lease(tried.kind);
  // One that is in no list and has no label of overload may stay for ever.
  const bool passes = code != 77'777 || std::string(tried.labels).find("Over") != std::string::npos;
  REQUIRE(error_name(error) ==
          error_name(passes ? ErrorCode::UNAVAILABLE : ErrorCode::STORE_REFUSED));
}

TEST_CASE("MongoFaults: an error that passes by itself is UNAVAILABLE, and any other is not",
          "[mongo]") {
  // The last is one that says it by a label only.
  const int listed = GENERATE(107, 117, 133, 134, 175, 211, 246, 264, 290, 365, 11601, 355, 433,
                              449, 450, 453, 462, 463, 473, 91'331, 10'045'600, 8000, -8000);
  const int code = std::abs(listed);
  const bool labelled = listed < 0;
  CAPTURE(listed);
  Faulty faulty(kMongoReplicaSet);
  const FailPoint point(
      faulty.server, "failCommand", R"("alwaysOn")",
      fmt::format(R"({{"failCommands": ["find"], "appName": "{}", "errorCode": {} {}}})",
                  faulty.name, code,
                  labelled ? R"(, "errorLabels": ["TransientTransactionError"])" : ""));
  const auto reading =
      faulty.store->read({.binding = lease_request("orders", 1).binding, .instance = {}});
  INFO(reading.status().to_string());
  const bool passes = code != 8000 || labelled;
  CHECK(error_name(reading.status().code()) ==
        error_name(passes ? ErrorCode::UNAVAILABLE : ErrorCode::STORE_REFUSED));
}

TEST_CASE("MongoFaults: a retryable error is repeated by the driver and granted", "[mongo]") {
  Faulty faulty(kMongoReplicaSet);
  const FailPoint point(
      faulty.server, "failCommand", kOnce,
      faulty.command_failure(R"("errorCode": 189, "errorLabels": ["RetryableWriteError"])"));
  faulty.lease(Kind::granted);
  REQUIRE(faulty.outcome.begin == 11);
}

TEST_CASE("MongoFaults: a harmless error after a lost reply does not prove anything", "[mongo]") {
  // The first attempt may have been applied; that the second was turned away says nothing of it.
  Faulty faulty(kMongoReplicaSet);
  const FailPoint lost(faulty.server, "onPrimaryTransactionalWrite", kOnce,
                       R"({"closeConnection": true})");
  const FailPoint refusal(faulty.server, "failCommand", R"({"skip": 1})",
                          faulty.command_failure(R"("errorCode": 10107)"));
  faulty.lease(Kind::unknown);
  REQUIRE(faulty.value() == 20);
}

TEST_CASE("MongoFaults: without the driver's repeat a lost reply is unknown though applied",
          "[mongo]") {
  Faulty faulty(kMongoReplicaSet, "retryWrites=false");
  const FailPoint point(faulty.server, "failCommand", kOnce,
                        faulty.command_failure(R"("closeConnection": true)"));
  faulty.lease(Kind::unknown);
}

TEST_CASE("MongoFaults: losing the insert of our own key is tried again, at most five times",
          "[mongo]") {
  MongoServer server(kMongoAlone);
  MongoStoreOptions options = server.options();
  const std::string name = "upsert-" + server.database();
  options.uri = with_uri_option(options.uri, "appName=" + name);
  auto store = open_mongo_store(options);
  const auto failure = [&](const std::string& key) {
    return fmt::format(R"({{"failCommands": ["findAndModify"], "appName": "{}", "errorCode": 11000,
      "errorExtraInfo": {{"keyPattern": {{"_id": 1}}, "keyValue": {{"_id": "{}"}}}}}})",
                       name, key);
  };
  // The first findAndModify finds nothing, the second is the upsert; skip reaches it.
  {
    const FailPoint point(server, "failCommand", R"({"skip": 1})", failure("other"));
    const LeaseOutcome outcome = store->lease(lease_request("orders", 10));
    INFO(outcome.error.to_string());
    REQUIRE(outcome.kind == Kind::refused);
    REQUIRE(outcome.error.code() == ErrorCode::STORE_REFUSED);
  }
  {
    // Every findAndModify fails: the lease itself, which never inserts, is not retried.
    const FailPoint point(server, "failCommand", kAlways, failure("orders"));
    const LeaseOutcome outcome = store->lease(lease_request("orders", 10));
    REQUIRE(outcome.kind == Kind::refused);
    REQUIRE(outcome.error.code() == ErrorCode::STORE_REFUSED);
  }
  REQUIRE(server.count("counters") == 0);
  const LeaseOutcome outcome = store->lease(lease_request("orders", 10));
  REQUIRE(outcome.kind == Kind::granted);
}

TEST_CASE("MongoFaults: a claim whose outcome is unknown is an error and can be repeated",
          "[mongo]") {
  Faulty faulty(kMongoAlone);
  const ClaimRequest claim = {
      .instance = testing::random_token(), .epoch = 0, .nonce = testing::random_token()};
  {
    const FailPoint point(faulty.server, "failCommand", kOnce,
                          faulty.command_failure(R"("closeConnection": true)"));
    REQUIRE(faulty.store->claim(claim).status().code() == ErrorCode::UNAVAILABLE);
  }
  auto outcome = faulty.store->claim(claim);
  REQUIRE(outcome.ok());
  REQUIRE(*outcome == ClaimOutcome::won);
}

}  // namespace
}  // namespace seqd
