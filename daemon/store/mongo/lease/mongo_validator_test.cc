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

TEST_CASE("MongoLeaseMode: a smaller plain lease does not show what the validator meant",
          "[mongo]") {
  SeededRandom random(1);
  MongoServer server(kMongoAlone);
  put_counter(server, R"({"seq": {"$lt": 50}})");
  auto store = open_mongo_store(server, LeaseModeOption::automatic);
  LeaseRequest request = last_request("orders", 10);
  request.token = store->new_token(random, request.binding);
  REQUIRE(store->lease(request).kind == Kind::refused);  // 51
  request.count = 5;
  request.token = store->new_token(random, request.binding);
  REQUIRE(trace_of(request.token) == LeaseTrace::plain);
  REQUIRE(store->lease(request).begin == 42);
  request.count = 3;
  request.token = store->new_token(random, request.binding);
  CHECK(trace_of(request.token) == LeaseTrace::slot);
  CHECK(store->lease(request).begin == 47);
  CHECK(store->lease_mode().reason.find("counters") == std::string::npos);
}

TEST_CASE("MongoLeaseMode: two numbers of one document are tried apart", "[mongo]") {
  SeededRandom random(1);
  MongoServer server(kMongoAlone);
  put_counter(server, R"({"seq": {"$lt": 50}})");
  server.put("counters", "orders", R"({"seq": {"$numberInt": "41"}, "n": {"$numberInt": "0"}})");
  auto store = open_mongo_store(server, LeaseModeOption::automatic);
  LeaseRequest one = last_request("orders", 10);
  one.token = store->new_token(random, one.binding);
  REQUIRE(store->lease(one).kind == Kind::refused);
  LeaseRequest other = last_request("orders", 10);
  other.sequence = "invoices";
  other.binding.counter_field = "n";
  other.token = store->new_token(random, other.binding);
  CHECK(trace_of(other.token) == LeaseTrace::slot);
  CHECK(store->lease(other).begin == 1);
  CHECK(store->lease_mode().reason.find("counters") == std::string::npos);
}

// The look-up gives the lease up by a record, which the validator refuses like that of the lease.
TEST_CASE("MongoLeaseMode: a lease that is lost where no record may be written is untraceable",
          "[mongo]") {
  SeededRandom random(1);
  const LeaseModeOption mode = GENERATE(LeaseModeOption::automatic, LeaseModeOption::slot);
  MongoServer server(kMongoAlone);
  put_counter(server, kNoOtherField);
  auto store = open_mongo_store(server, mode);
  LeaseRequest lost = last_request("orders", 10);
  REQUIRE(store->claim({.instance = lost.instance, .epoch = 0, .nonce = lost.token}).ok());
  lost.token = store->new_token(random, lost.binding);
  REQUIRE(trace_of(lost.token) == LeaseTrace::slot);
  const Resolution found = store->resolve(lost);
  INFO(found.error.to_string());
  CHECK(found.kind == Resolution::Kind::untraceable);
  LeaseRequest next = lost;
  next.token = store->new_token(random, next.binding);
  // By itself the mode tries the next one plain, as after a lease that the validator has refused.
  if (mode == LeaseModeOption::slot) {
    CHECK(trace_of(next.token) == LeaseTrace::slot);
    CHECK(store->lease(next).error.code() == ErrorCode::STORE_REFUSED);
    return;
  }
  CHECK(trace_of(next.token) == LeaseTrace::plain);
  CHECK(store->lease(next).begin == 42);
  CHECK(store->lease_mode().reason.find("counters") != std::string::npos);
}

TEST_CASE("MongoLeaseMode: a return whose record the validator refuses can be given up",
          "[mongo]") {
  SeededRandom random(1);
  MongoServer server(kMongoAlone);
  put_counter(server, "{}");
  auto store = open_mongo_store(server, LeaseModeOption::automatic);
  LeaseRequest lease = last_request("orders", 10);
  REQUIRE(store->claim({.instance = lease.instance, .epoch = 0, .nonce = lease.token}).ok());
  lease.token = store->new_token(random, lease.binding);
  REQUIRE(store->lease(lease).begin == 42);
  server.command(R"({"collMod": "counters", "validator": {"seqd.slots": {"$exists": false}}})");
  ReturnRequest back;
  back.binding = lease.binding;
  back.token = store->new_token(random, lease.binding);
  back.instance = lease.instance;
  back.sequence = lease.sequence;
  back.begin = 45;
  back.end = 52;
  back.reuse = Reuse::tail;
  CHECK(store->return_range(back).kind != ReturnOutcome::Kind::returned);
  back.give_up = true;
  const ReturnOutcome outcome = store->return_range(back);
  INFO(outcome.error.to_string());
  CHECK(outcome.kind == ReturnOutcome::Kind::kept);
  CHECK(server.number("counters", "orders", "seq") == 51);
}

}  // namespace
}  // namespace seqd
