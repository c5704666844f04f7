// How a host notices that the database of a store was put back from an older copy, and stops:
// heartbeat.h. What a start notices is in store_restore_restart_test.cc, what becomes of open
// leases and returns in store_restore_operations_test.cc.
#include <cstdint>
#include <limits>
#include <string>

#include "daemon/core/leasing/store_scope.h"
#include "daemon/core/upkeep/floor_watch.h"
#include "tests/unit/idle_host.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

constexpr std::int64_t kCheckMs = 60'000;

TEST_CASE("HeartbeatIsRaisedRegularlyAndKeptInTheLog", "[store_restore]") {
  IdleHost host;
  FloorWatch watch(host.world().time, *host.world().table);
  watch.set_interval(kCheckMs);
  for (std::int64_t beat = 1; beat <= 3; ++beat) {
    host.world().advance(beat == 1 ? 1'000 : kCheckMs);
    host.world().settle();
    // One comes before the first lease.
    REQUIRE(host.store().heartbeats.at(host.scope().instance()) == beat + 1);
    REQUIRE(host.world().log.durable_image.heartbeats.at(1).beat == beat + 1);
  }
  watch.set_interval(0);
}

TEST_CASE("StoreThatIsAwayDoesNotStopAHost", "[store_restore]") {
  IdleHost host;
  host.beat();
  host.store().beats = {{ScriptedStore::BeatScript::Kind::failed}};
  host.beat();
  REQUIRE(host.daemon.one("orders") == 2);
  host.beat();
  REQUIRE(host.store().heartbeats.at(host.scope().instance()) == 3);
}

TEST_CASE("IdleHostStopsWhenTheStoreIsPutBack", "[store_restore]") {
  IdleHost host;
  host.beat();
  host.back_up();
  host.beat();
  host.lease_elsewhere(100);
  host.put_back();
  SECTION("at its next heartbeat") {
    host.beat();
  }
  SECTION("at its next lease, before the range is used") {
    for (std::int64_t id = 2; id <= 10; ++id) static_cast<void>(host.daemon.one("orders"));
    static_cast<void>(host.world().next("orders", {}, 60'000));
    host.world().settle();
    REQUIRE(host.orders().totals().leased == 10);
  }
  SECTION("at its next lease whose answer was lost") {
    for (std::int64_t id = 2; id <= 10; ++id) static_cast<void>(host.daemon.one("orders"));
    host.store().leases = {{ScriptedStore::LeaseScript::Kind::unknown_applied}};
    static_cast<void>(host.world().next("orders", {}, 60'000));
    host.world().settle();
    REQUIRE(host.store().resolve_calls.size() == 1);
    REQUIRE(host.orders().totals().leased == 10);
    REQUIRE(host.orders().slot().leasing());
  }
  REQUIRE(host.scope().restored());
  REQUIRE(std::string(host.scope().state_name()) == "restored");
  REQUIRE(host.daemon.error_of("orders") == ErrorCode::SEQ_REGRESSED);
  host.world().settings.add("new");
  REQUIRE(host.daemon.error_of("new") == ErrorCode::SEQ_REGRESSED);
  REQUIRE(host.world().events.count(EventKind::store_restored) == 1);
  const std::string text = host.scope().last_error().text();
  REQUIRE(text.find("seqctl advance --all --store default") != std::string::npos);
}

// The high-water mark of one counter is enough to look at the whole store.
TEST_CASE("CounterThatWentBackHasTheStoreCompared", "[store_restore]") {
  IdleHost host;
  host.back_up();
  host.beat();
  for (std::int64_t id = 2; id <= 10; ++id) static_cast<void>(host.daemon.one("orders"));
  host.put_back();
  host.store().next_id["orders"] = 5;
  host.store().leases = {{ScriptedStore::LeaseScript::Kind::refuse,
                          Status(ErrorCode::SEQ_REGRESSED, "the counter was set back")}};
  static_cast<void>(host.world().next("orders", {}, 60'000));
  host.world().settle();
  REQUIRE(host.scope().restored());
  REQUIRE(host.orders().stop_error().text().find("older copy") != std::string::npos);
}

// The lease was in flight when the heartbeat found the restore.
TEST_CASE("CounterThatWentBackDoesNotHideWhyTheStoreIsStopped", "[store_restore]") {
  IdleHost host;
  host.back_up();
  host.beat();
  for (std::int64_t id = 2; id <= 10; ++id) static_cast<void>(host.daemon.one("orders"));
  host.put_back();
  host.store().leases = {{ScriptedStore::LeaseScript::Kind::refuse,
                          Status(ErrorCode::SEQ_REGRESSED, "the counter was set back")}};
  host.store().leases.front().late = true;
  static_cast<void>(host.world().next("orders", {}, 60'000));
  host.world().settle();
  host.beat();
  REQUIRE(host.scope().restored());
  REQUIRE(host.store().deliver_late());
  host.world().settle();
  REQUIRE(host.orders().stop_error().text().find("older copy") != std::string::npos);
  REQUIRE(host.world().events.count(EventKind::sequence_stopped) == 1);
  REQUIRE(host.raise().ok());
  REQUIRE(host.world().table->scopes().resume("default").ok());
  REQUIRE(host.daemon.one("orders") > 10);
}

TEST_CASE("EntryThatIsGoneIsAnOlderCopy", "[store_restore]") {
  IdleHost host;
  host.beat();
  host.store().heartbeats.clear();
  host.store().epochs.clear();
  host.beat();
  REQUIRE(host.scope().restored());
}

TEST_CASE("CopyThatIsNewerThanTheLastHeartbeatCannotBeNoticed", "[store_restore]") {
  IdleHost host;
  host.beat();
  host.back_up();
  host.lease_elsewhere(100);
  host.put_back();
  host.beat();
  REQUIRE_FALSE(host.scope().restored());
}

// Others can write to the store. The log has only what a start accepts, and what can be raised.
TEST_CASE("HeartbeatBeyondAllNumbersIsRaisedNoFurther", "[store_restore]") {
  IdleHost host;
  host.beat();
  host.store().heartbeats.at(host.scope().instance()) = std::numeric_limits<std::int64_t>::max();
  host.beat();
  host.beat();
  REQUIRE(host.world().log.image.heartbeats.at(1).beat == std::int64_t{1} << 62);
  REQUIRE(host.daemon.one("orders") == 2);
}

TEST_CASE("HeartbeatBelowZeroIsNone", "[store_restore]") {
  CoreWorld world;
  world.start();
  world.turn();
  world.flush();
  REQUIRE(world.store.deliver());  // the claim
  world.store.epochs.clear();
  world.store.heartbeats[world.table->scopes().find("default")->instance()] = -5;
  world.settle();
  REQUIRE(world.store.beat_calls.size() == 1);
  REQUIRE(world.table->scopes().find("default")->restored());
}

}  // namespace
}  // namespace seqd
