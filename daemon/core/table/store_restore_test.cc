// What a host does when the database of a store was put back from an older copy: heartbeat.h.
#include <optional>
#include <string>

#include "daemon/core/leasing/floor_watch.h"
#include "daemon/core/leasing/store_scope.h"
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
    REQUIRE(host.orders().leasing());
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
  REQUIRE(host.orders().stopped().text().find("older copy") != std::string::npos);
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
  REQUIRE(host.orders().stopped().text().find("older copy") != std::string::npos);
  REQUIRE(host.world().events.count(EventKind::sequence_stopped) == 1);
  REQUIRE(host.raise().ok());
  REQUIRE(host.world().table->resume_store("default").ok());
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

TEST_CASE("RestartedHostComparesBeforeItIssuesOrClaims", "[store_restore]") {
  const bool clean = GENERATE(false, true);
  const bool tells = GENERATE(false, true);
  IdleHost host;
  host.store().tells_identity = tells;
  host.beat();
  host.back_up();
  host.beat();
  host.lease_elsewhere(100);
  host.end(clean);
  host.put_back();
  const std::size_t claims = host.store().claim_calls.size();
  host.world().start();
  host.world().settle();
  REQUIRE(host.scope().restored());
  REQUIRE(host.store().claim_calls.size() == claims);
  REQUIRE(host.daemon.error_of("orders") == ErrorCode::SEQ_REGRESSED);
  // Again, and now not even the witness of the same boot lets it issue before it has compared.
  host.world().restart();
  REQUIRE_FALSE(host.world().next("orders", {}, 60'000));
  REQUIRE_FALSE(host.scope().owned());
  host.world().settle();
  REQUIRE(host.world().answers.sent.back().status.code() == ErrorCode::SEQ_REGRESSED);
}

TEST_CASE("RightDatabaseInPlaceAgainLosesNothing", "[store_restore]") {
  const bool clean = GENERATE(false, true);
  IdleHost host;
  host.beat();
  host.back_up();
  host.beat();
  const ScriptedContents newest = host.contents();
  host.put_back();
  host.beat();
  REQUIRE(host.scope().restored());
  host.put(newest);
  host.end(clean);
  host.world().start();
  host.world().settle();
  REQUIRE(host.daemon.one("orders") == 2);
  REQUIRE(host.orders().totals().gaps == 0);
}

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
  REQUIRE(host.orders().leasing());
  REQUIRE_FALSE(host.orders().in_flight());
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
  REQUIRE(host.orders().leasing());
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
  REQUIRE(host.world().table->drain(host.orders().id(), 10, [](const DrainReport&) {}).ok());
  host.world().settle();
  REQUIRE(host.orders().draining().returning() == 9);
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
  REQUIRE(host.orders().draining().returning() == 9);
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
    REQUIRE(host.world().table->drain(host.orders().id(), 10, [](const DrainReport&) {}).ok());
    host.world().turn();
  } else {
    for (std::int64_t id = 2; id <= 10; ++id) static_cast<void>(host.world().next("orders"));
    host.world().turn();
  }
  REQUIRE(host.orders().in_flight());
  host.put_back();
  host.world().table->beat_stores();
  REQUIRE(host.store().deliver());
  REQUIRE(host.scope().restored());
  host.wait(60'000);
  REQUIRE(host.store().lease_calls.size() == leased);
  REQUIRE(host.store().return_calls.empty());
  REQUIRE_FALSE(host.orders().in_flight());
}

TEST_CASE("NewHostWhoseEntryIsGoneBeforeItsFirstHeartbeatStops", "[store_restore]") {
  const bool forfeits = GENERATE(false, true);
  CoreWorld world;
  world.settings.add("orders");
  world.start();
  static_cast<void>(world.next("orders", {}, 60'000));
  world.turn();
  world.flush();
  REQUIRE(world.store.deliver());  // the claim
  REQUIRE(world.store.epochs.size() == 1);
  const ScriptedContents newest = world.store;
  world.store.epochs.clear();
  world.settle();
  REQUIRE(world.table->scope_of_store("default")->restored());
  REQUIRE(world.store.lease_calls.empty());
  world.kill();
  if (forfeits) forfeit(world);
  world.start();
  world.settle();
  static_cast<void>(world.next("orders", {}, 60'000));
  world.settle();
  REQUIRE(world.table->scope_of_store("default")->restored());
  REQUIRE(world.store.lease_calls.empty());
  // The right database has the entry.
  static_cast<ScriptedContents&>(world.store) = newest;
  world.restart();
  world.settle();
  REQUIRE(world.table->scope_of_store("default")->verified());
}

// The heartbeat decides whether anything is leased, so it does not wait for the next round.
TEST_CASE("FirstHeartbeatThatFailsIsRepeated", "[store_restore]") {
  IdleHost host;
  host.beat();
  host.store().beats.resize(3, {ScriptedStore::BeatScript::Kind::failed});
  host.world().restart();
  REQUIRE(host.daemon.one("orders") == 2);
  for (std::int64_t id = 3; id <= 10; ++id) REQUIRE(host.daemon.one("orders") == id);
  REQUIRE_FALSE(host.scope().verified());
  host.wait(60'000);
  REQUIRE(host.scope().verified());
  REQUIRE(host.daemon.one("orders") == 11);
}

// Before the heartbeat is confirmed nothing is looked up, and a sequence may be stopped meanwhile.
TEST_CASE("LeaseLeftOpenIsLookedUpWhenItsSequenceGoesOnAfterTheHeartbeat", "[store_restore]") {
  IdleHost host;
  host.store().leases = {{ScriptedStore::LeaseScript::Kind::unknown_applied}};
  host.store().resolutions = {{ScriptedStore::ResolveScript::Kind::failed}};
  for (std::int64_t id = 2; id <= 10; ++id) REQUIRE(host.daemon.one("orders") == id);
  host.world().settle();
  REQUIRE(host.orders().leasing());
  const std::int64_t counter = host.store().next_id.at("orders");
  host.world().kill();
  host.store().beats.resize(3, {ScriptedStore::BeatScript::Kind::failed});
  host.world().start();
  host.world().settle();
  REQUIRE_FALSE(host.scope().verified());
  host.world().table->advance(host.orders().id(), 0, true, [](const Result<std::int64_t>&) {});
  host.store().next_id["orders"] = counter - 1;
  host.world().settle();
  REQUIRE(host.orders().stopped().code() == ErrorCode::SEQ_REGRESSED);
  host.wait(60'000);
  REQUIRE(host.scope().verified());
  REQUIRE(host.raise(1'000).ok());
  REQUIRE(host.daemon.one("orders") == 1'000);
  host.world().restart();
  host.world().settle();
  REQUIRE_FALSE(host.orders().leasing());
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
  REQUIRE(host.world().table->drain(host.orders().id(), 10, [](const DrainReport&) {}).ok());
  host.world().settle();
  host.world().kill();
  host.store().beats.resize(3, {ScriptedStore::BeatScript::Kind::failed});
  host.world().start();
  host.world().settle();
  REQUIRE_FALSE(host.scope().verified());
  REQUIRE(host.raise(1'000).code() == ErrorCode::UNAVAILABLE);
  host.wait(60'000);
  REQUIRE(host.orders().draining().returning() == 0);
  REQUIRE(host.raise(1'000).ok());
  REQUIRE(host.daemon.one("orders") == 1'000);
}

// `seqctl drain` of a store that is stopped: what is under way may still end the other way.
TEST_CASE("ReturnThatIsUnderWayIsNoGapInTheReportOfAStoreThatIsGivenUp", "[store_restore]") {
  IdleHost host;
  host.world().settings.add("orders").reuse = Reuse::parked;
  host.world().table->apply_settings(host.world().limits);
  host.beat();
  host.back_up();
  host.beat();
  REQUIRE(host.world().table->drain(host.orders().id(), 1'000, [](const DrainReport&) {}).ok());
  host.world().turn();
  host.put_back();
  host.world().table->beat_stores();
  host.world().flush();
  REQUIRE(host.store().deliver());
  REQUIRE(host.scope().restored());
  REQUIRE(host.orders().in_flight());
  std::optional<DrainReport> report;
  REQUIRE(
      host.world()
          .table->drain(host.orders().id(), 1'000, [&](const DrainReport& done) { report = done; })
          .ok());
  host.world().advance(1);
  REQUIRE(report.has_value());
  REQUIRE(report->gaps.empty());
  REQUIRE(report->returning == 9);
}

// Its own entry is new; that of the instance before it tells the age of the store.
TEST_CASE("ForfeitedHostComparesTheHeartbeatOfTheInstanceBefore", "[store_restore]") {
  IdleHost host;
  host.beat();
  host.back_up();
  host.beat();
  host.world().kill();
  forfeit(host.world());
  SECTION("of an older copy") {
    host.put_back();
    const std::size_t claims = host.store().claim_calls.size();
    host.world().start();
    host.world().settle();
    REQUIRE(host.scope().restored());
    REQUIRE(host.store().claim_calls.size() == claims);  // an older copy decides nothing
  }
  SECTION("of an older copy, although its own did not get through before another end") {
    const bool clean = GENERATE(false, true);
    using Kind = ScriptedStore::BeatScript::Kind;
    host.store().beats.resize(2);
    for (int i = 0; i < 9; ++i) host.store().beats.push_back({Kind::failed});
    host.world().start();
    host.world().settle();
    REQUIRE_FALSE(host.scope().verified());
    REQUIRE(host.store().claim_calls.size() == 2);
    host.end(clean);
    host.store().beats.clear();
    if (!clean) forfeit(host.world());
    host.put_back();
    host.world().start();
    host.world().settle();
    REQUIRE(host.scope().restored());
  }
  SECTION("of the store as it was, and then its own") {
    host.world().start();
    host.world().settle();
    REQUIRE(host.scope().verified());
    host.beat();
    REQUIRE(host.world().log.image.heartbeats.at(1).instance == Token{77});
    REQUIRE(host.store().heartbeats.at(Token{77}) >= 1);
  }
}

// The heartbeat stays when an instance is forgotten, so a copy of its directory hears that the
// claim is lost, as before.
TEST_CASE("ForgottenInstanceIsNoOlderCopy", "[store_restore]") {
  IdleHost host;
  host.beat();
  host.daemon.leave_clean();
  host.store().epochs.clear();
  host.world().start();
  host.world().settle();
  REQUIRE_FALSE(host.scope().refuses());
  REQUIRE(host.orders().totals().gaps == 9);
}

// What tells of its age is the entry that is gone, not that of the instance before it.
TEST_CASE("EntryOfANewInstanceThatIsGoneIsMissedByTheNextProcessToo", "[store_restore]") {
  IdleHost host;
  host.beat();
  host.world().kill();
  forfeit(host.world());
  host.store().beats.resize(2);
  for (int i = 0; i < 3; ++i)
    host.store().beats.push_back({ScriptedStore::BeatScript::Kind::failed});
  host.world().start();
  host.world().settle();
  REQUIRE(host.store().epochs.contains(Token{77}));
  host.store().epochs.erase(Token{77});
  host.store().beats.clear();
  host.wait(60'000);
  REQUIRE(host.scope().restored());
  host.end(GENERATE(false, true));
  host.world().start();
  host.world().settle();
  REQUIRE(host.scope().restored());
  REQUIRE(host.world().events.count(EventKind::fenced) == 0);
}

}  // namespace
}  // namespace seqd
