// Sequences that begin anew in each period: the present one goes by the clock at every request, and
// what is over leaves a gap that is told, and never an ID twice.
#include <algorithm>
#include <optional>

#include "tests/unit/one_summer.h"
#include "tests/unit/orders.h"

// After the project's headers: both define CHECK, and here Catch's is meant.
#include <catch2/catch.hpp>

namespace seqd {
namespace {

constexpr std::int64_t kHourMs = 3'600'000;
constexpr std::int64_t kDayMs = 24 * kHourMs;
constexpr const char* kFirst = "orders@2023-11-14";  // the world begins at 22:13 UTC
constexpr const char* kSecond = "orders@2023-11-15";

struct Daily : Orders {
  explicit Daily(const std::function<void(SequenceSettings&)>& change = [](SequenceSettings&) {})
      : Orders([&](SequenceSettings& settings) {
          settings.periods.period = "day";
          settings.periods.rule = PeriodRule::make("day", nullptr).value();
          change(settings);
        }) {}

  // One ID of the present period; 0: none, see world.status.
  std::int64_t one() {
    if (const auto id = world.next("orders")) {
      world.turn();
      return *id;
    }
    if (!world.status.ok()) return 0;
    world.settle();
    const Answer& answer = sent().back();
    return answer.status.ok() ? answer.runs.front().first : 0;
  }
  Sequence* of(const std::string& name) {
    const SequenceId id = world.table->find(name);
    return id == 0 ? nullptr : &world.table->at(id);
  }
  void wait(std::int64_t ms) {
    for (constexpr std::int64_t kStepMs = 20'000; ms > 0; ms -= kStepMs) {
      world.advance(std::min(ms, kStepMs));
      world.settle();
    }
  }
};

TEST_CASE("NumbersBeginAnewInEachPeriod", "[core][period]") {
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
  const std::int64_t in_hand = here.of(kFirst)->in_hand();
  REQUIRE(in_hand > 0);
  here.wait(2 * kHourMs);
  CHECK(here.of(kFirst)->in_hand() == 0);
  CHECK(here.of(kFirst)->totals().gaps == in_hand);
  CHECK(here.world.events.count(EventKind::gap_period_end) == 1);
  CHECK(here.world.store.return_calls.empty());
}

TEST_CASE("RemainderStaysInHandUntilThePeriodIsOverForAMinute", "[core][period]") {
  Daily here;
  REQUIRE(here.one() == 1);
  // It is looked every minute: at 00:00:21 it is too early, at 00:01:21 it is not.
  here.wait(kHourMs + 47 * 60'000 + 10'000);  // 00:00:31
  CHECK(here.of("orders") == nullptr);
  CHECK(here.of(kFirst)->in_hand() > 0);
  here.wait(60'000);
  CHECK(here.of(kFirst)->in_hand() == 0);
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
  CHECK(here.of(day)->in_hand() > 0);
  here.wait(2 * kHourMs);
  CHECK(here.of(day)->in_hand() == 0);
}

TEST_CASE("WithReuseTailTheRemainderOfAPeriodIsGivenBack", "[core][period]") {
  Daily here([](SequenceSettings& settings) { settings.reuse = Reuse::tail; });
  REQUIRE(here.one() == 1);
  here.wait(2 * kHourMs);
  CHECK(here.of(kFirst)->in_hand() == 0);
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

TEST_CASE("ClockThatIsSetBackGoesOnInTheFormerPeriodWithNewNumbers", "[core][period]") {
  Daily here;
  REQUIRE(here.one() == 1);
  REQUIRE(here.one() == 2);
  here.wait(2 * kHourMs);
  REQUIRE(here.one() == 1);
  const std::int64_t later = here.of(kSecond)->in_hand();
  here.world.time.wall_set_ms = -3 * kHourMs;
  const std::int64_t former = here.one();
  CHECK(former > 2);
  CHECK(here.of("orders") == here.of(kFirst));
  // The later period comes again, with what it had.
  here.wait(60'000 * 5);
  CHECK(here.of(kSecond)->in_hand() == later);
  here.world.time.wall_set_ms = 0;
  CHECK(here.one() == 2);
  CHECK(here.of("orders") == here.of(kSecond));
}

TEST_CASE("PeriodWhoseCounterMayHaveBeenRemovedIsRefused", "[core][period]") {
  Daily here([](SequenceSettings& settings) { settings.periods.retain_ms = 2 * kDayMs; });
  REQUIRE(here.one() == 1);
  here.world.time.wall_set_ms = -2 * kDayMs;
  CHECK(here.one() == 1);
  here.world.time.wall_set_ms = -4 * kDayMs;
  CHECK(here.one() == 0);
  CHECK(here.world.status.code() == ErrorCode::SEQ_REGRESSED);
  CHECK(here.world.status.text().find("2023-11-14 was in use here already") != std::string::npos);
  here.world.time.wall_set_ms = 0;
  CHECK(here.one() == 2);
}

TEST_CASE("PeriodsThatAreLongOverDoNotFillTheTable", "[core][period]") {
  Daily here([](SequenceSettings& settings) { settings.reuse = Reuse::tail; });
  here.world.limits.sequences = 40;
  here.world.restart();
  here.world.settle();
  for (int day = 0; day < 200; ++day) {
    REQUIRE(here.one() == 1);
    here.world.time.wall_set_ms += kDayMs;
    here.wait(60'000);
  }
  CHECK(here.world.table->list().size() < 40);
  CHECK(here.of(kFirst) == nullptr);
  // Nor do they come back.
  const std::size_t known = here.world.table->list().size();
  here.world.restart();
  here.world.settle();
  CHECK(here.world.table->list().size() == known);
  CHECK(here.one() == 1);
}

TEST_CASE("NewestPeriodIsKnownHoweverLongItHasBeenOver", "[core][period]") {
  Daily here;
  REQUIRE(here.one() == 1);
  here.world.time.wall_set_ms += 400 * kDayMs;
  here.wait(120'000);
  REQUIRE(here.of(kFirst) != nullptr);
  CHECK(here.of(kFirst)->in_hand() == 0);
  REQUIRE(here.one() == 1);
  here.wait(60'000);
  CHECK(here.of(kFirst) == nullptr);
}

TEST_CASE("PeriodWithIdsOnTheirWayBackIsNotForgotten", "[core][period]") {
  Daily here([](SequenceSettings& settings) { settings.reuse = Reuse::tail; });
  REQUIRE(here.one() == 1);
  for (int times = 0; times < 1'000; ++times)
    here.world.store.returns.push_back({ScriptedStore::ReturnScript::Kind::failed_lost});
  here.world.time.wall_set_ms += 400 * kDayMs;
  REQUIRE(here.one() == 1);
  here.wait(180'000);
  REQUIRE(here.of(kFirst) != nullptr);
  CHECK(here.of(kFirst)->draining().on_its_way() > 0);
  here.world.store.returns.clear();
  here.wait(300'000);
  CHECK(here.of(kFirst) == nullptr);
}

TEST_CASE("PeriodIsNotForgottenWhileARequestForItCanBeRepeated", "[core][period]") {
  Daily here;
  ReplayTable* replays = &here.world.table->replays();
  const ClientId client = replays->attach(Token{1})->client;
  Caller asking = caller(1, 1);
  asking.client = client;
  static_cast<void>(here.world.next("orders", asking));
  here.world.settle();
  REQUIRE(replays->find(client, 1).size() == 1);
  here.world.time.wall_set_ms += 400 * kDayMs;
  REQUIRE(here.one() == 1);
  here.wait(180'000);
  REQUIRE(here.of(kFirst) != nullptr);
  replays->acknowledge(client, 2);
  here.wait(60'000);
  CHECK(here.of(kFirst) == nullptr);
}

TEST_CASE("CounterOfAPeriodThatMayHaveBeenForgottenIsNotMadeAnew", "[core][period]") {
  Daily here;
  REQUIRE(here.one() == 1);
  here.world.time.wall_set_ms += 400 * kDayMs;
  REQUIRE(here.one() == 1);
  here.wait(120'000);
  REQUIRE(here.of(kFirst) == nullptr);
  // It is there, and goes on above what was leased of it.
  here.world.time.wall_set_ms = 0;
  CHECK(here.one() > 1);
  CHECK(here.world.store.lease_calls.back().guard >= 1);
  // One of which nothing was known here is taken to be there, too.
  here.world.time.wall_set_ms = 100 * kDayMs;
  static_cast<void>(here.one());
  CHECK(here.world.store.lease_calls.back().guard == 1);
  // But not one that has come since.
  here.world.time.wall_set_ms = 401 * kDayMs;
  static_cast<void>(here.one());
  CHECK(here.world.store.lease_calls.back().guard == 0);
}

TEST_CASE("PeriodOfWhichNothingWasEverLeasedHereIsRefusedAsOneThatIsNotKnown", "[core][period]") {
  Daily here([](SequenceSettings& settings) { settings.periods.retain_ms = 2 * kDayMs; });
  here.world.time.wall_set_ms = -4 * kDayMs;
  REQUIRE(here.world.table->open("orders").ok());
  here.world.turn();
  here.world.time.wall_set_ms = 0;
  REQUIRE(here.one() == 1);
  here.world.time.wall_set_ms = -4 * kDayMs;
  CHECK(here.one() == 0);
  CHECK(here.world.status.code() == ErrorCode::SEQ_REGRESSED);
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
  CHECK(here.of(kFirst)->in_hand() > 0);
  here.wait(60'000);
  CHECK(here.of(kFirst)->in_hand() == 0);
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
  CHECK(here.of(kFirst)->stopped().code() == ErrorCode::NO_SEQUENCE);
  CHECK(here.of(kFirst)->in_hand() > 0);
  CHECK(here.one() == 1);
  CHECK(here.of("orders")->name() == "orders");
}

}  // namespace
}  // namespace seqd
