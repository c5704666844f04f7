// Sequences that start again in each period: the present one goes by the clock at every request,
// and what is over leaves a gap that is told, and never an ID twice. Periods that are forgotten are
// in sequence_periods_forgotten_test.cc, wrong clocks in sequence_periods_clock_test.cc.
#include <memory>

#include "tests/unit/daily.h"
#include "tests/unit/one_summer.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("NumbersBeginAgainInEachPeriod", "[core][period]") {
  Daily here;
  CHECK(here.one() == 1);
  CHECK(here.one() == 2);
  here.wait(2 * kHourMs);
  CHECK(here.one() == 1);
  CHECK(here.one() == 2);
  CHECK(here.of(kFirst)->totals().issued == 2);
  CHECK(here.of(kSecond)->totals().issued == 2);
  CHECK(here.of("orders") == here.of(kSecond));
  CHECK(here.world.store.next_id.contains(kFirst));
  CHECK(here.world.store.next_id.contains(kSecond));
  CHECK_FALSE(here.world.store.next_id.contains("orders"));
}

TEST_CASE("WhatIsLeftWhenAPeriodIsOverIsAGapWithThatCause", "[core][period]") {
  Daily here;
  REQUIRE(here.one() == 1);
  const std::int64_t available = here.of(kFirst)->available();
  REQUIRE(available > 0);
  here.wait(2 * kHourMs);
  CHECK(here.of(kFirst)->available() == 0);
  CHECK(here.of(kFirst)->totals().gaps == available);
  CHECK(here.world.events.count(EventKind::gap_period_end) == 1);
  CHECK(here.world.store.return_calls.empty());
}

// What was wanted of a period is wanted no more when it is over.
TEST_CASE("NothingIsLeasedOfAPeriodThatIsOver", "[core][period]") {
  Daily here;
  const ScriptedStore::LeaseScript away{ScriptedStore::LeaseScript::Kind::refuse};
  SECTION("the store was away when it ended, and whoever waited has gone") {
    here.world.store.leases.resize(10'000, away);
    static_cast<void>(here.world.next("orders"));
    here.wait(2 * kHourMs);
    here.world.store.leases.clear();
  }
  SECTION("the store had not answered when it ended") {
    REQUIRE(here.one() == 1);
    here.world.store.leases = {away};
    while (here.of(kFirst)->available() > 3) REQUIRE(here.one() > 0);
    here.world.turn();
    here.world.flush();
    REQUIRE(in_flight(*here.of(kFirst)));
    here.world.advance(2 * kHourMs);
    here.world.settle();
  }
  SECTION("the outcome of a lease was not known at the end, nor to the next daemon at first") {
    here.world.store.leases = {{ScriptedStore::LeaseScript::Kind::unknown_lost}};
    here.world.store.resolutions.resize(10'000, {ScriptedStore::ResolveScript::Kind::failed});
    static_cast<void>(here.world.next("orders"));
    here.wait(2 * kHourMs);
    here.world.restart();
    here.wait(2 * 60'000);
    here.world.store.resolutions.clear();
  }
  const std::int64_t leased = here.of(kFirst)->totals().leased;
  const auto next_id = here.world.store.next_id;
  here.wait(600'000);
  CHECK_FALSE(here.of(kFirst)->slot().leasing());
  CHECK(here.of(kFirst)->totals().leased == leased);
  CHECK(here.of(kFirst)->available() == 0);
  CHECK(here.world.store.next_id == next_id);
}

TEST_CASE("RemainderStaysAvailableUntilThePeriodIsOverForAMinute", "[core][period]") {
  Daily here;
  REQUIRE(here.one() == 1);
  // It is looked every minute: at 00:00:21 it is too early, at 00:01:21 it is not.
  here.wait(kHourMs + 47 * 60'000 + 10'000);  // 00:00:31
  CHECK(here.of("orders") == nullptr);
  CHECK(here.of(kFirst)->available() > 0);
  here.wait(60'000);
  CHECK(here.of(kFirst)->available() == 0);
}

TEST_CASE("DayOfTwentyFiveHoursIsOverWhenItsLastHourIs", "[core][period]") {
  Daily here([](SequenceSettings& settings) {
    settings.periods.rule = PeriodRule::make("day", std::make_shared<OneSummer>()).value();
  });
  here.world.time.wall_set_ms += 1'000 * (kSummerEnds - 1'800) - here.world.time.wall_ms();
  REQUIRE(here.one() == 1);
  const char* const day = "orders@2026-10-25";
  here.wait(22 * kHourMs);
  REQUIRE(here.of("orders") == here.of(day));
  CHECK(here.of(day)->available() > 0);
  here.wait(2 * kHourMs);
  CHECK(here.of(day)->available() == 0);
}

TEST_CASE("WithReuseTailTheRemainderOfAPeriodIsReturned", "[core][period]") {
  Daily here([](SequenceSettings& settings) { settings.reuse = Reuse::tail; });
  REQUIRE(here.one() == 1);
  here.wait(2 * kHourMs);
  CHECK(here.of(kFirst)->available() == 0);
  CHECK(here.of(kFirst)->totals().gaps == 0);
  CHECK(here.world.store.next_id[kFirst] == 2);
}

TEST_CASE("ParkedIdsOfAPeriodThatIsOverWouldNeverBeTaken", "[core][period]") {
  Daily here([](SequenceSettings& settings) { settings.reuse = Reuse::parked; });
  REQUIRE(here.one() == 1);
  here.wait(2 * kHourMs);
  CHECK(here.of(kFirst)->totals().gaps > 0);
  CHECK(here.world.store.return_calls.empty());
}

TEST_CASE("WhoWaitsWhenAPeriodEndsIsServedFromIt", "[core][period]") {
  Daily here;
  here.world.time.advance(kHourMs + 46 * 60'000 + 36'000);  // 23:59:57
  REQUIRE_FALSE(here.world.next("orders", caller(1)).has_value());
  here.world.turn();
  here.world.time.advance(4'000);
  here.world.settle();
  REQUIRE(here.sent().size() == 1);
  CHECK(here.sent()[0].runs.front().first == 1);
  CHECK(here.of(kFirst)->totals().issued == 1);
  CHECK(here.one() == 1);
  CHECK(here.of(kSecond)->totals().issued == 1);
}

TEST_CASE("RemaindersOfPeriodsSurviveAKillAndEndAfterIt", "[core][period]") {
  Daily here;
  REQUIRE(here.one() == 1);
  here.world.restart();
  here.world.settle();
  CHECK(here.one() == 2);
  here.world.kill();
  here.world.time.advance(kDayMs);
  here.world.start();
  here.world.settle();
  REQUIRE(here.of(kFirst) != nullptr);
  CHECK(here.of(kFirst)->available() > 0);
  here.wait(60'000);
  CHECK(here.of(kFirst)->available() == 0);
  CHECK(here.of(kFirst)->totals().gaps > 0);
  CHECK(here.one() == 1);
}

TEST_CASE("SequenceWhosePeriodsWereTakenOutOfTheConfigurationIsKept", "[core][period]") {
  Daily here;
  REQUIRE(here.one() == 1);
  here.world.kill();
  here.world.settings.by_name["orders"].periods = PeriodSettings();
  here.world.start();
  here.world.settle();
  CHECK(here.of(kFirst)->stop_error().code() == ErrorCode::NO_SEQUENCE);
  CHECK(here.of(kFirst)->available() > 0);
  CHECK(here.one() == 1);
  CHECK(here.of("orders")->name() == "orders");
}

}  // namespace
}  // namespace seqd
