// Counters that begin above what another collection holds, on a real server.
#include "daemon/store/mongo/documents/mongo_seed.h"

#include <string>
#include <thread>
#include <vector>

#include "tests/adapters/mongo/mongo_server.h"
#include "tests/adapters/mongo/mongo_stores.h"
#include "tests/adapters/store_fixtures.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;
using Kind = LeaseOutcome::Kind;

LeaseRequest seeded(const std::string& field = "number") {
  LeaseRequest request = lease_request("orders", 10);
  request.binding.seed_collection = "invoices";
  request.binding.seed_field = field;
  return request;
}

TEST_CASE("MongoSeed: a new counter begins above the highest number of the collection", "[mongo]") {
  for (const char* kind : {kMongoAlone, kMongoReplicaSet}) {
    MongoServer server(kind);
    auto store = open_mongo_store(server);
    server.put("invoices", "a", R"({"number": 41})");
    server.put("invoices", "b", R"({"number": 4711.0})");
    server.put("invoices", "c", R"({"number": null})");
    server.put("invoices", "d", R"({"other": 1000000})");
    const LeaseOutcome first = store->lease(seeded());
    REQUIRE(first.kind == Kind::granted);
    CHECK(first.begin == 4'712);
    // Once it is there, nothing else counts.
    server.put("invoices", "e", R"({"number": 9000})");
    CHECK(store->lease(seeded()).begin == 4'722);
  }
}

TEST_CASE("MongoSeed: an empty collection, none, and numbers below leave first_id", "[mongo]") {
  MongoServer server(kMongoAlone);
  auto store = open_mongo_store(server);
  LeaseRequest request = seeded();
  request.binding.first_id = 500;
  CHECK(store->lease(request).begin == 500);
  server.put("invoices", "a", R"({"number": -7})");
  request.binding.key = "more";
  CHECK(store->lease(request).begin == 500);
}

TEST_CASE("MongoSeed: the key of the documents, and fields of fields, can be what counts",
          "[mongo]") {
  MongoServer server(kMongoAlone);
  auto store = open_mongo_store(server);
  server.put("invoices", "a", R"({"head": {"number": {"$numberLong": "9007199254740993"}}})");
  LeaseRequest request = seeded("head.number");
  request.max_value = INT64_MAX - 1;
  CHECK(store->lease(request).begin == 9'007'199'254'740'994);
  request = seeded("");
  request.binding.key = "by-id";
  const LeaseOutcome text = store->lease(request);
  CHECK(text.kind == Kind::refused);
  CHECK(text.error.code() == ErrorCode::SEQ_TYPE);
  CHECK(text.error.text().find("the highest value of _id is a string") != std::string::npos);
}

TEST_CASE("MongoSeed: what is no integer refuses the lease and makes no counter", "[mongo]") {
  for (const char* wrong :
       {R"({"number": "12"})", R"({"number": 12.5})", R"({"number": {"$numberDecimal": "12"}})",
        R"({"number": true})", R"({"number": {"$numberLong": "9223372036854775807"}})"}) {
    CAPTURE(wrong);
    MongoServer server(kMongoAlone);
    auto store = open_mongo_store(server);
    server.put("invoices", "a", R"({"number": 3})");
    server.put("invoices", "b", wrong);
    const LeaseOutcome outcome = store->lease(seeded());
    CHECK(outcome.kind == Kind::refused);
    CHECK(outcome.error.code() == ErrorCode::SEQ_TYPE);
    const auto reading = store->read({seeded().binding, {}});
    REQUIRE(reading.ok());
    CHECK_FALSE(reading->exists);
  }
}

TEST_CASE("MongoSeed: an advance that makes the counter does not go below the seed", "[mongo]") {
  MongoServer server(kMongoAlone);
  auto store = open_mongo_store(server);
  server.put("invoices", "a", R"({"number": 700})");
  AdvanceRequest request{.binding = seeded().binding, .next_id = 5};
  CHECK(store->advance(request).value() == 701);
  request.binding.key = "more";
  request.next_id = 2'000;
  CHECK(store->advance(request).value() == 2'000);
}

TEST_CASE("MongoSeed: a look-up that makes the counter makes it above the seed", "[mongo]") {
  MongoServer server(kMongoReplicaSet);
  auto store = open_mongo_store(server, LeaseModeOption::slot);
  server.put("invoices", "a", R"({"number": 700})");
  LeaseRequest request = seeded();
  request.token = testing::random_token(LeaseTrace::slot);
  REQUIRE(*store->claim({.instance = request.instance, .epoch = 0, .nonce = request.token}) ==
          ClaimOutcome::won);
  // The request never arrived.
  REQUIRE(store->resolve(request).kind == Resolution::Kind::absent);
  request.token = testing::random_token(LeaseTrace::slot);
  CHECK(store->lease(request).begin == 701);
}

TEST_CASE("MongoSeed: a look-up makes no counter where the seed is none", "[mongo]") {
  MongoServer server(kMongoReplicaSet);
  auto store = open_mongo_store(server, LeaseModeOption::slot);
  server.put("invoices", "a", R"({"number": "12"})");
  LeaseRequest request = seeded();
  request.token = testing::random_token(LeaseTrace::slot);
  REQUIRE(*store->claim({.instance = request.instance, .epoch = 0, .nonce = request.token}) ==
          ClaimOutcome::won);
  const Resolution refused = store->resolve(request);
  CHECK(refused.kind == Resolution::Kind::failed);
  CHECK(refused.error.code() == ErrorCode::SEQ_TYPE);
  CHECK(server.count("counters") == 0);
  server.put("invoices", "a", R"({"number": 12})");
  CHECK(store->resolve(request).kind == Resolution::Kind::absent);
  request.token = testing::random_token(LeaseTrace::slot);
  CHECK(store->lease(request).begin == 13);
}

TEST_CASE("MongoSeed: daemons that make the counter at once share one", "[mongo]") {
  MongoServer server(kMongoReplicaSet);
  server.put("invoices", "a", R"({"number": 99})");
  std::vector<LeaseOutcome> outcomes(6);
  std::vector<OpenMongoStore> stores;
  while (stores.size() < outcomes.size()) stores.push_back(open_mongo_store(server));
  std::vector<std::thread> threads;
  for (std::size_t at = 0; at < outcomes.size(); ++at) {
    threads.emplace_back([&store = *stores[at], &outcome = outcomes[at]] {
      do {
        outcome = store.lease(seeded());
      } while (outcome.kind == Kind::refused && outcome.error.code() == ErrorCode::UNAVAILABLE);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<std::int64_t> begins;
  for (const LeaseOutcome& outcome : outcomes) {
    REQUIRE(outcome.kind == Kind::granted);
    begins.push_back(outcome.begin);
  }
  std::sort(begins.begin(), begins.end());
  for (std::size_t at = 0; at < begins.size(); ++at)
    CHECK(begins[at] == 100 + 10 * static_cast<std::int64_t>(at));
}

}  // namespace
}  // namespace seqd
