// What a host that starts does when the database of a store was put back from an older copy: it
// compares heartbeats before it claims or issues.
#include "daemon/core/leasing/store_scope.h"
#include "tests/unit/idle_host.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("RestartedHostComparesBeforeItIssuesOrClaims", "[store_restore]") {
  const bool clean = GENERATE(false, true);
  const bool has_identity = GENERATE(false, true);
  IdleHost host;
  host.store().has_identity = has_identity;
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
  const ScriptedContents& contents = world.store;
  const ScriptedContents newest = contents;
  world.store.epochs.clear();
  world.settle();
  REQUIRE(world.table->scopes().find("default")->restored());
  REQUIRE(world.store.lease_calls.empty());
  world.kill();
  if (forfeits) forfeit(world);
  world.start();
  world.settle();
  static_cast<void>(world.next("orders", {}, 60'000));
  world.settle();
  REQUIRE(world.table->scopes().find("default")->restored());
  REQUIRE(world.store.lease_calls.empty());
  // The right database has the entry.
  static_cast<ScriptedContents&>(world.store) = newest;
  world.restart();
  world.settle();
  REQUIRE(world.table->scopes().find("default")->verified());
}

// The copy was made between the claim and the first heartbeat: its entry has none, and a raise
// would make one.
TEST_CASE("CopyFromBeforeTheFirstHeartbeatDoesNotPassForTheRightOneAtTheNextStart",
          "[store_restore]") {
  const bool clean = GENERATE(false, true);
  IdleHost host;
  host.beat();
  const ScriptedContents newest = host.contents();
  host.store().heartbeats.clear();
  host.beat();
  REQUIRE(host.scope().restored());
  for (int starts = 0; starts < 3; ++starts) {
    host.end(clean);
    host.world().start();
    host.world().settle();
    REQUIRE(host.scope().restored());
    REQUIRE(host.daemon.error_of("orders") == ErrorCode::SEQ_REGRESSED);
  }
  host.put(newest);
  host.end(clean);
  host.world().start();
  host.world().settle();
  REQUIRE(host.daemon.one("orders") == 2);
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
