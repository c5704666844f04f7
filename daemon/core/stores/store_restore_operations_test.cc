// What becomes of leases and returns that are open when the database of a store was put back from
// an older copy, or before the heartbeat is confirmed.
#include <optional>

#include "daemon/core/leasing/store_scope.h"
#include "tests/unit/idle_host.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

// An older copy cannot say what became of a lease that it does not know.
TEST_CASE("OpenLeaseIsNotClosedByAnOlderCopy", "[store_restore]") {
  IdleHost host;
  host.beat();
  host.back_up();
  host.beat();
  host.store().leases = {{ScriptedStore::LeaseScript::Kind::unknown_applied}};
  host.store().resolutions = {{ScriptedStore::ResolveScript::Kind::failed}};
  for (std::int64_t id = 2; id <= 10; ++id) REQUIRE(host.daemon.one("orders") == id);
  host.world().settle();
  REQUIRE(host.orders().slot().leasing());
  REQUIRE_FALSE(in_flight(host.orders()));
  const ScriptedContents newest = host.contents();
  const std::size_t looks = host.store().resolve_calls.size();
  std::size_t looks_at_copy = 0;
  host.put_back();
  SECTION("that is noticed by its look-up") {
    host.wait(60'000);
    looks_at_copy = 1;
  }
  SECTION("that was noticed before") {
    host.beat();
    host.wait(60'000);
  }
  SECTION("that a killed daemon finds") {
    host.end(false);
    host.world().start();
    host.wait(60'000);
  }
  SECTION("that a stopped daemon finds") {
    host.end(true);
    host.world().start();
    host.wait(60'000);
  }
  REQUIRE(host.scope().restored());
  REQUIRE(host.store().resolve_calls.size() == looks + looks_at_copy);
  REQUIRE(host.orders().slot().leasing());
  host.put(newest);
  host.world().restart();
  host.wait(60'000);
  REQUIRE(host.scope().verified());
  REQUIRE(host.orders().totals().unknown == 0);
  REQUIRE(host.orders().totals().gaps == 0);
  REQUIRE(host.daemon.one("orders") == 11);
}

// Nor what became of a return; it must not make its token void either.
TEST_CASE("OpenReturnIsNotClosedByAnOlderCopy", "[store_restore]") {
  IdleHost host;
  host.world().settings.add("orders").reuse = Reuse::tail;
  host.world().table->apply_settings(host.world().limits);
  host.beat();
  host.back_up();
  host.beat();
  host.store().returns = {{ScriptedStore::ReturnScript::Kind::failed_applied}};
  REQUIRE(
      host.world().table->orders().drain(host.orders().id(), 10, [](const DrainReport&) {}).ok());
  host.world().settle();
  REQUIRE(host.orders().slot().returning() == 9);
  const ScriptedContents newest = host.contents();
  host.put_back();
  SECTION("that is noticed by its next request, which gives up") {
    host.wait(60'000);
  }
  SECTION("that was noticed before") {
    const std::size_t asked = host.store().return_calls.size();
    host.beat();
    host.wait(60'000);
    REQUIRE(host.store().return_calls.size() == asked);
  }
  SECTION("that a killed daemon finds") {
    host.end(false);
    host.world().start();
    host.wait(60'000);
  }
  SECTION("that a stopped daemon finds") {
    host.end(true);
    host.world().start();
    host.wait(60'000);
  }
  REQUIRE(host.scope().restored());
  REQUIRE(host.orders().slot().returning() == 9);
  host.put(newest);
  host.world().restart();
  host.wait(60'000);
  REQUIRE(host.scope().verified());
  REQUIRE(host.orders().totals().gaps == 0);
  REQUIRE(host.orders().totals().returned == 9);
  REQUIRE(host.daemon.one("orders") == 2);
}

// What was recorded before the copy was found, and not sent yet, is not sent to it.
TEST_CASE("NothingIsSentToAnOlderCopyThatWasFound", "[store_restore]") {
  IdleHost host;
  host.world().settings.add("orders").reuse = Reuse::tail;
  host.world().table->apply_settings(host.world().limits);
  host.beat();
  host.back_up();
  host.beat();
  const bool returns = GENERATE(false, true);
  const std::size_t leased = host.store().lease_calls.size();
  if (returns) {
    REQUIRE(
        host.world().table->orders().drain(host.orders().id(), 10, [](const DrainReport&) {}).ok());
    host.world().turn();
  } else {
    for (std::int64_t id = 2; id <= 10; ++id) static_cast<void>(host.world().next("orders"));
    host.world().turn();
  }
  REQUIRE(in_flight(host.orders()));
  host.put_back();
  host.world().table->scopes().beat();
  REQUIRE(host.store().deliver());
  REQUIRE(host.scope().restored());
  host.wait(60'000);
  REQUIRE(host.store().lease_calls.size() == leased);
  REQUIRE(host.store().return_calls.empty());
  REQUIRE_FALSE(in_flight(host.orders()));
}

// Before the heartbeat is confirmed nothing is looked up, and a sequence may be stopped meanwhile.
TEST_CASE("LeaseLeftOpenIsLookedUpWhenItsSequenceContinuesAfterTheHeartbeat", "[store_restore]") {
  IdleHost host;
  host.store().leases = {{ScriptedStore::LeaseScript::Kind::unknown_applied}};
  host.store().resolutions = {{ScriptedStore::ResolveScript::Kind::failed}};
  for (std::int64_t id = 2; id <= 10; ++id) REQUIRE(host.daemon.one("orders") == id);
  host.world().settle();
  REQUIRE(host.orders().slot().leasing());
  const std::int64_t counter = host.store().next_id.at("orders");
  host.world().kill();
  host.store().beats.resize(3, {ScriptedStore::BeatScript::Kind::failed});
  host.world().start();
  host.world().settle();
  REQUIRE_FALSE(host.scope().verified());
  host.world().table->orders().advance(host.orders().id(), 0, true,
                                       [](const Result<std::int64_t>&) {});
  host.store().next_id["orders"] = counter - 1;
  host.world().settle();
  REQUIRE(host.orders().stop_error().code() == ErrorCode::SEQ_REGRESSED);
  host.wait(60'000);
  REQUIRE(host.scope().verified());
  REQUIRE(host.raise(1'000).ok());
  REQUIRE(host.daemon.one("orders") == 1'000);
  host.world().restart();
  host.world().settle();
  REQUIRE_FALSE(host.orders().slot().leasing());
  REQUIRE(host.orders().totals().unknown == 0);
  REQUIRE(host.orders().totals().gaps == counter - 11);
  REQUIRE(host.daemon.one("orders") == 1'001);
}

// An open return moves the counter, so it is not raised meanwhile, and nothing stops the sequence.
TEST_CASE("ReturnLeftOpenIsEndedBeforeACounterIsRaised", "[store_restore]") {
  IdleHost host;
  host.world().settings.add("orders").reuse = Reuse::tail;
  host.world().table->apply_settings(host.world().limits);
  host.store().returns = {{ScriptedStore::ReturnScript::Kind::failed_applied}};
  REQUIRE(
      host.world().table->orders().drain(host.orders().id(), 10, [](const DrainReport&) {}).ok());
  host.world().settle();
  host.world().kill();
  host.store().beats.resize(3, {ScriptedStore::BeatScript::Kind::failed});
  host.world().start();
  host.world().settle();
  REQUIRE_FALSE(host.scope().verified());
  REQUIRE(host.raise(1'000).code() == ErrorCode::UNAVAILABLE);
  host.wait(60'000);
  REQUIRE(host.orders().slot().returning() == 0);
  REQUIRE(host.raise(1'000).ok());
  REQUIRE(host.daemon.one("orders") == 1'000);
}

// The copy may have it: "drained" would say that it was not returned.
TEST_CASE("OpenReturnOfAnAbandonedStoreIsRestoredAndNotDrained", "[store_restore]") {
  IdleHost host;
  host.world().settings.add("orders").reuse = Reuse::parked;
  host.world().table->apply_settings(host.world().limits);
  host.beat();
  host.store().returns = {{ScriptedStore::ReturnScript::Kind::failed_applied}};
  REQUIRE(
      host.world().table->orders().drain(host.orders().id(), 10, [](const DrainReport&) {}).ok());
  host.world().settle();
  host.back_up();
  host.beat();
  host.put_back();
  host.beat();
  REQUIRE(host.scope().restored());
  REQUIRE(host.orders().slot().returning() == 9);
  const auto ignore = [](const DrainReport&) {};
  REQUIRE(host.world().table->orders().drain(host.orders().id(), 1'000, ignore).ok());
  host.world().advance(1);
  REQUIRE(host.orders().totals().gaps == 9);
  CHECK(host.world().events.count(EventKind::gap_restored) == 1);
  CHECK(host.world().events.count(EventKind::gap_drained) == 0);
}

// `seqctl drain` of a store that is stopped: what is under way may still end the other way.
TEST_CASE("ReturnInFlightIsNoGapInTheReportOfAnAbandonedStore", "[store_restore]") {
  IdleHost host;
  host.world().settings.add("orders").reuse = Reuse::parked;
  host.world().table->apply_settings(host.world().limits);
  host.beat();
  host.back_up();
  host.beat();
  REQUIRE(host.world()
              .table->orders()
              .drain(host.orders().id(), 1'000, [](const DrainReport&) {})
              .ok());
  host.world().turn();
  host.put_back();
  host.world().table->scopes().beat();
  host.world().flush();
  REQUIRE(host.store().deliver());
  REQUIRE(host.scope().restored());
  REQUIRE(in_flight(host.orders()));
  std::optional<DrainReport> report;
  REQUIRE(host.world()
              .table->orders()
              .drain(host.orders().id(), 1'000, [&](const DrainReport& done) { report = done; })
              .ok());
  host.world().advance(1);
  REQUIRE(report.has_value());
  REQUIRE(report->gaps.empty());
  REQUIRE(report->returning == 9);
}

}  // namespace
}  // namespace seqd
