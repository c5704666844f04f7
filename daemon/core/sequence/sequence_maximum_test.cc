// What becomes of available IDs that lie above a maximum that was lowered: nobody gets them.
#include <string>
#include <vector>

#include "tests/unit/orders.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

struct Bounded : Orders {
  void lower_to(std::int64_t last) {
    world.settings.by_name["orders"].max_value = last;
    REQUIRE(world.table->apply_settings(world.limits).empty());
  }
  std::int64_t gaps() { return world.events.count(EventKind::gap_out_of_bounds); }
  // All that can be had now, in order.
  std::vector<std::int64_t> take_all() {
    std::vector<std::int64_t> ids;
    while (const auto id = world.next("orders", {}, 0)) ids.push_back(*id);
    return ids;
  }
};

TEST_CASE("NoIdAboveALoweredMaximumIsIssuedFromThatMomentOn", "[maximum]") {
  Bounded orders;
  orders.fill();
  const std::int64_t end = orders.sequence().definition().high_water();
  const std::int64_t available = orders.sequence().available();
  const std::int64_t next = *orders.sequence().held().next_id();
  REQUIRE(available > 8);
  REQUIRE(orders.world.next("orders") == next);  // of the same turn, and not in the log yet
  orders.lower_to(next + 3);
  CHECK(orders.take_all() == std::vector<std::int64_t>{next + 1, next + 2, next + 3});
  orders.world.settle();
  CHECK(orders.sequence().available() == 0);
  CHECK(orders.gaps() == 1);
  CHECK(orders.sequence().totals().gaps == end - (next + 4));
  // What was given up stays it.
  orders.lower_to(1'000'000);
  orders.world.settle();
  REQUIRE_FALSE(orders.world.next("orders"));
  REQUIRE(orders.world.status.ok());
  orders.world.settle();
  CHECK(orders.sent().back().runs.front().first == end);
}

TEST_CASE("AMaximumBelowAllThatIsAvailableLeavesNothing", "[maximum]") {
  Bounded orders;
  orders.fill();
  const std::int64_t available = orders.sequence().available();
  orders.lower_to(*orders.sequence().held().next_id() - 1);
  orders.world.settle();
  CHECK(orders.sequence().available() == 0);
  CHECK(orders.sequence().totals().gaps == available);
  REQUIRE_FALSE(orders.world.next("orders"));
  orders.world.settle();
  const bool refused = !orders.world.status.ok();
  const Status& heard = refused ? orders.world.status : orders.sent().back().status;
  CHECK(heard.code() == ErrorCode::EXHAUSTED);
}

TEST_CASE("AMaximumThatWasLoweredWhileTheDaemonWasAwayCountsFromTheStart", "[maximum]") {
  Bounded orders;
  orders.fill();
  const std::int64_t next = *orders.sequence().held().next_id();
  orders.world.kill();
  orders.world.settings.by_name["orders"].max_value = next;
  orders.world.start();
  orders.world.settle();
  CHECK(orders.gaps() == 1);
  orders.sequence().looked(true);
  orders.world.settle();
  CHECK(orders.take_all() == std::vector<std::int64_t>{next});
}

TEST_CASE("ALeaseOnOrderWhileTheMaximumIsLoweredKeepsToIt", "[maximum]") {
  Bounded orders;
  orders.fill();
  const std::int64_t end = orders.sequence().definition().high_water();
  REQUIRE_FALSE(orders.world.range("orders", orders.sequence().available() + 1, caller(1), 0));
  REQUIRE_FALSE(orders.world.range("orders", orders.sequence().available() + 1, caller(1)));
  orders.world.turn();
  orders.world.flush();
  REQUIRE(orders.world.store.pending() == 1);
  orders.lower_to(end);
  REQUIRE(orders.world.store.deliver());
  CHECK(orders.sequence().definition().high_water() > end + 1);
  CHECK(orders.sequence().held().ranges().back().range.end() == end + 1);
  orders.world.settle();
  CHECK(orders.sent().back().runs.back().first + orders.sent().back().runs.back().count == end + 1);
  CHECK(orders.gaps() == 1);
}

// It could never be answered, and would hold up all behind it until its own deadline.
TEST_CASE("WaitingRequestAboveALoweredGapBudgetFailsAtOnce", "[maximum]") {
  Orders orders([](SequenceSettings& settings) {
    settings.max_available = 1'000;
    settings.max_unsynced = 1'000;
    settings.lease_max = 1'000;
  });
  orders.fill();
  REQUIRE_FALSE(orders.world.range("orders", 900, caller(1), 3'600'000));
  REQUIRE(orders.world.status.ok());
  REQUIRE_FALSE(orders.world.next("orders", caller(2)));
  SequenceSettings& settings = orders.world.settings.by_name["orders"];
  settings.max_available = settings.lease_max = settings.max_unsynced = 500;
  REQUIRE(orders.world.table->apply_settings(orders.world.limits).empty());
  orders.world.settle();
  REQUIRE(orders.sent().size() == 2);
  CHECK(orders.sent()[0].status.code() == ErrorCode::TOO_LARGE);
  CHECK(orders.sent()[1].status.ok());
  CHECK(orders.sequence().waiters().size() == 0);
}

}  // namespace
}  // namespace seqd
