// Collections whose validator refuses a lease: because of the field that would trace it, or for
// another reason. Real servers.
#include <string>

#include "tests/adapters/mongo/mongo_server.h"
#include "tests/adapters/mongo/mongo_stores.h"
#include "tests/adapters/store_fixtures.h"
#include "tests/unit/seeded_random.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;
using Kind = LeaseOutcome::Kind;

// A counter that stands at 41, in a collection of its own kind.
void put_counter(MongoServer& server, const std::string& validator) {
  server.put("counters", "orders", R"({"seq": {"$numberInt": "41"}})");
  server.command(R"({"collMod": "counters", "validator": )" + validator + "}");
}

constexpr char kNoOtherField[] = R"({"$jsonSchema": {"bsonType": "object",
    "properties": {"_id": {}, "seq": {}}, "additionalProperties": false}})";

TEST_CASE("MongoLeaseMode: a collection that takes no further field is leased from in plain mode",
          "[mongo]") {
  SeededRandom random(1);
  const LeaseModeOption mode = GENERATE(LeaseModeOption::automatic, LeaseModeOption::slot);
  MongoServer server(kMongoAlone);
  put_counter(server, kNoOtherField);
  auto store = open_mongo_store(server, mode);
  LeaseRequest request = lease_request("orders", 10);
  request.binding.meaning = Meaning::last;
  request.token = store->new_token(random, request.binding);
  const LeaseOutcome outcome = store->lease(request);
  REQUIRE(outcome.kind == Kind::refused);
  REQUIRE(outcome.error.code() == (mode == LeaseModeOption::slot
                                       ? ErrorCode::STORE_REFUSED
                                       : ErrorCode::UNAVAILABLE));  // who waits goes on waiting
  REQUIRE(outcome.error.text().find("lease_mode = \"plain\"") != std::string::npos);
  REQUIRE(server.number("counters", "orders", "seq") == 41);
  request.token = store->new_token(random, request.binding);
  const LeaseOutcome second = store->lease(request);
  if (mode == LeaseModeOption::slot) {
    REQUIRE(second.kind == Kind::refused);
    return;
  }
  REQUIRE(second.begin == 42);
  REQUIRE(trace_of(request.token) == LeaseTrace::plain);
  REQUIRE(store->lease_mode().word == "slot");
  REQUIRE(store->lease_mode().reason.find("no further field") != std::string::npos);
}

TEST_CASE("MongoLeaseMode: what the validator of one collection refuses makes no other plain",
          "[mongo]") {
  SeededRandom random(1);
  MongoServer server(kMongoAlone);
  put_counter(server, kNoOtherField);
  auto store = open_mongo_store(server, LeaseModeOption::automatic);
  LeaseRequest strict = lease_request("orders", 10);
  strict.binding.meaning = Meaning::last;
  for (const Kind kind : {Kind::refused, Kind::granted}) {
    strict.token = store->new_token(random, strict.binding);
    REQUIRE(store->lease(strict).kind == kind);
  }
  REQUIRE(trace_of(strict.token) == LeaseTrace::plain);
  LeaseRequest free = lease_request("tickets", 10);
  free.binding.collection = "others";
  free.token = store->new_token(random, free.binding);
  CHECK(trace_of(free.token) == LeaseTrace::slot);
  CHECK(store->lease(free).kind == Kind::granted);
  CHECK(store->resolve(free).kind == Resolution::Kind::granted);
  CHECK(store->lease_mode().word == "slot");
  CHECK(store->lease_mode().reason.find("counters") != std::string::npos);
  strict.token = store->new_token(random, strict.binding);
  CHECK(trace_of(strict.token) == LeaseTrace::plain);
}

TEST_CASE("MongoLeaseMode: a validator that refuses the number makes no collection plain",
          "[mongo]") {
  SeededRandom random(1);
  MongoServer server(kMongoAlone);
  put_counter(server, R"({"seq": {"$lt": 50}})");
  auto store = open_mongo_store(server, LeaseModeOption::automatic);
  LeaseRequest request = lease_request("orders", 10);
  request.binding.meaning = Meaning::last;
  LeaseOutcome outcome;
  for (int tried = 0; tried < 2; ++tried) {
    request.token = store->new_token(random, request.binding);
    outcome = store->lease(request);
    INFO(outcome.error.to_string());
    REQUIRE(outcome.kind == Kind::refused);
  }
  CHECK(error_name(outcome.error.code()) == error_name(ErrorCode::STORE_REFUSED));
  server.command(R"({"collMod": "counters", "validator": {}})");
  request.token = store->new_token(random, request.binding);
  CHECK(trace_of(request.token) == LeaseTrace::slot);
  CHECK(store->lease(request).begin == 42);
  CHECK(store->lease_mode().word == "slot");
  CHECK(store->lease_mode().reason.find("counters") == std::string::npos);
}

}  // namespace
}  // namespace seqd
