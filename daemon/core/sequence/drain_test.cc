// What a sequence does when it is drained: see drain.h and tests/model/return.pml.
#include "daemon/core/sequence/drain.h"

#include <optional>

#include "tests/unit/orders.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using Script = ScriptedStore::ReturnScript::Kind;

struct Drained : Orders {
  explicit Drained(Reuse reuse)
      : Orders([reuse](SequenceSettings& settings) {
          settings.reuse = reuse;
          settings.lease_min = 10;
        }) {
    world.log.any_order = reuse == Reuse::parked;
  }
  std::int64_t one() {
    if (const auto id = world.next("orders")) {
      world.turn();
      return *id;
    }
    world.settle();
    const Answer& answer = sent().back();
    return answer.status.ok() ? answer.runs.front().first : -1;
  }
  void begin(std::int64_t timeout_ms = 1'000) {
    report.reset();
    REQUIRE(
        world.table->orders()
            .drain(sequence().id(), timeout_ms, [this](const DrainReport& done) { report = done; })
            .ok());
  }
  DrainReport drain(std::int64_t timeout_ms = 1'000) {
    begin(timeout_ms);
    world.settle();
    REQUIRE(report.has_value());
    return *report;
  }
  std::int64_t store_next() { return world.store.next_id["orders"]; }
  std::optional<DrainReport> report;
};

TEST_CASE("WithReuseNeverWhatIsDrainedIsAGapAndTheStoreIsNotAsked", "[core]") {
  Drained here(Reuse::never);
  REQUIRE(here.one() == 1);
  const std::int64_t available = here.sequence().available();
  const DrainReport report = here.drain();
  REQUIRE(report.gaps.size() >= 1);
  CHECK(report.returned.empty());
  CHECK(report.available == 0);
  CHECK(here.sequence().available() == 0);
  CHECK(here.sequence().totals().gaps == available);
  CHECK(here.world.store.return_calls.empty());
  CHECK(here.world.events.count(EventKind::gap_drained) >= 1);
  CHECK(here.one() == available + 2);
}

TEST_CASE("WhatFailedBeforeADrainIsNotLeasedForBehindIt", "[core]") {
  Drained here(Reuse::never);
  REQUIRE(here.one() == 1);
  here.world.store.leases.assign(2, {ScriptedStore::LeaseScript::Kind::refuse});
  static_cast<void>(here.world.range("orders", 50, caller(1), 0));
  here.world.settle();
  here.drain();
  here.world.store.leases.clear();
  const std::size_t leases = here.world.store.lease_calls.size();
  here.world.advance(60'000);
  here.world.settle();
  CHECK(here.world.store.lease_calls.size() == leases);
  CHECK(here.sequence().available() == 0);
  CHECK(state_name(here.sequence()) == "ready");
}

TEST_CASE("WithReuseTailTheCounterGoesBackAndTheNextLeaseBeginsThere", "[core]") {
  Drained here(Reuse::tail);
  REQUIRE(here.one() == 1);
  const DrainReport report = here.drain();
  CHECK(report.gaps.empty());
  CHECK(here.store_next() == 2);
  CHECK(here.sequence().definition().high_water() == 2);
  CHECK(here.one() == 2);
}

TEST_CASE("WithReuseTailWhatIsNotTheEndIsAGapAndTheHighWaterMarkStays", "[core]") {
  Drained here(Reuse::tail);
  REQUIRE(here.one() == 1);
  const std::int64_t high_water = here.sequence().definition().high_water();
  here.world.store.next_id["orders"] += 5;  // another host leased behind ours
  const DrainReport report = here.drain();
  CHECK(report.returned.empty());
  CHECK_FALSE(report.gaps.empty());
  CHECK_FALSE(report.why.empty());
  CHECK(here.sequence().definition().high_water() == high_water);
  CHECK(here.one() == high_water + 5);
}

TEST_CASE("WhatAnotherHostGaveBackBelowOursIsNoRegression", "[core]") {
  Drained here(Reuse::tail);
  REQUIRE(here.one() == 1);
  here.world.store.next_id["orders"] = 100;  // others hold up to 99
  here.drain();
  REQUIRE(here.one() == 100);
  const DrainReport report = here.drain();
  REQUIRE_FALSE(report.returned.empty());
  REQUIRE(here.store_next() == 101);
  REQUIRE(here.sequence().definition().high_water() == 101);
  // Nothing above 100 was used here, but 100 was.
  here.world.store.next_id["orders"] = 100;
  CHECK(here.one() == -1);
  CHECK(here.sequence().stop_error().code() == ErrorCode::SEQ_REGRESSED);
}

TEST_CASE("AParkedRangeIsTakenBeforeTheCounterMovesThoughItLiesBelowTheHighWaterMark", "[core]") {
  Drained here(Reuse::parked);
  REQUIRE(here.one() == 1);
  here.drain();
  REQUIRE(here.sequence().available() == 0);
  const std::int64_t end = here.store_next();
  REQUIRE(here.world.store.parked["orders"].size() >= 1);
  const std::int64_t high_water = here.sequence().definition().high_water();
  CHECK(high_water == end);
  CHECK(here.one() == 2);
  CHECK(here.world.store.took_parked.size() == 1);
  CHECK(here.sequence().definition().high_water() >= high_water);
  // Then the counter goes on, where nobody was before.
  for (std::int64_t id = 3; id < end; ++id) CHECK(here.one() == id);
  CHECK(here.one() == end);
}

TEST_CASE("ARequestThatComesDuringADrainWaitsAndIsServedFromANewLease", "[core]") {
  Drained here(Reuse::tail);
  REQUIRE(here.one() == 1);
  here.begin();
  CHECK_FALSE(here.world.next("orders").has_value());
  REQUIRE(here.world.status.ok());
  here.world.settle();
  REQUIRE(here.report.has_value());
  CHECK(here.sent().back().runs.front().first == 2);
}

TEST_CASE("WhatWasWantedBeforeADrainIsNotLeasedBehindIt", "[core]") {
  Drained here(Reuse::never);
  REQUIRE(here.one() == 1);
  const bool contended = GENERATE(false, true);
  here.world.store.leases = {{ScriptedStore::LeaseScript::Kind::refuse}};
  here.world.store.leases.front().contended = contended;
  while (here.sequence().available() > 3) REQUIRE(here.one() > 0);
  here.world.turn();
  here.world.flush();
  REQUIRE(in_flight(here.sequence()));
  here.begin();
  here.world.settle();
  REQUIRE(here.report.has_value());
  const std::size_t leases = here.world.store.lease_calls.size();
  here.world.advance(60'000);
  here.world.settle();
  CHECK(here.sequence().available() == 0);
  CHECK(here.world.store.lease_calls.size() == leases);
  CHECK(here.one() > 0);
}

TEST_CASE("TheReturnIsDurableBeforeItLeaves", "[core]") {
  Drained here(Reuse::parked);
  REQUIRE(here.one() == 1);
  here.begin();
  here.world.turn();
  CHECK(here.world.store.return_calls.empty());
  CHECK(here.sequence().slot().returning() > 0);
  here.world.settle();  // the store checks, too
  CHECK(here.world.store.return_calls.size() >= 1);
}

TEST_CASE("AReturnWhoseAnswerWasLostIsAskedForAgainWithItsToken", "[core]") {
  const Script kind = GENERATE(Script::failed_applied, Script::failed_lost);
  Drained here(Reuse::parked);
  REQUIRE(here.one() == 1);
  here.world.store.returns.push_back({kind});
  here.begin(60'000);
  here.world.settle();
  while (!here.report) {
    here.world.advance(1'000);
    here.world.settle();
  }
  const auto& calls = here.world.store.return_calls;
  REQUIRE(calls.size() >= 2);
  CHECK(calls[0].token == calls[1].token);
  CHECK_FALSE(calls[1].give_up);
  CHECK(here.report->gaps.empty());
  CHECK(here.world.events.count(EventKind::return_failed) == 1);
  CHECK(here.one() == 2);
}

TEST_CASE("AReturnThatMeetsOthersIsAskedForAgainSoonHoweverOftenItHappens", "[core]") {
  Drained here(Reuse::parked);
  REQUIRE(here.one() == 1);
  const Status others(ErrorCode::UNAVAILABLE, "others changed the counter");
  for (int at = 0; at < 20; ++at)
    here.world.store.returns.push_back({Script::failed_lost, others, true});
  here.begin(60'000);
  here.world.settle();
  for (int at = 0; at < 20; ++at) {
    REQUIRE_FALSE(here.report);
    here.world.advance(Backoff::kMostConflictMs);
    here.world.settle();
  }
  REQUIRE(here.report);
  CHECK(here.report->gaps.empty());
  CHECK(here.world.store.return_calls.size() == 21);
  CHECK(here.one() == 2);
}

TEST_CASE("WhenTimeIsUpTheTokenIsMadeVoidBeforeTheRangeIsAGap", "[core]") {
  const Script kind = GENERATE(Script::failed_applied, Script::failed_lost);
  Drained here(Reuse::parked);
  REQUIRE(here.one() == 1);
  const std::int64_t leased = here.sequence().totals().leased;
  here.begin(0);
  here.world.settle();
  // Nothing was begun without time; with a little, one return is.
  CHECK(here.report->available == leased - 1);
  here.world.store.returns.push_back({kind});
  here.world.store.returns.push_back({Script::failed_lost});  // behind the deadline
  here.begin(1);
  here.world.settle();
  here.world.advance(5);
  here.world.settle();
  REQUIRE(here.report.has_value());
  CHECK(here.report->returning + here.report->available == leased - 1);
  CHECK(here.sequence().totals().gaps == 0);
  for (int i = 0; i < 20; ++i) {
    here.world.advance(1'000);
    here.world.settle();
  }
  REQUIRE(here.world.store.return_calls.size() == 3);
  CHECK(here.world.store.return_calls.back().give_up);
  CHECK(here.world.store.returned.contains(here.world.store.return_calls[0].token));
  CHECK(here.sequence().slot().returning() == 0);
  const bool applied = kind == Script::failed_applied;
  CHECK((here.sequence().totals().returned > 0) == applied);
  CHECK((here.sequence().totals().gaps > 0) == !applied);
}

// A store that refuses: asking again would not help, and the range is a gap. The next return is
// another matter.
TEST_CASE("AReturnThatWasFinallyRefusedDoesNotStopTheNextOne", "[core]") {
  Drained here(Reuse::parked);
  REQUIRE(here.one() == 1);
  here.world.store.returns.push_back({Script::failed_lost, {ErrorCode::STORE_REFUSED, "no"}});
  here.begin(60'000);
  here.world.settle();
  while (!here.report) {
    here.world.advance(1'000);
    here.world.settle();
  }
  const std::int64_t gaps = here.sequence().totals().gaps;
  REQUIRE(gaps > 0);
  REQUIRE(here.world.store.return_calls.size() == 2);
  CHECK(here.world.store.return_calls.back().give_up);
  REQUIRE(here.one() > 0);
  const DrainReport report = here.drain(60'000);
  CHECK(report.gaps.empty());
  REQUIRE(here.world.store.return_calls.size() == 3);
  CHECK_FALSE(here.world.store.return_calls.back().give_up);
  CHECK(here.sequence().totals().gaps == gaps);
  CHECK(here.sequence().totals().returned > 0);
}

TEST_CASE("AReturnThatWasOpenWhenTheDaemonDiedIsAskedForByTheNextOne", "[core]") {
  const Reuse reuse = GENERATE(Reuse::tail, Reuse::parked);
  const Script kind = GENERATE(Script::failed_applied, Script::failed_lost);
  Drained here(reuse);
  REQUIRE(here.one() == 1);
  here.world.store.returns.push_back({kind});
  here.begin();
  here.world.turn();
  here.world.flush();
  REQUIRE(here.world.store.return_calls.size() == 1);
  const Token token = here.world.store.return_calls[0].token;
  here.world.store.drop_pending();
  here.world.restart();
  here.world.settle();
  REQUIRE(here.world.store.return_calls.size() >= 2);
  CHECK(here.world.store.return_calls[1].token == token);
  CHECK(here.sequence().slot().returning() == 0);
  CHECK(here.sequence().totals().returned > 0);
  CHECK(here.one() == 2);
}

TEST_CASE("WhatIsIssuedInTheTurnInWhichAReturnEndsStaysBelowTheHighWaterMark", "[core]") {
  Drained here(Reuse::tail);
  REQUIRE(here.one() == 1);
  here.world.store.next_id["orders"] = 100;  // another host leased behind ours
  // Somebody wants more than is available, and goes away when the lease is under way.
  const std::int64_t rest = here.sequence().available();
  REQUIRE_FALSE(here.world.range("orders", rest + 1, caller(9)));
  here.world.turn();
  here.world.table->cancel(9);
  here.world.settle();
  REQUIRE(here.sequence().available() == rest + here.sequence().definition().high_water() - 100);
  here.begin();
  here.world.turn();
  here.world.flush();
  REQUIRE(here.world.store.return_calls.size() == 1);
  here.world.store.drop_pending();
  here.world.restart();
  for (;;) {
    here.sequence().looked(true);  // as if its floor had been read
    here.world.turn();
    if (here.world.log.flush_due()) here.world.flush();
    if (here.world.store.return_calls.size() == 2) break;
    REQUIRE(here.world.store.deliver());
  }
  REQUIRE(here.sequence().slot().returning() > 0);
  REQUIRE(here.sequence().available() > 0);
  std::int64_t last = 0;
  while (const auto id = here.world.next("orders")) last = *id;
  REQUIRE(here.world.store.deliver());
  here.world.turn();  // and the high-water mark is held against the log
  CHECK(here.sequence().definition().high_water() == last + 1);
}

TEST_CASE("ADrainWithoutAStoreOrBeforeTheClaimIsAnErrorAndChangesNothing", "[core]") {
  CoreWorld world;
  world.settings.add("orders");
  world.store.claims.push_back({ScriptedStore::ClaimScript::Kind::failed});
  world.start();
  static_cast<void>(world.next("orders"));
  world.settle();
  const Status refused =
      world.table->orders().drain(world.sequence("orders").id(), 10, [](const DrainReport&) {});
  CHECK(refused.code() == ErrorCode::UNAVAILABLE);
}

TEST_CASE("ADrainOfASequenceWhoseStoreIsNotConfiguredIsAnErrorAndChangesNothing", "[core]") {
  CoreWorld world;
  world.settings.add("orders");
  world.start();
  static_cast<void>(world.next("orders"));
  world.settle();
  const std::int64_t available = world.sequence("orders").available();
  world.kill();
  world.stores.clear();
  world.start();
  world.settle();
  const Status refused =
      world.table->orders().drain(world.sequence("orders").id(), 10, [](const DrainReport&) {});
  CHECK(refused.code() == ErrorCode::CONFIG);
  CHECK(refused.text().find("store \"default\" is not running") != std::string::npos);
  CHECK(world.sequence("orders").available() == available);
}

TEST_CASE("ADrainThatTheStopOvertakesIsAnsweredAndLeavesTheRestAvailable", "[core]") {
  Drained here(Reuse::parked);
  REQUIRE(here.one() == 1);
  here.begin();
  here.world.table->begin_stop({ErrorCode::STOPPING, "stop"});
  REQUIRE(here.report.has_value());
  CHECK(here.report->available == here.sequence().available());
  CHECK(here.report->available > 0);
}

}  // namespace
}  // namespace seqd
