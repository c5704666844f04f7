// What a host issues that was stopped, or away from its store, while another one advanced the
// counter for every host: nothing below the floor once the store answers, and what is available
// while it does not.
#include "daemon/core/leasing/store_scope.h"
#include "tests/unit/core_daemon.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using Identity = ScriptedStore::IdentityScript::Kind;
using Lease = ScriptedStore::LeaseScript::Kind;
using Read = ScriptedStore::ReadScript::Kind;
using Resolve = ScriptedStore::ResolveScript::Kind;

// One daemon has issued 1 and has 2 to 10 available.
struct Stopped {
  Stopped() { REQUIRE(daemon.one("orders") == 1); }
  CoreWorld& world() { return daemon.world; }
  void advance_elsewhere(const std::string& name = "orders") {
    world().store.next_id[name] = world().store.floors[name] = 5'000;
  }
  // Asks, as its first request would; the answer may come later.
  void ask() { REQUIRE_FALSE(world().next("orders").has_value()); }
  std::int64_t answer() {
    REQUIRE(world().answers.sent.size() == 1);
    const Answer answer = std::move(world().answers.sent.back());
    world().answers.sent.clear();
    REQUIRE(answer.status.ok());
    return answer.runs.front().first;
  }
  void start() {
    world().start();
    world().answers.sent.clear();
  }
  CoreDaemon daemon;
};

TEST_CASE("NothingBelowAFloorIsIssuedAfterAStart", "[floor_looks]") {
  Stopped host;
  const bool killed = GENERATE(true, false);
  CAPTURE(killed);
  if (killed) {
    host.world().kill();
  } else {
    host.daemon.leave_clean();
  }
  host.advance_elsewhere();
  host.start();
  host.ask();
  host.world().settle();
  REQUIRE(host.answer() == 5'000);
  REQUIRE(host.world().sequence("orders").totals().gaps == 9);
  // It is known from then on, and read once.
  host.world().settle();
  REQUIRE(host.world().next("orders") == 5'001);
  REQUIRE(host.world().store.read_calls.size() == 1);
}

TEST_CASE("WhatIsAvailableIsIssuedAfterAStartWhereNobodyAdvanced", "[floor_looks]") {
  Stopped host;
  host.world().kill();
  host.start();
  host.ask();
  host.world().settle();
  REQUIRE(host.answer() == 2);
  REQUIRE(host.world().sequence("orders").totals().gaps == 0);
}

TEST_CASE("ASequenceThatHasNothingAvailableIsNotLookedAtFirst", "[floor_looks]") {
  Stopped host;
  host.world().store.leases.assign(3, {Lease::refuse});
  REQUIRE(host.world().range("orders", 9).has_value());
  host.world().settle();
  host.world().kill();
  host.world().store.leases.clear();
  host.start();
  REQUIRE(holds_nothing(host.world().sequence("orders")));
  host.ask();
  host.world().settle();
  REQUIRE(host.answer() == 11);
  REQUIRE(host.world().store.read_calls.empty());
}

// What is looked up may be older than the floor.
TEST_CASE("ALeaseOfTheLastProcessIsComparedBeforeItIsIssued", "[floor_looks]") {
  Stopped host;
  host.world().store.leases.push_back({Lease::unknown_applied});
  host.world().store.resolutions.push_back({Resolve::failed});
  static_cast<void>(host.world().range("orders", 20));
  host.world().settle();
  REQUIRE(host.world().sequence("orders").slot().leasing());
  REQUIRE(host.world().range("orders", 9, {}, 0) == std::nullopt);
  host.world().kill();
  host.advance_elsewhere();
  host.start();
  host.ask();
  host.world().settle();
  REQUIRE(host.answer() >= 5'000);
}

TEST_CASE("AStoreThatIsAwayAtTheStartKeepsNobodyWaiting", "[floor_looks]") {
  Stopped host;
  host.world().kill();
  host.world().store.has_identity = false;
  host.world().store.identities.assign(3, {Identity::failed});
  host.advance_elsewhere();
  host.start();
  host.ask();
  host.world().settle();
  REQUIRE(host.answer() == 2);
  REQUIRE(host.world().next("orders") == 3);
  host.world().turn();
  // When it is there, nothing below the floor is issued any more.
  while (!host.world().sequence("orders").scope().verified()) {
    host.world().advance(*host.world().time.next_delay_ms());
    host.world().settle();
  }
  // What was wanted meanwhile is there already.
  REQUIRE(host.world().next("orders") == 5'000);
  host.world().turn();
}

TEST_CASE("AStoreThatHangsAtTheStartKeepsTheFirstRequestsWaitingForTwoSeconds", "[floor_looks]") {
  Stopped host;
  host.world().kill();
  ScriptedStore::BeatScript late;
  late.late = true;
  host.world().store.beats.push_back(late);
  host.start();
  host.ask();
  host.world().settle();
  REQUIRE(host.world().answers.sent.empty());
  host.world().advance(1'999);
  host.world().settle();
  REQUIRE(host.world().answers.sent.empty());
  host.world().advance(1);
  host.world().settle();
  REQUIRE(host.answer() == 2);
  REQUIRE(host.world().next("orders") == 3);
  host.world().turn();
  // It goes on.
  host.advance_elsewhere();
  REQUIRE(host.world().store.deliver_late());
  static_cast<void>(host.world().next("orders"));
  host.world().settle();
  REQUIRE(host.answer() == 5'000);
}

TEST_CASE("AFloorThatCannotBeReadKeepsNobodyWaiting", "[floor_looks]") {
  Stopped host;
  const ErrorCode code = GENERATE(ErrorCode::UNAVAILABLE, ErrorCode::STORE_REFUSED);
  host.world().restart();
  host.world().answers.sent.clear();
  host.world().store.readings.push_back({Read::failed, {code, "no"}});
  host.ask();
  host.world().settle();
  REQUIRE(host.answer() == 2);
  REQUIRE(host.world().store.read_calls.size() == 1);
}

// Another sequence has found it to be away.
TEST_CASE("AStoreThatFailsDuringALookKeepsNobodyWaiting", "[floor_looks]") {
  Stopped host;
  host.world().settings.add("invoices");
  REQUIRE(host.daemon.one("invoices") == 1);
  host.world().restart();
  host.world().settle();
  host.world().answers.sent.clear();
  host.ask();
  host.world().turn();
  REQUIRE(host.world().store.read_calls.size() == 1);
  const StoreScope& scope = host.world().sequence("orders").scope();
  const_cast<StoreScope&>(scope).note({ErrorCode::UNAVAILABLE, "away"});
  host.world().turn();
  host.world().flush();
  host.world().turn();
  REQUIRE(host.answer() == 2);
}

TEST_CASE("NothingBelowAFloorIsIssuedOnceAStoreAnswersThatWasDown", "[floor_looks]") {
  Stopped host;
  host.world().restart();
  host.world().settle();
  const Caller waiting{9, 1, 0};
  host.world().store.leases.assign(1'000, {Lease::refuse});
  static_cast<void>(host.world().range("orders", 20, waiting, 60'000));
  while (host.world().events.count(EventKind::store_down) == 0) {
    host.world().settle();
    host.world().advance(500);
  }
  host.advance_elsewhere();
  // Nobody can know of it: what is available is issued.
  host.world().table->cancel(waiting.session);
  REQUIRE(host.world().next("orders") == 2);
  host.world().turn();
  host.world().answers.sent.clear();
  host.world().store.leases.clear();
  static_cast<void>(host.world().range("orders", 20, waiting, 60'000));
  while (host.world().answers.sent.empty()) {
    host.world().advance(500);
    host.world().settle();
  }
  REQUIRE(host.world().events.count(EventKind::store_up) == 1);
  REQUIRE(host.answer() == 5'000);
  REQUIRE(host.world().sequence("orders").totals().gaps == 8);
}

// Clients issue the IDs of their blocks without a request to the daemon.
TEST_CASE("BlocksBelowAFloorEndAtTheStart", "[floor_looks]") {
  Stopped host;
  CoreWorld& world = host.world();
  world.settings.by_name["orders"].blocks = true;
  const ClientId client = world.table->replays().attach(Token{1}, 1'000)->client;
  REQUIRE(world.table->blocks().prepare_grant(client, 1'000).ok());
  REQUIRE(world.sequence("orders").grant_block({5, 1, client, 1'000}, 0, 3).ok());
  world.settle();
  world.kill();
  host.advance_elsewhere();
  world.start();
  REQUIRE(world.sequence("orders").out() > 0);
  world.settle();
  REQUIRE(world.sequence("orders").out() == 0);
  REQUIRE(world.pages.slot(client, 0).limit == 0);
}

}  // namespace
}  // namespace seqd
