// A store with its workers, as Stores makes them: inserts hold up nothing else.
#include "daemon/main/stores.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "protocol/values/value_writer.h"
#include "tests/adapters/store_fixtures.h"
#include "tests/unit/seeded_random.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using testing::FailPoint;
using testing::kMongoReplicaSet;
using testing::MongoServer;

// A store on the replica set that only the fail points of its own name reach.
struct Workers {
  explicit Workers(const MongoServer& on) : name("stores-" + on.database()) {
    MongoStoreOptions options = on.options();
    options.uri = testing::with_uri_option(options.uri, "appName=" + name);
    options.concurrency = 2;
    mongo = testing::open_mongo_store(options);
    worker.emplace(loop, "store", mongo->concurrency());
    inserter.emplace(loop, "insert", mongo->insert_concurrency());
    store.emplace(mongo, *worker, *inserter);
  }
  LeaseOutcome lease() {
    LeaseOutcome result;
    LeaseRequest request = testing::lease_request("orders", 10);
    request.token = store->new_token(random, request.binding);
    store->lease(request, [&](const LeaseOutcome& outcome) {
      result = outcome;
      loop.stop();
    });
    loop.run();
    return result;
  }

  const std::string name;
  EventLoop loop;
  TimerId keep = loop.schedule(60'000, [] {});  // workers alone do not keep it running
  SeededRandom random{1};
  std::shared_ptr<MongoStore> mongo;
  std::optional<ThreadWorker> worker;
  std::optional<ThreadWorker> inserter;
  std::optional<WorkerStore> store;
};

TEST_CASE("InsertsWhoseOutcomeIsAskedForDoNotHoldUpLeases", "[mongo]") {
  MongoServer server(kMongoReplicaSet);
  server.command(R"({"create": "people"})");
  Workers workers(server);
  REQUIRE(workers.lease().end == 11);
  const FailPoint point(
      server, "failCommand", R"("alwaysOn")",
      fmt::format(R"({{"failCommands": ["insert"], "appName": "{}", "writeConcernError":
                       {{"code": 64, "errmsg": "waiting timed out"}}}})",
                  workers.name));
  protocol::Buffer document;
  protocol::append_map(document, 0);
  InsertBatch batch;
  batch.collection = "people";
  batch.max_value = 1'000;
  batch.items = {{std::make_shared<const std::string>(document.data(), document.size()), ""}};
  batch.patience_ms = 3'000;
  int answered = 0;
  const int at_a_time = workers.mongo->insert_concurrency();
  for (int at = 0; at < 2 * at_a_time; ++at)
    workers.store->insert(batch, [&](const std::vector<InsertOutcome>&) { ++answered; });
  server.admin(fmt::format(R"({{"waitForFailPoint": "failCommand", "timesEntered": {},
                                "maxTimeMS": 30000}})",
                           point.entered_before() + at_a_time));
  const LeaseOutcome outcome = workers.lease();
  INFO(outcome.error.to_string());
  CHECK(outcome.kind == LeaseOutcome::Kind::granted);
  CHECK(answered == 0);
}

}  // namespace
}  // namespace seqd
