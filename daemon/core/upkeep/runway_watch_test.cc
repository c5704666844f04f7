#include "daemon/core/upkeep/runway_watch.h"

#include "daemon/core/leasing/store_scope.h"
#include "daemon/core/sequence/sequence.h"
#include "tests/unit/world.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

// A sequence of which 1,000 IDs are leased at a time.
struct Watch {
  Watch() {
    SequenceSettings& settings = world.settings.add("orders");
    settings.lease_min = settings.lease_max = settings.max_unsynced = 1'000;
    settings.max_available = 10'000;
    world.start();
    step();
    issue(100);
    step();
  }
  void issue(int count) {
    for (int at = 0; at < count; ++at) {
      static_cast<void>(world.next("orders"));
      world.settle();
    }
  }
  // A second passes.
  void step() {
    world.advance(1'000);
    world.settle();
    world.table->accounts().sample_rates(world.time.monotonic_ms(), world.table->blocks().ids());
    watch.check(*world.table, world.events);
  }
  // So many leases fail; the sequence asks for more when half of one is left.
  void fail() {
    world.store.leases.assign(1'000, {ScriptedStore::LeaseScript::Kind::refuse});
    const StoreScope& scope = world.sequence("orders").scope();
    for (int taken = 0; taken < 3'000 && scope.last_error().ok(); ++taken) issue(1);
    REQUIRE_FALSE(scope.last_error().ok());
  }
  void recover() {
    world.store.leases.clear();
    for (int second = 0; second < 60; ++second) step();
    REQUIRE(world.sequence("orders").scope().last_error().ok());
  }
  std::int64_t warned() { return world.events.count(EventKind::runway_short); }
  CoreWorld world;
  RunwayWatch watch;
};

TEST_CASE("AShortRunwayIsInOrderWhileTheStoreAnswers", "[runway_watch]") {
  Watch here;
  REQUIRE(here.world.table->accounts().rates().smallest()->ms == 9'000);
  CHECK_FALSE(here.world.table->accounts().rates().smallest_in_outage());
  CHECK(here.warned() == 0);
}

TEST_CASE("AShortRunwayIsWarnedOfOnceAnOutage", "[runway_watch]") {
  Watch here;
  here.fail();
  here.step();
  REQUIRE(here.warned() == 1);
  CHECK(here.world.events.newest.text.find("the available IDs of \"orders\" last for about ") == 0);
  CHECK(here.world.events.newest.text.find("store default has an error: UNAVAILABLE") !=
        std::string::npos);
  for (int second = 0; second < 5; ++second) here.step();
  CHECK(here.warned() == 1);
  here.recover();
  CHECK(here.warned() == 1);
  here.fail();
  here.step();
  CHECK(here.warned() == 2);
}

}  // namespace
}  // namespace seqd
