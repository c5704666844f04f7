// What a lease says when the server fails in the middle of it, by the server's own fail points. The
// rule under test: `granted` only when confirmed, `refused` only when nothing was applied.
#include <fmt/format.h>
#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/adapters/in_time.h"
#include "tests/adapters/mongo_server.h"
#include "tests/adapters/mongo_stores.h"
#include "tests/adapters/store_fixtures.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;
using Kind = LeaseOutcome::Kind;

// A server, and a store on it that only the fail points of its own name reach. It is set up with a
// time-out that a busy machine keeps; the one of the test counts from reopen().
struct Faulty {
  explicit Faulty(const char* variable, const std::string& uri_option = "")
      : server(variable), name("faulty-" + server.database()), options(server.options()) {
    options.uri = with_uri_option(options.uri, "appName=" + name);
    if (!uri_option.empty()) options.uri += "&" + uri_option;
    reopen();
    lease(Kind::granted);
  }

  void reopen(int timeout_ms = kPatientMs) {
    options.timeout_ms = timeout_ms;
    store = open_mongo_store(options);
  }

  // Until its connection stands: what follows is one command and its answer.
  void connect() {
    const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(300);
    while (!store->read({.binding = lease_request("orders", 1).binding, .instance = {}}).ok())
      REQUIRE_IN_TIME(std::chrono::steady_clock::now() < late);
  }

  // One lease of 10 IDs; returns its error's code.
  ErrorCode lease(Kind expected) {
    LeaseRequest request = lease_request("orders", 10);
    request.high_water = high_water;
    outcome = store->lease(request);
    INFO(outcome.error.to_string());
    REQUIRE(static_cast<int>(outcome.kind) == static_cast<int>(expected));
    if (outcome.kind == Kind::granted) high_water = outcome.end;
    return outcome.error.code();
  }

  std::int64_t value() { return server.number("counters", "orders", "seq"); }

  std::string command_failure(const std::string& what) const {
    return fmt::format(R"({{"failCommands": ["findAndModify"], "appName": "{}", {}}})", name, what);
  }

  MongoServer server;
  std::string name;
  MongoStoreOptions options;
  OpenMongoStore store;
  std::int64_t high_water = 0;
  LeaseOutcome outcome;
};

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

TEST_CASE("MongoFaults: a write that no majority confirms is unknown", "[mongo]") {
  Faulty faulty(kMongoReplicaSet);
  faulty.reopen(1000);
  // Both secondaries stop: the real thing, seen from the primary as a time-out of its write
  // concern.
  std::vector<pid_t> stopped;
  const std::string seeds = faulty.server.uri();
  const std::string hosts = seeds.substr(10, seeds.find('/', 10) - 10);
  for (std::size_t begin = 0; begin < hosts.size();) {
    const std::size_t end = std::min(hosts.find(',', begin), hosts.size());
    mongoc_client_t* client = mongoc_client_new(
        ("mongodb://" + hosts.substr(begin, end - begin) + "/?directConnection=true").c_str());
    const std::unique_ptr<mongoc_read_prefs_t, void (*)(mongoc_read_prefs_t*)> any(
        mongoc_read_prefs_new(MONGOC_READ_NEAREST), mongoc_read_prefs_destroy);
    bson_t reply;
    bson_error_t error;
    for (const char* command : {"hello", "serverStatus"}) {
      Document request;
      request.add(command, std::int64_t{1});
      REQUIRE(
          mongoc_client_command_simple(client, "admin", request.get(), any.get(), &reply, &error));
      bson_iter_t found;
      if (std::string(command) == "hello") {
        REQUIRE(find_field(&reply, "isWritablePrimary", &found));
        if (bson_iter_bool(&found)) {
          bson_destroy(&reply);
          break;
        }
      } else {
        REQUIRE(find_field(&reply, "pid", &found));
        stopped.push_back(static_cast<pid_t>(bson_iter_as_int64(&found)));
      }
      bson_destroy(&reply);
    }
    mongoc_client_destroy(client);
    begin = end + 1;
  }
  REQUIRE(stopped.size() == 2);
  faulty.connect();
  for (const pid_t pid : stopped) kill(pid, SIGSTOP);
  LeaseRequest request = lease_request("orders", 10);
  request.high_water = faulty.high_water;
  const LeaseOutcome outcome = faulty.store->lease(request);
  for (const pid_t pid : stopped) kill(pid, SIGCONT);
  INFO(outcome.error.to_string());
  REQUIRE(outcome.kind == Kind::unknown);
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

TEST_CASE("MongoFaults: an error raised before the write is refused and moves nothing", "[mongo]") {
  const int code = GENERATE(2, 13, 18, 10107, 13435);
  const ErrorCode expected =
      code == 10107 || code == 13435 ? ErrorCode::UNAVAILABLE : ErrorCode::STORE_REFUSED;
  Faulty faulty(kMongoAlone);
  {
    const FailPoint point(faulty.server, "failCommand", kOnce,
                          faulty.command_failure(fmt::format(R"("errorCode": {})", code)));
    REQUIRE(error_name(faulty.lease(Kind::refused)) == error_name(expected));
  }
  REQUIRE(faulty.value() == 10);
}

TEST_CASE("MongoFaults: an error that may follow the write is unknown", "[mongo]") {
  const int code = GENERATE(91, 189, 11600, 11602, 50, 8000, 1);
  Faulty faulty(kMongoAlone);
  const FailPoint point(faulty.server, "failCommand", kOnce,
                        faulty.command_failure(fmt::format(R"("errorCode": {})", code)));
  faulty.lease(Kind::unknown);
}

TEST_CASE("MongoFaults: an error that passes by itself is UNAVAILABLE, and any other is not",
          "[mongo]") {
  // The last is one that says it by a label only.
  const int listed = GENERATE(107, 117, 133, 134, 175, 211, 246, 264, 290, 365, 11601, 8000, -8000);
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

// The entry of the instance, with heartbeat 1.
LeaseRequest request_with_heartbeat(Faulty& faulty, LeaseTrace trace) {
  LeaseRequest request = lease_request("orders", 10, trace);
  const auto claimed = faulty.store->claim({request.instance, 0, testing::random_token()});
  REQUIRE(claimed.ok());
  REQUIRE(*claimed == ClaimOutcome::won);
  const auto beat = faulty.store->beat({request.instance, 0, true});
  REQUIRE(beat.ok());
  REQUIRE(beat->beat == 1);
  request.heartbeat = 1;
  return request;
}

std::string failing_comparison(const Faulty& faulty, int code) {
  return fmt::format(R"({{"failCommands": ["aggregate"], "appName": "{}", "errorCode": {}}})",
                     faulty.name, code);
}

TEST_CASE("MongoFaults: a plain lease is not sent where the heartbeat cannot be compared",
          "[mongo]") {
  const int code = GENERATE(91, 13);
  Faulty faulty(kMongoReplicaSet);
  LeaseRequest request = request_with_heartbeat(faulty, LeaseTrace::plain);
  {
    const FailPoint point(faulty.server, "failCommand", kAlways, failing_comparison(faulty, code));
    const LeaseOutcome outcome = faulty.store->lease(request);
    INFO(outcome.error.to_string());
    REQUIRE(outcome.kind == Kind::refused);
    REQUIRE(error_name(outcome.error.code()) ==
            error_name(code == 91 ? ErrorCode::UNAVAILABLE : ErrorCode::STORE_REFUSED));
    REQUIRE(faulty.value() == 10);
  }
  REQUIRE(faulty.store->lease(request).begin == 11);
  // Nor to a database that is known to be older.
  request.token = testing::random_token(LeaseTrace::plain);
  request.heartbeat = 2;
  const LeaseOutcome older = faulty.store->lease(request);
  REQUIRE(older.kind == Kind::refused);
  REQUIRE(older.restored);
  REQUIRE(faulty.value() == 20);
}

TEST_CASE("MongoFaults: a comparison that failed behind a lease is made by its look-up",
          "[mongo]") {
  const LeaseTrace trace = GENERATE(LeaseTrace::ledger, LeaseTrace::session);
  Faulty faulty(kMongoReplicaSet);
  const LeaseRequest request = request_with_heartbeat(faulty, trace);
  {
    const FailPoint point(faulty.server, "failCommand", kAlways, failing_comparison(faulty, 91));
    REQUIRE(faulty.store->lease(request).kind == Kind::unknown);
    REQUIRE(faulty.value() == 20);
    const Resolution found = faulty.store->resolve(request);
    REQUIRE(found.kind == Resolution::Kind::failed);
    REQUIRE_FALSE(found.restored);
  }
  const Resolution found = faulty.store->resolve(request);
  REQUIRE(found.kind == Resolution::Kind::granted);
  REQUIRE((found.begin == 11 && found.end == 21));
}

// As servers up to 4.4 answer whose configuration says enableMajorityReadConcern: false.
TEST_CASE("MongoFaults: a server without majority reads compares, and counts what is parked",
          "[mongo]") {
  Faulty faulty(kMongoReplicaSet);
  const LeaseRequest request = request_with_heartbeat(faulty, LeaseTrace::session);
  const auto without = [&] {
    return std::make_unique<FailPoint>(faulty.server, "failCommand", kOnce,
                                       failing_comparison(faulty, 148));
  };
  {
    const auto point = without();
    const auto looked = faulty.store->beat({request.instance, 1, false});
    INFO(looked.status().to_string());
    REQUIRE(looked.ok());
    REQUIRE((looked->beat == 1 && !looked->older));
  }
  {
    const auto point = without();
    const auto older = faulty.store->beat({request.instance, 2, false});
    REQUIRE(older.ok());
    REQUIRE(older->older);
  }
  {
    const auto point = without();
    const LeaseOutcome outcome = faulty.store->lease(request);
    INFO(outcome.error.to_string());
    REQUIRE(outcome.kind == Kind::granted);
  }
  const auto point = without();
  const auto reading = faulty.store->read({.binding = request.binding, .instance = {}});
  INFO(reading.status().to_string());
  REQUIRE(reading.ok());
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

// Lets a stopped process go on when the test ends, however it ends.
struct Stopped {
  ~Stopped() {
    if (pid != 0) kill(pid, SIGCONT);
  }
  pid_t pid = 0;
};

TEST_CASE("MongoFaults: leases go on after the primary is gone, without a duplicate", "[mongo]") {
  Faulty faulty(kMongoReplicaSet);
  faulty.reopen(2000);
  const std::string how = GENERATE("step down", "kill", "stop");
  INFO(how);
  Stopped stopped;
  if (how == "step down") {
    faulty.server.admin(R"({"replSetStepDown": 2, "force": true})");
  } else {
    const Document status = faulty.server.admin(R"({"serverStatus": 1})");
    bson_iter_t found;
    REQUIRE(find_field(status.get(), "pid", &found));
    const auto pid = static_cast<pid_t>(bson_iter_as_int64(&found));
    if (how == "stop") stopped.pid = pid;
    kill(pid, how == "stop" ? SIGSTOP : SIGKILL);  // with_mongo.py starts a killed one again
  }
  std::int64_t highest = faulty.high_water;
  int granted = 0;
  for (int attempt = 0; attempt < 100 && granted < 5; ++attempt) {
    LeaseRequest request = lease_request("orders", 10);
    request.high_water = highest;
    const LeaseOutcome outcome = faulty.store->lease(request);
    if (outcome.kind != Kind::granted) {
      INFO(outcome.error.to_string());
      REQUIRE(outcome.error.code() == ErrorCode::UNAVAILABLE);
      continue;
    }
    REQUIRE(outcome.begin >= highest);
    highest = outcome.end;
    ++granted;
  }
  REQUIRE(granted == 5);
}

TEST_CASE("MongoFaults: a server that is away is refused within the time-out", "[mongo]") {
  MongoStoreOptions options;
  options.uri = "mongodb://127.0.0.1:1/test";
  options.timeout_ms = 300;
  auto store = open_mongo_store(options);
  const auto began = std::chrono::steady_clock::now();
  const LeaseOutcome outcome = store->lease(lease_request("orders", 10));
  // Thirty seconds are the driver's own patience.
  REQUIRE_IN_TIME(std::chrono::steady_clock::now() - began < std::chrono::seconds(25));
  REQUIRE(outcome.kind == Kind::refused);
  REQUIRE(outcome.error.code() == ErrorCode::UNAVAILABLE);
  INFO(outcome.error.text());
  REQUIRE(outcome.error.text().find("127.0.0.1:1") != std::string::npos);
}

// The store's answer to a changed URI of the server with TLS and authentication.
LeaseOutcome secure_lease(MongoServer& server, const std::string& uri,
                          int timeout_ms = kPatientMs) {
  MongoStoreOptions options = server.options();
  options.uri = uri;
  options.timeout_ms = timeout_ms;
  auto store = open_mongo_store(options);
  return store->lease(lease_request("orders", 10));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t found = text.find(from);
  REQUIRE(found != std::string::npos);
  return text.replace(found, from.size(), to);
}

TEST_CASE("MongoFaults: TLS and authentication by URI are granted, and failures name their cause",
          "[mongo]") {
  MongoServer server(kMongoSecure);
  const std::string uri = server.uri();
  LeaseOutcome outcome = secure_lease(server, uri);
  INFO(outcome.error.to_string());
  REQUIRE(outcome.kind == Kind::granted);

  outcome = secure_lease(server, replaced(uri, "rd%25@", "rd%25wrong@"));
  REQUIRE(outcome.kind == Kind::refused);
  REQUIRE(outcome.error.code() == ErrorCode::STORE_REFUSED);
  REQUIRE(outcome.error.text().find("Authentication failed") != std::string::npos);
  REQUIRE(outcome.error.text().find("w@rd") == std::string::npos);

  const std::string at = uri.substr(10, uri.find('@') - 10);
  outcome = secure_lease(server, replaced(uri, at, "reader:reader"));
  REQUIRE(outcome.kind == Kind::refused);
  REQUIRE(outcome.error.code() == ErrorCode::STORE_REFUSED);
  REQUIRE(outcome.error.text().find("readWrite") != std::string::npos);

  outcome = secure_lease(server, replaced(uri, "authority.pem", "stranger.pem"), 2000);
  REQUIRE(outcome.kind == Kind::refused);
  REQUIRE(outcome.error.code() == ErrorCode::UNAVAILABLE);
  INFO(outcome.error.text());
  REQUIRE(outcome.error.text().find("TLS") != std::string::npos);
}

}  // namespace
}  // namespace seqd
