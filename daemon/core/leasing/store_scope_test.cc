#include "daemon/core/leasing/store_scope.h"

#include <set>

#include "tests/unit/world.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using ClaimKind = ScriptedStore::ClaimScript::Kind;

const DefineScope& scope_of(const CoreWorld& world) {
  return world.log.image.scopes.at(1);
}

bool owned(const CoreWorld& world) {
  return world.table->scopes().find("default")->owned();
}

// A world in which one ID was issued; the scope is owned and there is a remainder.
struct Used {
  Used() {
    world.settings.add("orders");
    world.start();
    static_cast<void>(world.next("orders"));
    world.settle();
  }
  void leave_clean() {
    world.table->begin_stop({ErrorCode::STOPPING, "stop"});
    world.turn();
    static_cast<void>(world.table->leave_clean());
    world.turn();
    world.flush();
    world.kill();
  }
  std::int64_t available() { return world.sequence("orders").available(); }
  CoreWorld world;
};

TEST_CASE("FirstStartClaimsAndOwns", "[store_scope]") {
  CoreWorld world;
  world.start();
  REQUIRE_FALSE(owned(world));
  world.settle();
  REQUIRE(owned(world));
  REQUIRE(scope_of(world).state == ScopeState::owned);
  REQUIRE(scope_of(world).epoch == 1);
  REQUIRE(world.store.claim_calls.size() == 1);
  REQUIRE(world.store.claim_calls[0].epoch == 0);
}

TEST_CASE("ClaimLeavesOnlyWhenItsNonceIsDurable", "[store_scope]") {
  CoreWorld world;
  world.start();
  world.turn();
  REQUIRE(world.store.claim_calls.empty());
  world.flush();
  REQUIRE(world.store.claim_calls.size() == 1);
}

TEST_CASE("WonClaimCountsOnlyWhenDurable", "[store_scope]") {
  CoreWorld world;
  world.start();
  world.turn();
  world.flush();
  REQUIRE(world.store.deliver());
  world.turn();
  REQUIRE_FALSE(owned(world));
  world.flush();
  REQUIRE(owned(world));
}

TEST_CASE("CleanRemainderIsUsedAfterTheClaimIsWon", "[store_scope]") {
  Used used;
  const std::int64_t available = used.available();
  used.leave_clean();
  used.world.start();
  REQUIRE(used.available() == available);
  REQUIRE_FALSE(used.world.next("orders"));
  used.world.settle();
  REQUIRE(used.world.answers.sent.back().runs == std::vector<Run>{{2, 1, 1}});
  REQUIRE(scope_of(used.world).epoch == 2);
}

TEST_CASE("LostClaimMakesTheRemainderAGapAndTheScopeANewInstance", "[store_scope]") {
  Used used;
  const std::int64_t available = used.available();
  used.leave_clean();
  const Token before = scope_of(used.world).instance;
  used.world.store.epochs[before].first = 7;  // a copy was faster
  used.world.start();
  used.world.settle();
  REQUIRE(owned(used.world));
  REQUIRE(scope_of(used.world).instance != before);
  REQUIRE(scope_of(used.world).epoch == 1);
  REQUIRE(used.available() == 0);
  REQUIRE(used.world.sequence("orders").totals().gaps == available);
  REQUIRE(used.world.events.count(EventKind::fenced) == 1);
  REQUIRE(used.world.events.count(EventKind::gap_epoch_lost) == 1);
  static_cast<void>(used.world.next("orders"));
  used.world.settle();
  REQUIRE(used.world.answers.sent.back().runs.front().first == 11);
}

TEST_CASE("TwoLostClaimsInARowAreSurvived", "[store_scope]") {
  Used used;
  used.leave_clean();
  // The first is repeated after a second look at the heartbeat.
  used.world.store.claims.resize(3, {ClaimKind::lost, {}});
  used.world.start();
  used.world.settle();
  REQUIRE(owned(used.world));
  REQUIRE(used.world.events.count(EventKind::fenced) == 2);
}

// The store applied the claim and the process died before it heard of it.
TEST_CASE("ClaimRepeatedAfterAKillIsRecognizedByItsNonce", "[store_scope]") {
  Used used;
  const std::int64_t available = used.available();
  used.leave_clean();
  used.world.start();
  REQUIRE(used.world.store.deliver());  // the heartbeat
  used.world.turn();
  used.world.flush();
  REQUIRE(used.world.store.claim_calls.size() == 2);
  used.world.restart();
  used.world.settle();
  REQUIRE(used.world.store.claim_calls.size() == 3);
  REQUIRE(used.world.store.claim_calls[2].nonce == used.world.store.claim_calls[1].nonce);
  REQUIRE(used.world.store.claim_calls[2].epoch == used.world.store.claim_calls[1].epoch);
  REQUIRE(owned(used.world));
  REQUIRE(used.available() == available);
  REQUIRE(used.world.events.count(EventKind::fenced) == 0);
}

// With the nonce of a claim before, a copy of the state would be taken for its own repeat.
TEST_CASE("EveryNewClaimHasANonceOfItsOwn", "[store_scope]") {
  Used used;
  for (int start = 0; start < 2; ++start) {
    used.leave_clean();
    used.world.start();
    used.world.settle();
  }
  used.leave_clean();
  used.world.store.epochs[scope_of(used.world).instance].first = 7;  // a copy was faster
  used.world.start();
  used.world.settle();
  std::set<Token> nonces = {Token{}};
  for (const auto& claim : used.world.store.claim_calls) nonces.insert(claim.nonce);
  // The one that was lost is repeated once, after a second look at the heartbeat.
  REQUIRE(used.world.store.claim_calls.size() == 6);
  CHECK(nonces.size() == 6);
}

TEST_CASE("KillAfterOwningNeedsNoStore", "[store_scope]") {
  Used used;
  used.world.restart();
  REQUIRE(owned(used.world));
  static_cast<void>(used.world.next("orders"));
  used.world.turn();
  used.world.advance(2'000);  // for a floor
  used.world.turn();
  used.world.flush();
  used.world.turn();
  REQUIRE(used.world.answers.sent.back().runs.front().first == 2);
  REQUIRE(used.world.store.claim_calls.size() == 1);
}

TEST_CASE("StoreThatIsDownIsAskedAgainWithBackOff", "[store_scope]") {
  CoreWorld world;
  for (int at = 0; at < 12; ++at)
    world.store.claims.push_back({ClaimKind::failed, {ErrorCode::UNAVAILABLE, "down"}});
  world.start();
  world.settle();
  std::int64_t slowest_ms = 0;
  for (int at = 1; at < 12; ++at) {
    REQUIRE(world.store.claim_calls.size() == static_cast<std::size_t>(at));
    REQUIRE(world.table->scopes().find("default")->last_error().code() == ErrorCode::UNAVAILABLE);
    REQUIRE(world.time.next_delay_ms());
    slowest_ms = std::max(slowest_ms, *world.time.next_delay_ms());
    world.advance(*world.time.next_delay_ms());
    world.settle();
  }
  REQUIRE(slowest_ms > Backoff::kMostMs / 2 - 1);
  REQUIRE(slowest_ms <= Backoff::kMostMs);
  world.advance(Backoff::kMostMs);
  world.settle();
  REQUIRE(owned(world));
  REQUIRE(world.table->scopes().find("default")->last_error().ok());
  REQUIRE(world.events.count(EventKind::store_up) == 1);
}

TEST_CASE("ClaimThatFailedThoughAppliedIsWonByItsRepeat", "[store_scope]") {
  Used used;
  const std::int64_t available = used.available();
  used.leave_clean();
  used.world.store.claims = {{ClaimKind::failed_applied, {ErrorCode::UNAVAILABLE, "no answer"}}};
  used.world.start();
  used.world.settle();
  REQUIRE_FALSE(owned(used.world));
  used.world.advance(Backoff::kMostMs);
  used.world.settle();
  REQUIRE(owned(used.world));
  REQUIRE(used.available() == available);
}

// However far a start has come when the daemon is told to stop: the remainder is not lost.
TEST_CASE("StopAtEveryStateKeepsTheRemainder", "[store_scope]") {
  for (int steps = 0; steps <= 6; ++steps) {
    CAPTURE(steps);
    Used used;
    const std::int64_t available = used.available();
    used.leave_clean();
    CoreWorld& world = used.world;
    world.start();
    const std::function<void()> walk[] = {[&] { world.turn(); },          [&] { world.flush(); },
                                          [&] { world.store.deliver(); }, [&] { world.turn(); },
                                          [&] { world.flush(); },         [&] { world.turn(); }};
    for (int at = 0; at < steps; ++at) walk[at]();
    used.leave_clean();
    REQUIRE(world.log.durable_image.scopes.at(1).state != ScopeState::owned);
    world.start();
    world.settle();
    REQUIRE(owned(world));
    REQUIRE(used.available() == available);
    REQUIRE(world.events.count(EventKind::gap_epoch_lost) == 0);
  }
}

TEST_CASE("StopDuringAPauseLeavesNoTimer", "[store_scope]") {
  CoreWorld world;
  world.store.claims = {{ClaimKind::failed, {ErrorCode::UNAVAILABLE, "down"}}};
  world.start();
  world.settle();
  REQUIRE(world.time.pending() == 1);
  world.table->begin_stop({ErrorCode::STOPPING, "stop"});
  REQUIRE(world.time.pending() == 0);
  world.turn();
  world.kill();
  world.start();
  world.settle();
  REQUIRE(owned(world));
}

TEST_CASE("ScopeWithoutItsStoreKeepsWhatItHolds", "[store_scope]") {
  Used used;
  const std::int64_t available = used.available();
  used.leave_clean();
  used.world.stores.clear();
  used.world.start();
  used.world.settle();
  REQUIRE_FALSE(owned(used.world));
  used.world.kill();
  used.world.stores = {{"default", &used.world.store}};
  used.world.start();
  used.world.settle();
  REQUIRE(used.available() == available);
  REQUIRE(used.world.events.count(EventKind::gap_epoch_lost) == 0);
}

}  // namespace
}  // namespace seqd
