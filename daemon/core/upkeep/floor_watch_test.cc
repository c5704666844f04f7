// When the floors of counters are looked at. What becomes of what lies below is in advance_test.cc.
#include "daemon/core/upkeep/floor_watch.h"

#include "tests/unit/orders.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

struct Watched : Orders {
  Watched() { fill(); }
  // Another host has advanced the counter.
  void advance_elsewhere() { world.store.next_id["orders"] = world.store.floors["orders"] = 5'000; }
  void pass(std::int64_t ms) {
    world.advance(ms);
    world.settle();
  }
  FloorWatch watch{world.time, *world.table};
};

TEST_CASE("WhatAnotherHostAdvancedIsWithdrawnAtTheNextLook", "[floor_watch]") {
  Watched orders;
  orders.watch.set_interval(60'000);
  orders.pass(1'000);
  REQUIRE(orders.world.store.read_calls.size() == 1);
  orders.advance_elsewhere();
  orders.pass(59'999);
  REQUIRE(orders.sequence().held().next_id() == 2);
  orders.pass(1);
  REQUIRE(orders.sequence().held().next_id() == 5'000);
  REQUIRE(orders.world.store.read_calls.size() == 2);
}

TEST_CASE("ASequenceWithNothingAvailableIsNotAskedAbout", "[floor_watch]") {
  Watched orders;
  orders.sequence().drain(60'000, [](const DrainReport&) {});
  orders.pass(0);
  REQUIRE(orders.sequence().available() == 0);
  orders.watch.set_interval(60'000);
  orders.pass(1'000);
  orders.pass(600'000);
  REQUIRE(orders.world.store.read_calls.empty());
}

// Its key is another one now, and the floor of that counter is not the one of what is left.
TEST_CASE("WhatIsLeftOfAnotherCounterIsNotComparedWithTheConfiguredOne", "[floor_watch]") {
  Orders orders;
  orders.fill();
  orders.world.kill();
  orders.world.settings.by_name["orders"].binding.key = "other";
  orders.world.start();
  orders.world.settle();
  REQUIRE(orders.sequence().stop_error().code() == ErrorCode::SEQ_CHANGED);
  orders.world.store.next_id["other"] = orders.world.store.floors["other"] = 5'000;
  const std::int64_t available = orders.sequence().available();
  REQUIRE(available > 0);
  FloorWatch watch{orders.world.time, *orders.world.table};
  watch.set_interval(60'000);
  orders.world.advance(1'000);
  orders.world.settle();
  CHECK(orders.world.store.read_calls.empty());
  CHECK(orders.sequence().available() == available);
  CHECK(orders.sequence().totals().gaps == 0);
}

// What is in blocks is issued by others, and no less below the floor.
TEST_CASE("ASequenceWhoseIdsAreAllInBlocksIsAskedAbout", "[floor_watch]") {
  Orders orders([](SequenceSettings& settings) { settings.max_available = 10; });
  orders.fill();
  const ClientId client = orders.world.table->replays().attach(Token{1}, 1'000)->client;
  REQUIRE(orders.world.table->blocks().prepare_grant(client, 1'000).ok());
  REQUIRE(
      orders.sequence().grant_block({5, 1, client, 1'000}, 0, orders.sequence().available()).ok());
  orders.world.settle();
  REQUIRE(orders.sequence().available() == 0);
  orders.world.store.next_id["orders"] = orders.world.store.floors["orders"] = 5'000;
  FloorWatch watch{orders.world.time, *orders.world.table};
  watch.set_interval(60'000);
  orders.world.advance(1'000);
  orders.world.settle();
  CHECK(orders.world.store.read_calls.size() == 1);
  CHECK(orders.sequence().out() == 0);
  CHECK(orders.world.pages.slot(client, 0).limit == 0);
}

TEST_CASE("AStoreThatIsAwayIsAskedAgainSoonAndEverMoreSeldom", "[floor_watch]") {
  Watched orders;
  for (int times = 0; times < 3; ++times)
    orders.world.store.readings.push_back({ScriptedStore::ReadScript::Kind::failed});
  orders.watch.set_interval(5'000);
  orders.pass(1'000);
  REQUIRE(orders.world.store.read_calls.size() == 1);
  for (const std::int64_t pause : {2'000, 4'000, 5'000}) {
    orders.pass(pause - 1);
    const std::size_t before = orders.world.store.read_calls.size();
    orders.pass(1);
    REQUIRE(orders.world.store.read_calls.size() == before + 1);
  }
  REQUIRE(orders.world.store.read_calls.size() == 4);
  orders.pass(4'999);
  REQUIRE(orders.world.store.read_calls.size() == 4);
}

TEST_CASE("AStoreThatDoesNotAnswerIsAskedAboutOneSequenceARound", "[floor_watch]") {
  Watched orders;
  for (const char* const name : {"a", "b", "c", "d", "e", "f"}) {
    orders.world.settings.add(name);
    static_cast<void>(orders.world.next(name));
    orders.world.settle();
  }
  for (int times = 0; times < 20; ++times)
    orders.world.store.readings.push_back({ScriptedStore::ReadScript::Kind::failed});
  orders.watch.set_interval(60'000);
  orders.pass(1'000);
  // As many as are asked about at a time; none after the first has failed.
  REQUIRE(orders.world.store.read_calls.size() == 4);
}

TEST_CASE("WhatWasAvailableAtTheStartIsComparedAsSoonAsItIsOurs", "[floor_watch]") {
  Watched orders;
  orders.watch.set_interval(0);
  orders.world.kill();
  orders.advance_elsewhere();
  orders.world.store.claims.push_back({ScriptedStore::ClaimScript::Kind::failed});
  orders.world.start();
  FloorWatch watch(orders.world.time, *orders.world.table);
  watch.set_interval(60'000);
  orders.pass(1'000);
  for (int seconds = 0; seconds < 10 && orders.world.store.read_calls.empty(); ++seconds)
    orders.pass(1'000);
  REQUIRE(orders.sequence().scope().owned());
  REQUIRE(orders.sequence().held().next_id().value_or(5'000) >= 5'000);
}

TEST_CASE("NothingIsAskedOnceTheWatchIsOver", "[floor_watch]") {
  Watched orders;
  orders.watch.set_interval(60'000);
  orders.watch.set_interval(0);
  orders.pass(600'000);
  REQUIRE(orders.world.store.read_calls.empty());
  orders.watch.set_interval(100);
  orders.pass(1'000);
  REQUIRE(orders.world.store.read_calls.size() == 1);
  orders.pass(100);
  REQUIRE(orders.world.store.read_calls.size() == 2);
}

}  // namespace
}  // namespace seqd
