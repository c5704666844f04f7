// Returns on servers that fail in the middle of them: whatever happens, a range that was given back
// is leased again once, and one that was kept never. Fail points of real servers.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "tests/adapters/mongo_server.h"
#include "tests/adapters/mongo_stores.h"
#include "tests/adapters/store_fixtures.h"
#include "tests/unit/seeded_random.h"

// After the project's headers: both define CHECK, and here Catch's is meant.
#include <catch2/catch.hpp>

namespace seqd {
namespace {

using testing::FailPoint;
using testing::kMongoAlone;
using testing::kMongoReplicaSet;
using testing::lease_request;
using testing::MongoServer;
using testing::open_mongo_store;
using testing::OpenMongoStore;
using testing::with_uri_option;

struct Place {
  const char* variable;
  LeaseModeOption mode;
  const char* name;
};

const Place kPlaces[] = {
    {kMongoReplicaSet, LeaseModeOption::ledger, "a replica set, ledger"},
    {kMongoReplicaSet, LeaseModeOption::slot, "a replica set, slot"},
    {kMongoAlone, LeaseModeOption::slot, "a server alone, slot"},
};

// A store that only the fail points of its own name reach. It uses one ID of each range and gives
// the rest back.
struct Returning {
  Returning(const Place& place, Reuse how, int timeout_ms = 5000)
      : server(place.variable), name("returning-" + server.database()), reuse(how) {
    MongoStoreOptions options = server.options();
    options.uri = with_uri_option(options.uri, "appName=" + name);
    options.timeout_ms = timeout_ms;
    options.lease_mode = place.mode;
    store = open_mongo_store(options);
    const Token nonce{1};
    const Token instance = lease_request("orders", 1).instance;
    REQUIRE(*store->claim({.instance = instance, .epoch = 0, .nonce = nonce}) == ClaimOutcome::won);
  }

  // One ID of it is used; [begin, end) is left.
  void lease() {
    LeaseRequest request = lease_request("orders", 10);
    request.token = store->new_token(random);
    request.guard = guard;
    request.take_parked = reuse == Reuse::parked;
    const LeaseOutcome outcome = store->lease(request);
    INFO(outcome.error.to_string());
    REQUIRE(outcome.kind == LeaseOutcome::Kind::granted);
    begin = outcome.begin + 1;
    end = outcome.end;
    use(outcome.begin, begin);
    back.binding = request.binding;
    back.instance = request.instance;
    back.sequence = request.sequence;
    back.token = store->new_token(random);
    back.begin = begin;
    back.end = end;
    back.reuse = reuse;
    back.give_up = false;
  }
  ReturnOutcome::Kind give_back() { return store->give_back(back).kind; }
  // Asks until it is known; what was kept is used up.
  bool find_out() {
    const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (true) {
      const ReturnOutcome outcome = store->give_back(back);
      if (outcome.kind == ReturnOutcome::Kind::kept) use(begin, end);
      if (outcome.kind != ReturnOutcome::Kind::failed)
        return outcome.kind == ReturnOutcome::Kind::returned;
      INFO(outcome.error.to_string());
      REQUIRE(std::chrono::steady_clock::now() < late);
    }
  }

  void use(std::int64_t from, std::int64_t to) {
    if (from < to) used.emplace_back(from, to);
    guard = std::max(guard, to);
  }

  // Nothing twice, and nothing missing, up to what the next lease begins with.
  void require_complete() {
    while (true) {
      lease();
      use(begin, end);
      if (std::int64_t at = 1; ends_at(at)) return;
    }
  }
  bool ends_at(std::int64_t& at) {
    std::sort(used.begin(), used.end());
    for (const auto& [from, to] : used) {
      REQUIRE(from >= at);
      if (from > at) return false;  // parked: the next lease takes it
      at = to;
    }
    return server.number("counters", "orders", "seq") == at - 1;
  }

  void wait_until_idle() {
    const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (true) {
      const Document reply = server.admin(fmt::format(
          R"({{"aggregate": 1, "pipeline": [{{"$currentOp": {{}}}}, {{"$match":
              {{"appName": "{}", "active": true, "command.findAndModify": {{"$exists": true}}}}}}],
              "cursor": {{}}}})",
          name));
      bson_iter_t found;
      if (!find_field(reply.get(), "cursor.firstBatch.0", &found)) return;
      REQUIRE(std::chrono::steady_clock::now() < late);
    }
  }

  std::string failure(const char* what) const {
    return fmt::format(
        R"({{"failCommands": ["findAndModify", "commitTransaction"], "appName": "{}", {}}})", name,
        what);
  }

  MongoServer server;
  const std::string name;
  const Reuse reuse;
  OpenMongoStore store;
  SeededRandom random{1};
  ReturnRequest back;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t guard = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> used;
};

const char* const kFaults[] = {
    R"("closeConnection": true)",
    R"("writeConcernError": {"code": 64, "errmsg": "waiting timed out"})",
    R"("errorCode": 11600)",
    R"("errorCode": 91, "errorLabels": ["RetryableWriteError"])",
    R"("errorCode": 50)",
    R"("errorCode": 251, "errorLabels": ["TransientTransactionError"])",
    R"("errorCode": 112, "errorLabels": ["TransientTransactionError"])",
};

TEST_CASE("MongoReturnFaults: no fault of a command loses a range or gives it back twice",
          "[mongo][return-faults]") {
  const std::size_t where = GENERATE(range(std::size_t{0}, std::size(kPlaces)));
  const Reuse reuse = GENERATE(Reuse::tail, Reuse::parked);
  Returning returning(kPlaces[where], reuse);
  std::int64_t returned = 0;
  for (const char* const fault : kFaults) {
    for (const int times : {1, 3}) {
      for (const bool give_up : {false, true}) {
        INFO(kPlaces[where].name << ", " << fault << ", " << times << " times");
        returning.lease();
        {
          const FailPoint point(returning.server, "failCommand",
                                fmt::format(R"({{"times": {}}})", times), returning.failure(fault));
          if (returning.give_back() == ReturnOutcome::Kind::failed) {
            returning.back.give_up = give_up;
          }
        }
        if (returning.find_out()) ++returned;
      }
    }
  }
  returning.require_complete();
  REQUIRE(returned > 0);
}

TEST_CASE("MongoReturnFaults: a return that arrives after it was given up changes nothing",
          "[mongo][return-faults]") {
  const std::size_t where = GENERATE(std::size_t{1}, std::size_t{2});
  const Reuse reuse = GENERATE(Reuse::tail, Reuse::parked);
  INFO(kPlaces[where].name);
  Returning returning(kPlaces[where], reuse, 300);
  returning.lease();
  {
    // As often as the driver sends it, so that giving up is not blocked.
    const int times = kPlaces[where].variable == kMongoAlone ? 1 : 2;
    const FailPoint point(returning.server, "failCommand", fmt::format(R"({{"times": {}}})", times),
                          returning.failure(R"("blockConnection": true, "blockTimeMS": 2000)"));
    REQUIRE(returning.give_back() == ReturnOutcome::Kind::failed);
    returning.back.give_up = true;
    REQUIRE_FALSE(returning.find_out());
  }
  returning.wait_until_idle();
  REQUIRE(returning.server.number("counters", "orders", "seq") == 10);
  returning.require_complete();
}

}  // namespace
}  // namespace seqd
