// The numbers that other programs leave in a counter: every type is leased exactly or refused by
// name, and a double is no hindrance.
#include <fmt/format.h>

#include <string>

#include "daemon/store/mongo/documents/mongo_binding.h"
#include "tests/adapters/mongo/mongo_server.h"
#include "tests/adapters/mongo/mongo_stores.h"
#include "tests/adapters/store_fixtures.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;
using Kind = LeaseOutcome::Kind;

struct TypeCase {
  const char* json;        // of the field; "" for no such field
  std::int64_t begin;      // of the lease; 0: refused with SEQ_TYPE
  const char* named = "";  // what the error calls it
};

// Every type a counter may be found as. 1e300 and the like are doubles.
const TypeCase kTypes[] = {
    {R"({"$numberInt": "0"})", 1},
    {R"({"$numberInt": "41"})", 42},
    {R"({"$numberInt": "2147483640"})", 2147483641},
    {R"({"$numberInt": "-1"})", 0, "-1"},
    {R"({"$numberLong": "0"})", 1},
    {R"({"$numberLong": "41"})", 42},
    {R"({"$numberLong": "9007199254740980"})", 9007199254740981},
    {R"({"$numberLong": "-9223372036854775808"})", 0, "-9223372036854775808"},
    {R"({"$numberDouble": "41.0"})", 42},
    {R"({"$numberDouble": "-0.0"})", 1},
    {R"({"$numberDouble": "9007199254740980"})", 9007199254740981},
    {R"({"$numberDouble": "-5.0"})", 0, "-5"},
    {R"({"$numberDouble": "41.5"})", 0, "fraction"},
    {R"({"$numberDouble": "1e300"})", 0, "2^53"},
    {R"({"$numberDouble": "NaN"})", 0, "NaN"},
    {R"({"$numberDouble": "Infinity"})", 0, "infinite"},
    {R"({"$numberDouble": "-Infinity"})", 0, "infinite"},
    {R"({"$numberDecimal": "41"})", 0, "decimal128"},
    {R"("41")", 0, "string"},
    {R"("")", 0, "string"},
    {"null", 0, "null"},
    {"true", 0, "boolean"},
    {"[]", 0, "array"},
    {"[41]", 0, "array"},
    {"{}", 0, "document"},
    {R"({"n": 41})", 0, "document"},
    {R"({"$date": {"$numberLong": "41"}})", 0, "date"},
    {R"({"$oid": "5f5f5f5f5f5f5f5f5f5f5f5f"})", 0, "ObjectId"},
    {R"({"$binary": {"base64": "KQ==", "subType": "00"}})", 0, "binary"},
    {R"({"$timestamp": {"t": 41, "i": 1}})", 0, "timestamp"},
    {R"({"$regularExpression": {"pattern": "4", "options": ""}})", 0, "regular expression"},
    {R"({"$minKey": 1})", 0, "MinKey"},
    {R"({"$maxKey": 1})", 0, "MaxKey"},
    {R"({"$code": "41"})", 0, "JavaScript"},
    {"", 0, "no such field"},
};

TEST_CASE(
    "MongoNumbers: every type of number is leased exactly, or refused by name and left as it is",
    "[mongo]") {
  const LeaseTrace trace =
      GENERATE(LeaseTrace::plain, LeaseTrace::slot, LeaseTrace::transaction, LeaseTrace::session);
  INFO(lease_trace_word(trace));
  MongoServer server(is_in_ledger(trace) ? kMongoReplicaSet : kMongoAlone);
  auto store = open_mongo_store(server);
  for (const TypeCase& type : kTypes) {
    INFO("the field is " << type.json);
    const std::string field =
        *type.json == '\0' ? std::string() : fmt::format(R"("seq": {}, )", type.json);
    server.put("counters", "orders", fmt::format(R"({{{}"__v": {{"$numberInt": "0"}}}})", field));
    const std::string before = server.find("counters", R"({"_id": "orders"})");
    LeaseRequest request = last_request("orders", 10);
    request.token = testing::random_token(trace);
    const LeaseOutcome outcome = store->lease(request);
    INFO(outcome.error.to_string());
    if (type.begin > 0) {
      REQUIRE(outcome.kind == Kind::granted);
      REQUIRE(outcome.begin == type.begin);
      REQUIRE(outcome.end == type.begin + 10);
      REQUIRE(server.number("counters", "orders", "seq") == type.begin + 9);
      REQUIRE(server.number("counters", "orders", "__v") == 0);
    } else {
      REQUIRE(outcome.kind == Kind::refused);
      REQUIRE(outcome.error.code() == ErrorCode::SEQ_TYPE);
      for (const std::string& part : {std::string(type.named), server.database() + ".counters",
                                      std::string("orders"), std::string("field seq")}) {
        REQUIRE(outcome.error.text().find(part) != std::string::npos);
      }
      REQUIRE(server.find("counters", R"({"_id": "orders"})") == before);
    }
  }
}

TEST_CASE("MongoNumbers: what a lease takes for a whole number is one, of whatever type",
          "[mongo]") {
  MongoServer server(kMongoAlone);
  const auto holds = [&server](const std::string& field) {
    const Document filter = std::move(Document().add("$expr", whole_number(field)));
    char* json = bson_as_canonical_extended_json(filter.get(), nullptr);
    const bool found = !server.find("counters", json).empty();
    bson_free(json);
    return found;
  };
  for (const TypeCase& type : kTypes) {
    INFO("the field is " << type.json);
    server.put("counters", "orders",
               *type.json == '\0' ? "{}" : fmt::format(R"({{"seq": {}}})", type.json));
    REQUIRE(holds("seq") == (type.begin > 0 || *type.named == '-'));  // below 0 is whole, too
  }
  server.put("counters", "orders", R"({"a": [{"n": 41}], "b": {"n": 41}})");
  REQUIRE_FALSE(holds("a.n"));
  REQUIRE(holds("b.n"));
}

TEST_CASE("MongoNumbers: a double that regressed or is unmarked is refused before it is converted",
          "[mongo]") {
  MongoServer server(kMongoAlone);
  auto store = open_mongo_store(server);
  server.put("counters", "orders", R"({"seq": {"$numberDouble": "41.0"}})");
  LeaseRequest request = lease_request("orders", 10);
  REQUIRE(store->lease(request).error.code() == ErrorCode::SEQ_MEANING);
  request.binding.meaning = Meaning::last;
  request.high_water = 100;
  REQUIRE(store->lease(request).error.code() == ErrorCode::SEQ_REGRESSED);
  REQUIRE(server.number("counters", "orders", "seq") == -1);  // still no integer
}

TEST_CASE("MongoNumbers: an int32 counter grows past 2^31 as an int64", "[mongo]") {
  MongoServer server(kMongoReplicaSet);
  auto store = open_mongo_store(server);
  server.put("counters", "orders", R"({"seq": {"$numberInt": "2147483645"}})");
  const LeaseOutcome outcome = store->lease(last_request("orders", 10));
  REQUIRE(outcome.kind == Kind::granted);
  REQUIRE(outcome.begin == 2147483646);
  REQUIRE(server.number("counters", "orders", "seq") == 2147483655);
}

TEST_CASE("MongoNumbers: a number that others made a double takes ranges back and gives them out",
          "[mongo]") {
  const LeaseTrace trace = GENERATE(LeaseTrace::slot, LeaseTrace::transaction, LeaseTrace::session);
  const Reuse reuse = GENERATE(Reuse::tail, Reuse::parked);
  INFO(lease_trace_word(trace));
  MongoServer server(is_in_ledger(trace) ? kMongoReplicaSet : kMongoAlone);
  auto store = open_mongo_store(server);
  LeaseRequest lease = last_request("orders", 10);
  lease.token = testing::random_token(trace);
  REQUIRE(store->lease(lease).kind == Kind::granted);
  const auto make_double = [&server] {
    server.command(
        R"({"update": "counters", "updates": [{"q": {"_id": "orders"}, "u": {"$inc": {"seq": 0.0}}}]})");
    REQUIRE(server.number("counters", "orders", "seq") == -1);
  };
  make_double();
  ReturnRequest back;
  back.binding = lease.binding;
  back.token = testing::random_token(trace);
  back.instance = lease.instance;
  back.sequence = lease.sequence;
  back.begin = 4;
  back.end = 11;
  back.reuse = reuse;
  const ReturnOutcome returned = store->return_range(back);
  INFO(returned.error.to_string());
  REQUIRE(returned.kind == ReturnOutcome::Kind::returned);
  if (reuse == Reuse::parked) make_double();
  lease.token = testing::random_token(trace);
  lease.take_parked = reuse == Reuse::parked;
  lease.count = 7;
  const LeaseOutcome again = store->lease(lease);
  INFO(again.error.to_string());
  REQUIRE(again.kind == Kind::granted);
  REQUIRE(again.begin == 4);
  REQUIRE(again.end == 11);
}

}  // namespace
}  // namespace seqd
