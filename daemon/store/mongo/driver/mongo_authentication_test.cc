// A connection that ends while it authenticates says nothing of the password. A real replica set
// with authentication, behind a port that breaks.
#include "daemon/store/mongo/driver/mongo_authentication.h"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <string>

#include "tests/adapters/in_time.h"
#include "tests/adapters/mongo/mongo_front.h"
#include "tests/adapters/mongo/mongo_people.h"
#include "tests/adapters/mongo/mongo_stores.h"
#include "tests/adapters/store_fixtures.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;
using Kind = LeaseOutcome::Kind;

constexpr int kEach = 1'000'000;

OpenMongoStore store_behind(const MongoServer& server, const std::string& uri) {
  MongoStoreOptions options = server.options();
  options.uri = uri;
  return open_mongo_store(options);
}

// Until the driver has found the server again.
LeaseOutcome granted_at_last(MongoStore& store, const LeaseRequest& request) {
  const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(300);
  while (true) {
    LeaseOutcome outcome = store.lease(request);
    INFO(outcome.error.to_string());
    if (outcome.kind == Kind::granted) return outcome;
    REQUIRE(outcome.error.code() == ErrorCode::UNAVAILABLE);
    REQUIRE_IN_TIME(std::chrono::steady_clock::now() < late);
  }
}

TEST_CASE("MongoAuthentication: a connection that breaks in it is no wrong password", "[mongo]") {
  // The driver sends the first step within its hello where it can.
  const std::string step = GENERATE("speculativeAuthenticate", "saslStart", "saslContinue");
  CAPTURE(step);
  MongoServer server(kMongoReplicaSet);
  MongoFront front(server);
  if (step == "saslStart") front.leave_out("speculativeAuthenticate");
  auto store = store_behind(server, front.uri());
  front.break_at(step, kEach);
  const LeaseRequest request = lease_request("orders", 10, LeaseTrace::session);
  const LeaseOutcome outcome = store->lease(request);
  INFO(outcome.error.to_string());
  REQUIRE(outcome.kind == Kind::refused);
  CHECK(error_name(outcome.error.code()) == error_name(ErrorCode::UNAVAILABLE));
  InsertBatch batch;
  batch.collection = "people";
  batch.max_value = 1'000;
  batch.items.push_back({person("Ada"), ""});
  const InsertOutcome inserted = store->insert(batch).front();
  INFO(inserted.error.to_string());
  CHECK(inserted.kind == InsertOutcome::Kind::failed);
  CHECK(front.met(step) > 0);
  CHECK(store->lease_mode().word.empty());  // nothing was decided by it
  front.break_at(step, 0);
  CHECK(granted_at_last(*store, request).begin == 1);
  CHECK(store->lease_mode().word == "session");
}

TEST_CASE("MongoAuthentication: a server that is going away in the middle of it is no refusal",
          "[mongo]") {
  MongoServer server(kMongoReplicaSet);
  const std::string name = "auth-" + server.database();
  MongoFront front(server);
  auto store = store_behind(server, front.uri() + "&appName=" + name);
  const LeaseRequest request = lease_request("orders", 10, LeaseTrace::session);
  {
    const FailPoint point(server, "failCommand", R"("alwaysOn")",
                          fmt::format(R"({{"failCommands": ["saslStart", "saslContinue"],
                                           "appName": "{}", "errorCode": 91}})",
                                      name));
    const LeaseOutcome outcome = store->lease(request);
    INFO(outcome.error.to_string());
    REQUIRE(outcome.kind == Kind::refused);
    CHECK(error_name(outcome.error.code()) == error_name(ErrorCode::UNAVAILABLE));
  }
  CHECK(granted_at_last(*store, request).begin == 1);
}

TEST_CASE("MongoAuthentication: a wrong password is told at once, and so is an unknown user",
          "[mongo]") {
  const std::string user = GENERATE("seqd%40test:wrong@", "nobody:p%3Ass%2Fw%40rd%25@");
  MongoServer server(kMongoReplicaSet);
  MongoFront front(server);
  auto store = store_behind(server, front.uri(user));
  const LeaseOutcome outcome = store->lease(lease_request("orders", 10, LeaseTrace::session));
  INFO(outcome.error.to_string());
  REQUIRE(outcome.kind == Kind::refused);
  CHECK(error_name(outcome.error.code()) == error_name(ErrorCode::STORE_REFUSED));
  CHECK(outcome.error.text().find("check user name, password") != std::string::npos);
}

bson_error_t said(std::uint32_t domain, const char* text) {
  bson_error_t error = {};
  error.domain = domain;
  error.code = MONGOC_ERROR_CLIENT_AUTHENTICATE;
  std::strncpy(error.message, text, sizeof error.message - 1);
  return error;
}

TEST_CASE("MongoAuthentication: only known words are a refusal") {
  for (const char* text :
       {"Authentication failed.", "bad auth : authentication failed", "auth failed",
        "Unknown authentication mechanism \"X\".", "Could not find user \"a\" for db \"b\"",
        "Received authentication for mechanism SCRAM-SHA-1 which is unknown or not enabled"}) {
    INFO(text);
    CHECK(is_refused_authentication(said(MONGOC_ERROR_CLIENT, text)));
    CHECK_FALSE(is_refused_authentication(said(MONGOC_ERROR_STREAM, text)));
  }
  constexpr const char* kLost =
      "Failed to send \"saslContinue\" command with database \"admin\": Failed to read 4 bytes: "
      "socket error or timeout";
  for (const char* text :
       {kLost, "The server is in quiesce mode and will shut down", "interrupted at shutdown",
        "Could not find host matching read preference { mode: \"primary\" } for set config", ""}) {
    INFO(text);
    CHECK_FALSE(is_refused_authentication(said(MONGOC_ERROR_CLIENT, text)));
    CHECK(is_of_authentication(said(MONGOC_ERROR_CLIENT, text)));
  }
}

}  // namespace
}  // namespace seqd
