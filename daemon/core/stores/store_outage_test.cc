// A store that is away when the daemon stops and starts, and what the status says of it.
#include "daemon/core/leasing/store_scope.h"
#include "tests/unit/core_daemon.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using Identity = ScriptedStore::IdentityScript::Kind;
using Lease = ScriptedStore::LeaseScript::Kind;

const Status kDown(ErrorCode::UNAVAILABLE, "down");
const Status kStopping(ErrorCode::STOPPING, "stop");

const StoreScope& scope_of(const CoreWorld& world) {
  return *world.table->scopes().find("default");
}

// A daemon of a server with IDs 2 to 10 available.
struct Serving {
  Serving() {
    world().store.has_identity = false;
    world().restart();
    world().settle();
    REQUIRE(daemon.one("orders") == 1);
    world().settle();
    world().store.identity_calls = 0;
  }
  // Stops as daemon/main does: leaves when it is settled.
  void stop() {
    world().table->begin_stop(kStopping);
    while (!world().table->settled()) {
      world().settle();
      if (!world().table->settled()) world().advance(*world().time.next_delay_ms());
    }
    static_cast<void>(world().table->leave_clean());
    world().turn();
    world().flush();
    world().kill();
  }
  ScopeState left() { return world().log.image.scopes.at(1).state; }
  CoreWorld& world() { return daemon.world; }
  CoreDaemon daemon;
};

TEST_CASE("StopAsksTheStoreAndLeavesTheScopeCleanWhenItAnswers", "[store_outage]") {
  Serving serving;
  serving.stop();
  REQUIRE(serving.world().store.identity_calls == 1);
  REQUIRE(serving.left() == ScopeState::clean);
}

TEST_CASE("RestartWhileTheStoreIsAwayServesWhatIsAvailable", "[store_outage]") {
  Serving serving;
  serving.world().store.identities.assign(100, {Identity::failed, kDown});
  serving.stop();
  REQUIRE(serving.left() == ScopeState::owned);
  const std::size_t claims = serving.world().store.claim_calls.size();
  serving.world().start();
  for (std::int64_t id = 2; id <= 10; ++id) REQUIRE(serving.daemon.one("orders") == id);
  REQUIRE(serving.world().store.claim_calls.size() == claims);
  // It is back: the next stop is clean.
  serving.world().store.identities.clear();
  serving.world().advance(Backoff::kMostMs);
  REQUIRE(serving.daemon.one("orders") == 11);
  serving.stop();
  REQUIRE(serving.left() == ScopeState::clean);
}

TEST_CASE("StopWaitsABoundedTimeForAStoreThatDoesNotAnswer", "[store_outage]") {
  Serving serving;
  CoreWorld& world = serving.world();
  const std::int64_t before_ms = world.time.monotonic_ms();
  world.table->begin_stop(kStopping);
  world.turn();
  REQUIRE_FALSE(world.table->settled());
  world.time.advance(*world.time.next_delay_ms());
  world.turn();
  REQUIRE(world.table->settled());
  REQUIRE(world.time.monotonic_ms() - before_ms <= 1'000);
  REQUIRE_FALSE(world.table->leave_clean());
}

TEST_CASE("StopOfALifeInWhichTheStoreNeverAnsweredLeavesWhatItFound", "[store_outage]") {
  Serving serving;
  serving.world().kill();
  serving.world().store.where = "elsewhere";
  serving.world().store.identities.assign(100, {Identity::failed, kDown});
  serving.world().start();
  serving.world().settle();
  serving.stop();
  REQUIRE(serving.left() == ScopeState::owned);
  serving.world().store.where = "memory";
  serving.world().start();
  REQUIRE(serving.daemon.one("orders") == 2);
}

TEST_CASE("StopThatHoldsNothingOfTheStoreDoesNotAskIt", "[store_outage]") {
  Serving serving;
  REQUIRE(serving.world().table->orders().drain(1, 60'000, [](const DrainReport&) {}).ok());
  serving.world().settle();
  serving.world().store.identities.assign(100, {Identity::failed, kDown});
  serving.stop();
  REQUIRE(serving.world().store.identity_calls == 0);
  REQUIRE(serving.left() == ScopeState::clean);
}

// Rule R2: a remainder that was left clean may have been claimed by a copy of the directory since.
// Whoever serves it by the witness alone issues the copy's IDs again.
TEST_CASE("CleanRemainderIsNotServedWithoutItsClaimBecauseACopyMayHaveIt", "[store_outage]") {
  Serving serving;
  serving.stop();
  CoreWorld& world = serving.world();
  auto& [epoch, nonce] = world.store.epochs.at(world.log.image.scopes.at(1).instance);
  ++epoch;  // the copy's claim, after which it issues 2 to 10
  nonce = Token{77};
  world.store.identities.assign(3, {Identity::failed, kDown});
  world.start();
  REQUIRE_FALSE(world.next("orders"));
  world.settle();
  REQUIRE_FALSE(scope_of(world).owned());
  for (int at = 0; at < 4; ++at) {
    world.advance(Backoff::kMostMs);
    world.settle();
  }
  REQUIRE(world.events.count(EventKind::gap_epoch_lost) == 1);
  REQUIRE(serving.daemon.one("orders") == 11);
}

TEST_CASE("StatusSaysThatNoLeaseSucceeds", "[store_outage]") {
  Serving serving;
  CoreWorld& world = serving.world();
  REQUIRE(scope_of(world).state_name() == std::string("ready"));
  REQUIRE(world.range("orders", 9));
  world.store.leases.assign(4, {Lease::refuse, kDown});
  static_cast<void>(world.next("orders", {}, 60'000));
  world.settle();
  REQUIRE(scope_of(world).last_error().code() == ErrorCode::UNAVAILABLE);
  REQUIRE(world.events.count(EventKind::store_down) == 0);  // hosts may have met at one counter
  while (!world.store.leases.empty()) {
    world.advance(*world.time.next_delay_ms());
    world.settle();
  }
  world.advance(2'000);
  REQUIRE(scope_of(world).state_name() == std::string("down"));
  REQUIRE(world.events.count(EventKind::store_down) <= 1);
  world.advance(Backoff::kMostMs);
  world.settle();
  REQUIRE(scope_of(world).state_name() == std::string("ready"));
  REQUIRE(scope_of(world).last_error().ok());
}

TEST_CASE("OutageIsReportedOnceAndSoIsItsEnd", "[store_outage]") {
  Serving serving;
  CoreWorld& world = serving.world();
  REQUIRE(world.range("orders", 9));
  world.store.leases.assign(8, {Lease::refuse, kDown});
  static_cast<void>(world.next("orders", {}, 600'000));
  world.settle();
  while (!world.store.leases.empty()) {
    world.advance(*world.time.next_delay_ms());
    world.settle();
  }
  REQUIRE(world.events.count(EventKind::store_down) == 1);
  REQUIRE(world.events.count(EventKind::store_up) == 0);
  world.advance(Backoff::kMostMs);
  world.settle();
  REQUIRE(world.events.count(EventKind::store_up) == 1);
}

TEST_CASE("LeaseThatIsFinallyRefusedIsNoOutage", "[store_outage]") {
  Serving serving;
  CoreWorld& world = serving.world();
  REQUIRE(world.range("orders", 9));
  world.store.leases = {{Lease::refuse, {ErrorCode::EXHAUSTED, "the end"}}};
  static_cast<void>(world.next("orders"));
  world.settle();
  REQUIRE(scope_of(world).last_error().ok());
}

TEST_CASE("OutageBeforeTheFirstContactIsReportedOnce", "[store_outage]") {
  Serving serving;
  CoreWorld& world = serving.world();
  world.kill();
  world.store.where = "elsewhere";
  world.store.identities.assign(20, {Identity::failed, kDown});
  world.start();
  world.settle();
  REQUIRE(world.store.identity_calls == 1);
  CHECK(world.events.count(EventKind::store_down) == 0);  // a single failure is none
  while (!world.store.identities.empty()) {
    world.advance(*world.time.next_delay_ms());
    world.settle();
    const bool down = scope_of(world).state_name() == std::string("down");
    CHECK_FALSE(down);  // nothing may be issued yet: it is waiting
  }
  REQUIRE(world.store.identity_calls == 20);
  CHECK(world.events.count(EventKind::store_down) == 1);
  CHECK(world.events.count(EventKind::store_up) == 0);
  world.advance(Backoff::kMostMs);
  world.settle();
  CHECK(world.events.count(EventKind::store_down) == 1);
  CHECK(world.events.count(EventKind::store_up) == 1);
}

TEST_CASE("SequenceThatTheStoreRefusesIsNoOutageOfTheStore", "[store_outage]") {
  const ErrorCode code = GENERATE(ErrorCode::STORE_REFUSED, ErrorCode::SEQ_TYPE);
  Serving serving;
  CoreWorld& world = serving.world();
  REQUIRE(world.range("orders", 9));
  const Status refusal(code, "not for this one");
  world.store.leases.assign(8, {Lease::refuse, refusal});
  while (!world.store.leases.empty()) {
    static_cast<void>(world.next("orders", {}, 60'000));
    world.settle();
    world.advance(world.time.next_delay_ms().value_or(1'000));
    world.settle();
    CHECK(scope_of(world).state_name() == std::string("ready"));
    CHECK(scope_of(world).last_error().ok());
  }
  CHECK(world.events.count(EventKind::store_down) == 0);
}

TEST_CASE("RefusalEndsAnOutage", "[store_outage]") {
  Serving serving;
  CoreWorld& world = serving.world();
  REQUIRE(world.range("orders", 9));
  world.store.leases.assign(8, {Lease::refuse, kDown});
  world.store.leases.push_back({Lease::refuse, {ErrorCode::STORE_REFUSED, "not allowed"}});
  static_cast<void>(world.next("orders", {}, 600'000));
  world.settle();
  while (!world.store.leases.empty()) {
    world.advance(*world.time.next_delay_ms());
    world.settle();
  }
  CHECK(world.events.count(EventKind::store_down) == 1);
  CHECK(world.events.count(EventKind::store_up) == 1);
  CHECK(scope_of(world).state_name() == std::string("ready"));
}

}  // namespace
}  // namespace seqd
