// Returns on servers that fail in the middle of them: whatever happens, a range that was returned
// is leased again once, and one that was kept never. Fail points of real servers.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "tests/adapters/in_time.h"
#include "tests/adapters/mongo/mongo_target.h"
#include "tests/adapters/store_fixtures.h"
#include "tests/unit/seeded_random.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;
using testing::MongoTarget;  // not that of the driver

// It uses one ID of each range and returns the rest.
struct Returning : MongoTarget {
  Returning(const MongoPlace& place, Reuse how) : MongoTarget(place, "returning"), reuse(how) {}

  // One ID of it is used; [begin, end) is left.
  void lease() {
    LeaseRequest request = lease_request("orders", 10);
    request.token = new_token(random);
    request.high_water = high_water;
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
    back.token = new_token(random);
    back.begin = begin;
    back.end = end;
    back.reuse = reuse;
    back.give_up = false;
  }
  ReturnOutcome::Kind return_range() { return store->return_range(back).kind; }
  // Asks until it is known; what was kept is used up.
  bool find_out() {
    const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(300);
    while (true) {
      const ReturnOutcome outcome = store->return_range(back);
      if (outcome.kind == ReturnOutcome::Kind::kept) use(begin, end);
      if (outcome.kind != ReturnOutcome::Kind::failed)
        return outcome.kind == ReturnOutcome::Kind::returned;
      INFO(outcome.error.to_string());
      REQUIRE_IN_TIME(std::chrono::steady_clock::now() < late);
    }
  }

  void use(std::int64_t from, std::int64_t to) {
    if (from < to) used.emplace_back(from, to);
    high_water = std::max(high_water, to);
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

  const Reuse reuse;
  SeededRandom random{1};
  ReturnRequest back;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t high_water = 0;
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

TEST_CASE("MongoReturnFaults: no fault of a command loses a range or returns it twice",
          "[mongo][return-faults]") {
  const std::size_t where = GENERATE(range(std::size_t{0}, std::size(kMongoPlaces)));
  const Reuse reuse = GENERATE(Reuse::tail, Reuse::parked);
  Returning returning(kMongoPlaces[where], reuse);
  std::int64_t returned = 0;
  for (const char* const fault : kFaults) {
    for (const int times : {1, 3}) {
      for (const bool give_up : {false, true}) {
        INFO(kMongoPlaces[where].name << ", " << fault << ", " << times << " times");
        returning.lease();
        {
          const FailPoint point(returning.server, "failCommand",
                                fmt::format(R"({{"times": {}}})", times), returning.failure(fault));
          if (returning.return_range() == ReturnOutcome::Kind::failed) {
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
  INFO(kMongoPlaces[where].name);
  // As often as the driver sends it, so that giving up is not blocked.
  const int times = kMongoPlaces[where].variable == kMongoAlone ? 1 : 2;
  Returning returning(kMongoPlaces[where], reuse);
  std::int64_t counter = 0;
  // Where the machine is so slow that the return is there first, once more with more time.
  for (int block_ms = 2000; returning.back.give_up == false; block_ms *= 2) {
    REQUIRE(block_ms < 60'000);
    returning.reopen();
    returning.lease();
    returning.reopen(300);
    counter = returning.server.number("counters", "orders", "seq");
    const FailPoint point(
        returning.server, "failCommand", fmt::format(R"({{"times": {}}})", times),
        returning.failure(fmt::format(R"("blockConnection": true, "blockTimeMS": {})", block_ms)));
    const ReturnOutcome::Kind first = returning.return_range();
    REQUIRE(first != ReturnOutcome::Kind::kept);
    if (first == ReturnOutcome::Kind::returned) continue;
    returning.back.give_up = true;
    if (returning.find_out()) returning.back.give_up = false;
  }
  returning.wait_until_idle();
  returning.reopen();
  REQUIRE(returning.server.number("counters", "orders", "seq") == counter);
  returning.require_complete();
}

}  // namespace
}  // namespace seqd
