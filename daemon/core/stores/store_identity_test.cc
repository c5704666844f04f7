// What a scope does with the identity of its store: the ranges belong to one database, whatever the
// configuration calls it.
#include "daemon/core/leasing/store_scope.h"
#include "tests/unit/core_daemon.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using Identity = ScriptedStore::IdentityScript::Kind;

const Status kDown(ErrorCode::UNAVAILABLE, "down");

const StoreScope& scope_of(const CoreWorld& world) {
  return *world.table->scopes().find("default");
}

// A daemon that issued IDs 1 to 3 of 10 from a server, and ended.
struct Ended {
  explicit Ended(bool clean) {
    daemon.world.store.has_identity = false;
    for (std::int64_t id = 1; id <= 3; ++id) REQUIRE(daemon.one("orders") == id);
    daemon.world.settle();
    end(clean);
  }
  void end(bool clean) {
    if (clean) {
      daemon.leave_clean();
    } else {
      daemon.world.kill();
    }
  }
  void move_store() { world().store.where = "elsewhere"; }
  void other_store() {
    move_store();
    world().store.identity = Token{2};
    world().store.next_id.clear();
    world().store.epochs.clear();
  }
  CoreWorld& world() { return daemon.world; }
  std::int64_t gaps() { return world().sequence("orders").totals().gaps; }
  std::size_t leases() { return world().store.lease_calls.size(); }
  CoreDaemon daemon;
};

TEST_CASE("FirstContactRecordsTheDatabaseBeforeAnythingIsAskedOfIt", "[store_identity]") {
  CoreWorld world;
  world.store.has_identity = false;
  world.settings.add("orders");
  world.start();
  REQUIRE(world.store.identity_calls == 1);
  REQUIRE(world.store.claim_calls.empty());
  world.turn();
  REQUIRE(world.store.deliver());
  world.turn();
  REQUIRE(world.store.claim_calls.empty());
  world.flush();
  REQUIRE(world.store.claim_calls.size() == 1);
  REQUIRE(world.log.durable_image.databases.at(1).identity == world.store.identity);
  REQUIRE(world.log.durable_image.databases.at(1).place == "memory");
}

TEST_CASE("IdentityThatTheStoreTellsAtOnceCostsNoCall", "[store_identity]") {
  CoreDaemon daemon;
  REQUIRE(daemon.one("orders") == 1);
  REQUIRE(daemon.world.store.identity_calls == 0);
  REQUIRE(daemon.world.log.image.databases.at(1).identity == daemon.world.store.identity);
}

TEST_CASE("KilledDaemonContinuesAtTheSamePlaceWithoutTheStore", "[store_identity]") {
  Ended ended(false);
  ended.world().store.identities.assign(1'000, {Identity::failed, kDown});
  ended.world().start();
  for (std::int64_t id = 4; id <= 10; ++id) REQUIRE(ended.daemon.one("orders") == id);
  // The next range is not asked of a database that may be another one.
  REQUIRE_FALSE(ended.world().next("orders", {}, 60'000));
  ended.world().settle();
  REQUIRE(ended.leases() == 1);
  ended.world().store.identities.clear();
  ended.world().advance(Backoff::kMostMs);
  ended.world().settle();
  REQUIRE(ended.world().answers.sent.back().runs.front().first == 11);
}

TEST_CASE("AnotherPlaceIssuesNothingBeforeTheStoreHasSaidThatItIsTheSame", "[store_identity]") {
  const bool clean = GENERATE(false, true);
  Ended ended(clean);
  ended.move_store();
  ended.world().store.identities = {{Identity::failed, kDown}};
  ended.world().start();
  REQUIRE_FALSE(ended.world().next("orders", {}, 60'000));
  ended.world().settle();
  REQUIRE_FALSE(scope_of(ended.world()).owned());
  REQUIRE(scope_of(ended.world()).last_error().code() == ErrorCode::UNAVAILABLE);
  ended.world().advance(Backoff::kMostMs);
  ended.world().settle();
  REQUIRE(ended.world().answers.sent.back().runs == std::vector<Run>{{4, 1, 1}});
  REQUIRE(ended.gaps() == 0);
  REQUIRE(ended.world().log.image.databases.at(1).place == "elsewhere");
  REQUIRE(ended.world().events.count(EventKind::store_down) == 0);  // it was away for less than 2 s
}

TEST_CASE("RemainderOfOneDatabaseIsNotIssuedForAnother", "[store_identity]") {
  const bool clean = GENERATE(false, true);
  const bool has_identity = GENERATE(false, true);
  Ended ended(clean);
  ended.other_store();
  ended.world().store.has_identity = has_identity;
  const std::size_t claims = ended.world().store.claim_calls.size();
  ended.world().start();
  static_cast<void>(ended.world().next("orders"));
  ended.world().settle();
  REQUIRE(ended.daemon.error_of("orders") == ErrorCode::SEQ_CHANGED);
  REQUIRE(scope_of(ended.world()).changed());
  REQUIRE(ended.world().sequence("orders").available() == 7);
  REQUIRE(ended.gaps() == 0);
  REQUIRE(ended.leases() == 1);
  REQUIRE(ended.world().store.claim_calls.size() == claims);
  // Neither does a sequence that is new: it would be of a database that is about to go.
  ended.world().settings.add("new");
  REQUIRE(ended.daemon.error_of("new") == ErrorCode::SEQ_CHANGED);

  // The former setting again, after an end of either kind.
  ended.end(clean);
  ended.world().store.where = "memory";
  ended.world().store.identity = Token{1};
  ended.world().store.next_id["orders"] = 11;
  for (const ClaimRequest& claim : ended.world().store.claim_calls)
    ended.world().store.epochs[claim.instance] = {claim.epoch + 1, claim.nonce};
  ended.world().start();
  ended.world().settle();
  REQUIRE(ended.daemon.one("orders") == 4);
  REQUIRE(ended.gaps() == 0);
}

// The address is the same, and a database of another kind answers there: IDs go out until it has
// said so, and none after.
TEST_CASE("ReplacedDatabaseInTheSamePlaceStopsItsSequences", "[store_identity]") {
  Ended ended(false);
  ended.other_store();
  ended.world().store.where = "memory";
  ended.world().start();
  REQUIRE_FALSE(scope_of(ended.world()).verified());
  ended.world().settle();
  REQUIRE(scope_of(ended.world()).changed());
  REQUIRE(ended.world().events.count(EventKind::sequence_stopped) == 1);
  REQUIRE(ended.daemon.error_of("orders") == ErrorCode::SEQ_CHANGED);
  REQUIRE(ended.leases() == 1);
}

TEST_CASE("LeaseLeftOpenIsNotLookedUpInAnotherDatabase", "[store_identity]") {
  Ended ended(false);
  ended.world().start();
  ended.world().settle();
  REQUIRE_FALSE(ended.world().range("orders", 7));  // its floor is read first
  ended.world().store.leases = {{ScriptedStore::LeaseScript::Kind::unknown_applied, kDown}};
  ended.world().store.resolutions = {{ScriptedStore::ResolveScript::Kind::failed, kDown}};
  static_cast<void>(ended.world().next("orders"));
  ended.world().settle();
  REQUIRE(ended.world().sequence("orders").slot().leasing());
  ended.world().kill();
  const std::size_t looked_up = ended.world().store.resolve_calls.size();

  ended.other_store();
  ended.world().start();
  ended.world().settle();
  REQUIRE(ended.daemon.error_of("orders") == ErrorCode::SEQ_CHANGED);
  REQUIRE(ended.world().store.resolve_calls.size() == looked_up);
  REQUIRE(ended.world().sequence("orders").slot().leasing());
}

TEST_CASE("ReturnLeftOpenIsNotGivenToAnotherDatabase", "[store_identity]") {
  Ended ended(false);
  ended.world().settings.add("orders").reuse = Reuse::parked;
  ended.world().start();
  ended.world().settle();
  ended.world().store.returns = {{ScriptedStore::ReturnScript::Kind::failed_lost, kDown}};
  REQUIRE(ended.world().table->orders().drain(1, 60'000, [](const DrainReport&) {}).ok());
  ended.world().settle();
  REQUIRE(ended.world().store.return_calls.size() == 1);
  ended.world().kill();

  ended.other_store();
  ended.world().start();
  ended.world().settle();
  ended.world().advance(Backoff::kMostMs);
  ended.world().settle();
  REQUIRE(ended.daemon.error_of("orders") == ErrorCode::SEQ_CHANGED);
  REQUIRE(ended.world().store.return_calls.size() == 1);
}

TEST_CASE("DatabaseMayChangeWhereNothingIsLeft", "[store_identity]") {
  const bool clean = GENERATE(false, true);
  const bool same_place = GENERATE(false, true);
  Ended ended(clean);
  ended.world().start();
  ended.world().settle();
  REQUIRE(ended.world().table->orders().drain(1, 60'000, [](const DrainReport&) {}).ok());
  ended.world().settle();
  ended.end(clean);
  const Token before = ended.world().log.image.scopes.at(1).instance;

  ended.other_store();
  if (same_place) ended.world().store.where = "memory";
  ended.world().start();
  REQUIRE(scope_of(ended.world()).owned() == (same_place && !clean));
  ended.world().settle();
  REQUIRE(scope_of(ended.world()).verified());
  REQUIRE(scope_of(ended.world()).instance() != before);
  REQUIRE(ended.world().log.image.databases.at(1).identity == Token{2});
  // What the host leased of the former database stays its lower bound.
  REQUIRE(ended.daemon.one("orders") == -1);
  REQUIRE(ended.daemon.error_of("orders") == ErrorCode::SEQ_REGRESSED);
  REQUIRE(ended.world().events.count(EventKind::fenced) == 0);
}

TEST_CASE("DrainGivesUpWhatCameFromADatabaseThatIsGone", "[store_identity]") {
  Ended ended(false);
  ended.other_store();
  ended.world().start();
  ended.world().settle();
  std::optional<DrainReport> report;
  const auto keep = [&](const DrainReport& drained) { report = drained; };
  REQUIRE(ended.world().table->orders().drain(1, 60'000, keep).ok());
  REQUIRE_FALSE(report);
  ended.world().advance(0);
  REQUIRE(report->gaps.size() == 1);
  REQUIRE(report->gaps.front().begin == 4);
  REQUIRE(report->gaps.front().end == 11);
  REQUIRE(ended.world().events.count(EventKind::gap_drained) == 1);
  REQUIRE(ended.gaps() == 7);
  ended.world().kill();
  ended.world().start();
  ended.world().settle();
  REQUIRE(scope_of(ended.world()).verified());
}

TEST_CASE("PlaceTooLongForTheLogIsRecordedByItsDigest", "[store_identity]") {
  const std::string hosts(5'000, 'h');
  REQUIRE(place_record("mongodb a").size() == 9);
  REQUIRE(place_record(hosts).size() < 1'100);
  REQUIRE(place_record(hosts + "a") != place_record(hosts + "b"));
  REQUIRE(place_record(hosts) == place_record(hosts));
}

TEST_CASE("IdentityIsReadBackFromItsDigits", "[store_identity]") {
  const Token token{0x12, 0xab, 0xff};
  REQUIRE(from_hex(to_hex(token)) == token);
  REQUIRE_FALSE(from_hex(to_hex(token).substr(1)));
  REQUIRE_FALSE(from_hex("x" + to_hex(token).substr(1)));
  REQUIRE_FALSE(from_hex(""));
}

}  // namespace
}  // namespace seqd
