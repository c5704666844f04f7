#include "daemon/store/mongo/documents/mongo_lease_sweep.h"

#include <fmt/format.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "daemon/store/mongo/mongo_store.h"
#include "daemon/store/worker_store.h"
#include "tests/adapters/mongo/mongo_server.h"
#include "tests/adapters/mongo/mongo_stores.h"
#include "tests/adapters/store_fixtures.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;

constexpr char kOldDate[] = "2001-09-09T01:46:40Z";
constexpr char kNewDate[] = "2101-09-09T01:46:40Z";

Token instance(int number) {
  Token token{};
  token[0] = static_cast<std::uint8_t>(number);
  token[1] = static_cast<std::uint8_t>(number >> 8);
  return token;
}

// A record as seqd writes it, of `number`'s sequence "orders".
std::string record(const char* date) {
  return fmt::format(
      R"("token": {{"$binary": {{"base64": "AAAAAAAAAAAAAAAAAAAAAA==", "subType": "00"}}}},
         "state": "granted", "begin": {{"$numberLong": "1"}}, "end": {{"$numberLong": "2"}},
         "at": {{"$date": "{}"}})",
      date);
}

std::string slot(int number) {
  return to_hex(instance(number)) + ":orders";
}

OpenMongoStore open_store(const MongoServer& server, const LeaseRequest& request) {
  auto store = open_mongo_store(server);
  for (const Token& each : {instance(1), request.instance}) {
    REQUIRE(store->claim({.instance = each, .epoch = 0, .nonce = request.token}).ok());
  }
  return store;
}

// The lease that a swept record belonged to.
LeaseRequest swept_lease(LeaseTrace trace) {
  LeaseRequest request = lease_request("orders", 1, trace);
  request.instance = instance(1);
  return request;
}

TEST_CASE("MongoLeaseSweep: a first lease takes old records out of the ledger, and no newer ones",
          "[mongo]") {
  MongoServer server(kMongoReplicaSet);
  const LeaseRequest request =
      lease_request("orders", 10, GENERATE(LeaseTrace::transaction, LeaseTrace::session));
  auto store = open_store(server, request);
  for (int i = 1; i <= 3; ++i) {
    server.insert("seqd_leases", fmt::format(R"({{"_id": "{}", {}}})", slot(i),
                                             record(i < 3 ? kOldDate : kNewDate)));
  }
  REQUIRE_FALSE(store->has_chores());
  REQUIRE(store->lease(request).begin == 1);
  // The lease does not wait for it.
  REQUIRE(server.count("seqd_leases") == 4);
  REQUIRE(store->has_chores());
  store->do_chores();
  REQUIRE_FALSE(store->has_chores());
  REQUIRE(server.count("seqd_leases") == 2);  // the newer one, and ours
  const Document indexes = server.command(R"({"listIndexes": "seqd_leases"})");
  bson_iter_t found;
  REQUIRE(find_field(indexes.get(), "cursor.firstBatch.1.key.at", &found));
  REQUIRE(server.find("seqd_leases", R"({"_id": ")" + slot(1) + R"("})").empty());
  // Whoever comes back after that long learns that nothing is known, not that nothing was applied.
  REQUIRE(store->resolve(swept_lease(LeaseTrace::transaction)).kind ==
          Resolution::Kind::untraceable);
}

TEST_CASE("MongoLeaseSweep: a first lease takes old slots out of the counter, and no newer ones",
          "[mongo]") {
  MongoServer server(kMongoAlone);
  const LeaseRequest request = lease_request("orders", 10, LeaseTrace::slot);
  auto store = open_store(server, request);
  server.put(
      "counters", "orders",
      fmt::format(R"({{"seq": {{"$numberLong": "0"}}, "seqd": {{"meaning": "last", "slots": {{
                              "{}": {{{}}}, "{}": {{{}}}, "theirs": 7}}}}}})",
                  slot(1), record(kOldDate), slot(2), record(kNewDate)));
  REQUIRE(store->lease(request).begin == 1);
  REQUIRE(server.find("counters", "{}").find(slot(1)) != std::string::npos);
  store->do_chores();
  const std::string document = server.find("counters", "{}");
  INFO(document);
  REQUIRE(document.find(slot(1)) == std::string::npos);
  REQUIRE(document.find(slot(2)) != std::string::npos);
  REQUIRE(document.find("theirs") != std::string::npos);
  REQUIRE(store->resolve(swept_lease(LeaseTrace::slot)).kind == Resolution::Kind::untraceable);
}

TEST_CASE("MongoLeaseSweep: a counter's slots do not become more than the limit", "[mongo]") {
  MongoServer server(kMongoAlone);
  const LeaseRequest request = lease_request("orders", 10, LeaseTrace::slot);
  auto store = open_store(server, request);
  std::string slots;
  const int most = static_cast<int>(MongoLeaseSweep::kMostSlots);
  for (int i = 1; i <= most; ++i) {
    slots += fmt::format(R"({}"{}": {{{}}})", i == 1 ? "" : ", ", slot(i), record(kNewDate));
  }
  server.put("counters", "orders",
             fmt::format(R"({{"seq": {{"$numberLong": "0"}},
                              "seqd": {{"meaning": "last", "slots": {{{}}}}}}})",
                         slots));
  REQUIRE(store->lease(request).begin == 1);
  store->do_chores();
  const Document reply = server.command(
      R"({"aggregate": "counters", "cursor": {}, "pipeline": [{"$project":
          {"slots": {"$size": {"$objectToArray": "$seqd.slots"}}}}]})");
  bson_iter_t found;
  REQUIRE(find_field(reply.get(), "cursor.firstBatch.0.slots", &found));
  REQUIRE(bson_iter_as_int64(&found) == most);
}

// Runs a job when the test says so.
class SteppedWorker final : public Worker {
 public:
  void submit(std::function<void()> job, std::function<void()> done) override {
    jobs.emplace_back(std::move(job), std::move(done));
  }
  void turn() {
    REQUIRE_FALSE(jobs.empty());
    auto [job, done] = std::move(jobs.front());
    jobs.pop_front();
    job();
    done();
  }
  std::deque<std::pair<std::function<void()>, std::function<void()>>> jobs;
};

TEST_CASE("MongoLeaseSweep: the answer of a lease is not held back by the sweep", "[mongo]") {
  MongoServer server(kMongoReplicaSet);
  const LeaseRequest request = lease_request("orders", 10, LeaseTrace::session);
  std::shared_ptr<BlockingStore> blocking;
  {
    auto opened = MongoStore::open(testing::mongo_driver(), server.options());
    REQUIRE(opened.ok());
    blocking = std::move(*opened);
  }
  REQUIRE(blocking->claim({.instance = instance(1), .epoch = 0, .nonce = request.token}).ok());
  server.insert("seqd_leases", fmt::format(R"({{"_id": "{}", {}}})", slot(1), record(kOldDate)));
  SteppedWorker worker;
  WorkerStore store(blocking, worker, worker);
  std::int64_t end = 0;
  store.lease(request, [&end](const LeaseOutcome& outcome) { end = outcome.end; });
  worker.turn();
  REQUIRE(end == 11);
  REQUIRE(server.count("seqd_leases") == 2);
  worker.turn();
  REQUIRE(server.count("seqd_leases") == 1);
  REQUIRE(worker.jobs.empty());
}

}  // namespace
}  // namespace seqd
