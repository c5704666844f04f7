// How a host goes on in a database that was put back, once its counters are raised.
#include <optional>
#include <string>

#include "daemon/core/leasing/store_scope.h"
#include "daemon/core/upkeep/floor_watch.h"
#include "tests/unit/idle_host.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

// What it had available may have been leased by a host that could not know of the restore.
TEST_CASE("RaisedCountersLetAHostContinueWithoutWhatItHadAvailable", "[store_restore]") {
  const bool restarts = GENERATE(false, true);
  IdleHost host;
  host.back_up();
  host.beat();
  for (std::int64_t id = 2; id <= 10; ++id) REQUIRE(host.daemon.one("orders") == id);
  host.world().settle();
  REQUIRE(host.daemon.one("orders") == 11);
  const std::int64_t high_water = host.orders().definition().high_water();
  const std::int64_t available = host.orders().available();
  REQUIRE(available > 0);
  host.put_back();
  host.beat();
  REQUIRE(host.world().table->scopes().resume("default").code() == ErrorCode::SEQ_REGRESSED);
  REQUIRE(host.raise().ok());
  REQUIRE(host.daemon.error_of("orders") == ErrorCode::SEQ_REGRESSED);
  REQUIRE(host.store().next_id.at("orders") == high_water);
  const Token before = host.scope().instance();
  REQUIRE(host.world().table->scopes().resume("default").ok());
  REQUIRE(host.world().table->scopes().resume("default").ok());
  host.world().settle();
  REQUIRE(host.scope().instance() != before);
  REQUIRE(host.orders().totals().gaps == available);
  REQUIRE(host.world().events.count(EventKind::gap_restored) == 1);
  if (restarts) host.world().restart();
  host.world().settle();
  REQUIRE(host.store().next_id.at("orders") ==
          high_water);  // nothing is leased before it is asked for
  REQUIRE(host.store().heartbeats.contains(host.scope().instance()));
  REQUIRE(host.daemon.one("orders") == high_water);
  host.beat();
  REQUIRE_FALSE(host.scope().restored());
  REQUIRE(host.world().log.image.heartbeats.at(1).instance == host.scope().instance());
}

// A second restore is noticed before anything is leased, however soon after the first it comes.
TEST_CASE("StoreThatIsPutBackTwiceIsNoticedTwice", "[store_restore]") {
  IdleHost host;
  host.back_up();
  host.beat();
  host.put_back();
  host.beat();
  REQUIRE(host.raise().ok());
  REQUIRE(host.world().table->scopes().resume("default").ok());
  const std::size_t leased = host.store().lease_calls.size();
  SECTION("when it went on") {
    host.world().settle();
    REQUIRE(host.scope().verified());
    host.put_back();
    static_cast<void>(host.world().next("orders", {}, 60'000));
    host.world().settle();
    REQUIRE(host.orders().available() == 0);
  }
  SECTION("when it has claimed, and has no heartbeat") {
    host.world().turn();
    host.world().flush();
    REQUIRE(host.store().deliver());  // the claim
    const std::string ends = GENERATE("not", "killed", "stopped");
    host.world().turn();
    if (ends != "not") host.end(ends == "stopped");
    host.put_back();
    // The look at the entry may fail before it is answered.
    if (ends == "stopped") host.store().beats = {{ScriptedStore::BeatScript::Kind::failed}};
    if (ends != "not") host.world().start();
    static_cast<void>(host.world().next("orders", {}, 60'000));
    host.wait(60'000);
    REQUIRE(host.store().lease_calls.size() == leased);
  }
  REQUIRE(host.scope().restored());
  host.world().restart();
  host.world().settle();
  REQUIRE(host.scope().restored());
}

// The order to go on may come to the next process, which has not raised anything itself.
TEST_CASE("RaiseIsFoundByTheNextProcessOrMissedInAnotherCopy", "[store_restore]") {
  const bool clean = GENERATE(false, true);
  const bool another = GENERATE(false, true);
  IdleHost host;
  host.back_up();
  host.beat();
  host.put_back();
  host.beat();
  host.world().table->scopes().note_raised("default");
  REQUIRE_FALSE(host.scope().raised());  // nothing is yet
  REQUIRE(host.raise().ok());
  host.world().table->scopes().note_raised("default");
  host.world().settle();
  REQUIRE(host.scope().raised());
  host.end(clean);
  if (another) host.put_back();
  host.lease_elsewhere(100);
  host.world().start();
  host.world().settle();
  REQUIRE(host.scope().raised());
  REQUIRE(host.world().table->scopes().resume("default").code() == ErrorCode::SEQ_REGRESSED);
  host.world().table->scopes().read_floor(host.orders().id(),
                                          [](const Status& seen) { REQUIRE(seen.ok()); });
  host.world().settle();
  REQUIRE(host.scope().raised() != another);
  REQUIRE(host.world().table->scopes().resume("default").ok() != another);
}

// What is open in a database that goes on as an older copy is given up: nothing ends it any more.
TEST_CASE("ReturnThatWasOpenDoesNotKeepARestoredStoreStopped", "[store_restore]") {
  const bool restarts = GENERATE(false, true);
  IdleHost host;
  host.world().settings.add("orders").reuse = Reuse::tail;
  host.world().table->apply_settings(host.world().limits);
  host.beat();
  host.back_up();
  host.beat();
  host.store().returns.resize(20, {ScriptedStore::ReturnScript::Kind::failed_lost});
  REQUIRE(
      host.world().table->orders().drain(host.orders().id(), 10, [](const DrainReport&) {}).ok());
  host.world().settle();
  host.world().advance(10);
  host.world().settle();
  REQUIRE(host.orders().slot().returning() == 9);
  REQUIRE_FALSE(in_flight(host.orders()));
  if (restarts) host.end(true);
  host.put_back();
  if (restarts) host.world().start();
  host.world().settle();
  host.beat();
  REQUIRE(host.scope().restored());
  const std::int64_t high_water = host.orders().definition().high_water();
  REQUIRE(host.raise().ok());
  REQUIRE(host.world().table->scopes().resume("default").ok());
  host.world().settle();
  REQUIRE(host.orders().slot().returning() == 0);
  REQUIRE(host.orders().totals().gaps == 9);
  REQUIRE(host.world().events.count(EventKind::gap_restored) == 1);
  const std::size_t asked = host.store().return_calls.size();
  host.world().advance(60'000);
  host.world().restart();
  host.world().settle();
  REQUIRE(host.store().return_calls.size() == asked);
  REQUIRE(host.orders().totals().gaps == 9);
  REQUIRE(host.daemon.one("orders") == high_water);
}

TEST_CASE("LeaseBeingLookedUpIsAbandonedWhenARestoredStoreContinues", "[store_restore]") {
  const bool restarts = GENERATE(false, true);
  IdleHost host;
  host.beat();
  host.back_up();
  host.beat();
  host.store().leases = {{ScriptedStore::LeaseScript::Kind::unknown_applied}};
  host.store().resolutions.resize(100, {ScriptedStore::ResolveScript::Kind::failed});
  for (std::int64_t id = 2; id <= 10; ++id) REQUIRE(host.daemon.one("orders") == id);
  host.world().settle();
  REQUIRE(host.orders().slot().leasing());
  REQUIRE_FALSE(in_flight(host.orders()));
  host.put_back();
  host.beat();
  REQUIRE(host.scope().restored());
  REQUIRE(host.raise().ok());
  REQUIRE(host.world().table->scopes().resume("default").ok());
  const std::size_t asked = host.store().resolve_calls.size();
  host.world().settle();
  if (restarts) host.world().restart();
  host.world().settle();
  host.world().advance(60'000);
  host.world().settle();
  REQUIRE_FALSE(host.orders().slot().leasing());
  REQUIRE(host.orders().totals().unknown == 1);
  REQUIRE(host.store().resolve_calls.size() == asked);
}

// An answer that comes when its store was begun again is of the instance before.
TEST_CASE("HeartbeatThatHangsOverAResumeChangesNothing", "[store_restore]") {
  using Kind = ScriptedStore::BeatScript::Kind;
  const Kind kind = GENERATE(Kind::truth, Kind::failed, Kind::copy);
  IdleHost host;
  host.beat();
  host.back_up();
  host.beat();
  for (std::int64_t id = 2; id <= 10; ++id) REQUIRE(host.daemon.one("orders") == id);
  host.put_back();
  host.store().beats = {{kind}};
  host.store().beats.front().late = true;
  host.world().table->scopes().beat();
  static_cast<void>(host.world().next("orders", {}, 60'000));
  host.world().settle();
  REQUIRE(host.scope().restored());
  REQUIRE(host.raise().ok());
  REQUIRE(host.world().table->scopes().resume("default").ok());
  host.world().turn();
  host.world().flush();  // the claim is sent
  REQUIRE(host.store().deliver_late());
  host.world().settle();
  host.world().advance(60'000);
  host.world().settle();
  REQUIRE(host.scope().verified());
  REQUIRE(host.world().events.count(EventKind::store_restored) == 1);
}

// A store that knows an older copy by other means than the heartbeat, which may have gone back with
// the log. The claim after the resume tells it that an operator has raised the counters.
TEST_CASE("StoreThatRefusesAClaimAsAnOlderCopyIsResumedByTheNextOne", "[store_restore]") {
  IdleHost host;
  host.beat();
  const std::int64_t high_water = host.orders().definition().high_water();
  host.end(true);
  const ScriptedStore::ClaimScript older{ScriptedStore::ClaimScript::Kind::failed,
                                         {ErrorCode::SEQ_REGRESSED, "an older copy"}};
  host.store().claims.push_back(older);
  host.world().restart();
  host.world().settle();
  REQUIRE(host.scope().restored());
  REQUIRE(host.scope().heartbeat().age == StoreAge::restored);
  REQUIRE(host.world().events.count(EventKind::store_restored) == 1);
  REQUIRE(host.daemon.error_of("orders") == ErrorCode::SEQ_REGRESSED);
  REQUIRE_FALSE(host.store().claim_calls.back().resumes);
  REQUIRE(host.raise().ok());
  REQUIRE(host.world().table->scopes().resume("default").ok());
  // Also where its answer is lost once.
  host.store().claims.push_back({ScriptedStore::ClaimScript::Kind::failed, {}});
  host.store().claims.back().error = {ErrorCode::UNAVAILABLE, "the store is away"};
  host.wait(60'000);
  REQUIRE(host.scope().verified());
  REQUIRE(host.store().claim_calls.back().resumes);
  REQUIRE(host.daemon.one("orders") == high_water);
  host.end(true);
  host.world().restart();
  host.world().settle();
  REQUIRE(host.scope().verified());
  REQUIRE_FALSE(host.store().claim_calls.back().resumes);
}

// It never had an entry there, so the right database has none either.
TEST_CASE("NewInstanceThatMetAnOlderCopyUsesTheRightDatabase", "[store_restore]") {
  CoreWorld world;
  world.settings.add("orders");
  world.start();
  world.store.claims.push_back(
      {ScriptedStore::ClaimScript::Kind::failed, {ErrorCode::SEQ_REGRESSED, "an older copy"}});
  static_cast<void>(world.next("orders"));
  world.settle();
  REQUIRE(world.table->scopes().find("default")->restored());
  world.restart();
  static_cast<void>(world.next("orders"));
  world.settle();
  REQUIRE(world.table->scopes().find("default")->verified());
}

}  // namespace
}  // namespace seqd
