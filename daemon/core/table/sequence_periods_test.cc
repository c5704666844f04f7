// Sequences that start again in each period: the present one goes by the clock at every request,
// and what is over leaves a gap that is told, and never an ID twice.
#include <algorithm>
#include <optional>

#include "daemon/core/periods/forgotten_periods.h"
#include "tests/unit/one_summer.h"
#include "tests/unit/orders.h"

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
    REQUIRE(here.of(kFirst)->in_flight());
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
  CHECK_FALSE(here.of(kFirst)->leasing());
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

TEST_CASE("ClockThatIsSetBackGoesOnInTheFormerPeriodWithNewNumbers", "[core][period]") {
  Daily here;
  REQUIRE(here.one() == 1);
  REQUIRE(here.one() == 2);
  here.wait(2 * kHourMs);
  REQUIRE(here.one() == 1);
  const std::int64_t later = here.of(kSecond)->available();
  here.world.time.wall_set_ms = -3 * kHourMs;
  const std::int64_t former = here.one();
  CHECK(former > 2);
  CHECK(here.of("orders") == here.of(kFirst));
  // The later period comes again, with what it had.
  here.wait(60'000 * 5);
  CHECK(here.of(kSecond)->available() == later);
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
  Daily here([](SequenceSettings& settings) {
    settings.reuse = Reuse::tail;
    settings.periods.rule = PeriodRule::make("hour", nullptr).value();
  });
  here.world.limits.sequences = 4;
  here.world.restart();
  here.world.settle();
  for (int hour = 0; hour < 3'000; ++hour) {
    if (here.one() != 1) FAIL(hour << ": " << here.world.status.text());
    here.world.time.wall_set_ms += kHourMs;
    here.wait(60'000);
  }
  CHECK(here.world.log.image.names.at("orders").forgotten.size() <= DefineName::kMostForgotten);
  // Nor do they come back.
  const std::size_t known = here.world.table->list().size();
  CHECK(known <= 4);
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
  CHECK(here.of(kFirst)->available() == 0);
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
  CHECK(here.of(kFirst)->draining().returning() > 0);
  here.world.store.returns.clear();
  here.wait(300'000);
  CHECK(here.of(kFirst) == nullptr);
}

TEST_CASE("PeriodIsNotForgottenWhileARequestForItCanBeRepeated", "[core][period]") {
  Daily here;
  ReplayTable* replays = &here.world.table->replays();
  const ClientId client = replays->attach(Token{1}, 1'000)->client;
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

TEST_CASE("CounterOfAPeriodThatWasForgottenIsNotMadeAgain", "[core][period]") {
  Daily here;
  REQUIRE(here.one() == 1);
  here.world.time.wall_set_ms += 400 * kDayMs;
  REQUIRE(here.one() == 1);
  here.wait(120'000);
  REQUIRE(here.of(kFirst) == nullptr);
  here.world.restart();
  here.world.settle();
  // It is there, and goes on above what was leased of it.
  here.world.time.wall_set_ms = 0;
  CHECK(here.one() > 1);
  CHECK(here.world.store.lease_calls.back().high_water >= 1);
  // One that was never used here may be made, before what was used and behind it.
  for (const std::int64_t day : {-100, 100, 401}) {
    here.world.time.wall_set_ms = day * kDayMs;
    static_cast<void>(here.one());
    CHECK(here.world.store.lease_calls.back().high_water == 0);
  }
}

TEST_CASE("LogOfTheFormerVersionTellsWhatMayHaveBeenForgotten", "[core][period]") {
  Daily here;
  REQUIRE(here.one() == 1);
  here.world.time.wall_set_ms += 400 * kDayMs;
  REQUIRE(here.one() == 1);
  here.world.kill();
  here.world.log.image.names.clear();
  here.world.start();
  here.world.settle();
  const DefineName& known = here.world.log.image.names.at("orders");
  CHECK(known.newest_s == here.of("orders")->settings().periods.current->begin_s);
  CHECK(known.forgotten == std::vector<PeriodSpan>{{0, known.newest_s - 32 * 86'400, 1}});
  // What is still known is as before, and what was forgotten passes for used.
  here.world.time.wall_set_ms = 300 * kDayMs;
  static_cast<void>(here.one());
  CHECK(here.world.store.lease_calls.back().high_water == 1);
  here.world.time.wall_set_ms = 370 * kDayMs;
  static_cast<void>(here.one());
  CHECK(here.world.store.lease_calls.back().high_water == 0);
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
  CHECK(here.of(kFirst)->stopped().code() == ErrorCode::NO_SEQUENCE);
  CHECK(here.of(kFirst)->available() > 0);
  CHECK(here.one() == 1);
  CHECK(here.of("orders")->name() == "orders");
}

// Days of which the configuration knows nothing any more, and has hours or no periods instead.
TEST_CASE("PeriodsThatAreNotConfiguredAnyMoreAreForgottenWithTheirGuards", "[core][period]") {
  const char* const unit = GENERATE("hour", "");
  Daily here;
  for (int day = 0; day < 3; ++day) {
    REQUIRE(here.one() == 1);
    here.world.time.wall_set_ms += kDayMs;
    here.wait(120'000);
  }
  const std::int64_t high_water = here.of(kFirst)->high_water();
  here.world.kill();
  PeriodSettings& periods = here.world.settings.by_name["orders"].periods;
  periods = PeriodSettings();
  if (*unit != '\0') {
    periods.period = unit;
    periods.rule = PeriodRule::make(unit, nullptr).value();
  }
  here.world.start();
  here.world.settle();
  REQUIRE(here.one() == 1);
  REQUIRE(here.of(kFirst)->stopped().code() == ErrorCode::NO_SEQUENCE);
  here.wait(180'000);
  CHECK(here.of(kFirst) != nullptr);
  here.world.time.wall_set_ms = 40 * kDayMs;
  here.wait(180'000);
  CHECK(here.of(kFirst) == nullptr);
  CHECK(here.of(kSecond) == nullptr);
  const Period first = PeriodRule::make("day", nullptr).value()->named("2023-11-14").value();
  CHECK(high_water_of_forgotten(here.world.log.image.names.at("orders").forgotten, first) >=
        high_water);
}

// A clock that was ahead once, for a request or for days, and is right again.
TEST_CASE("PeriodsGoOnWhenAClockThatWasAheadIsRightAgain", "[core][period]") {
  Daily here;
  REQUIRE(here.one() == 1);
  here.world.time.wall_set_ms += 40 * kDayMs;
  for (int day = 0; day < 3; ++day) {
    REQUIRE(here.one() == 1);
    here.wait(120'000);
    here.world.time.wall_set_ms += kDayMs;
  }
  here.world.restart();
  here.world.settle();
  here.world.time.wall_set_ms = 0;
  CHECK(here.one() > 1);
  for (int day = 1; day < 40; ++day) {
    here.world.time.wall_set_ms = day * kDayMs;
    here.wait(120'000);
    if (here.one() != 1) FAIL(day << ": " << here.world.status.text());
  }
  // The days on which it was used go on above what was issued.
  here.world.time.wall_set_ms = 40 * kDayMs;
  CHECK(here.one() > 1);
}

TEST_CASE("AnEndedPeriodIsKeptAMonthWhereThereIsRoom", "[core][period]") {
  Daily here;
  REQUIRE(here.one() == 1);
  here.world.time.wall_set_ms = 31 * kDayMs;
  REQUIRE(here.one() == 1);
  here.wait(180'000);
  CHECK(here.of(kFirst) != nullptr);
  here.world.time.wall_set_ms = 34 * kDayMs;
  here.wait(180'000);
  CHECK(here.of(kFirst) == nullptr);
}

TEST_CASE("PresentPeriodThatWasForgottenMeanwhileIsFoundAgain", "[core][period]") {
  Daily here;
  here.world.limits.sequences = 4;  // two are half of it
  here.world.restart();
  REQUIRE(here.one() == 1);
  // A later period is known, and nothing is issued while the clock is ahead.
  REQUIRE(here.world.table->open_to_advance("orders@2023-11-20").ok());
  here.world.time.wall_set_ms = 3 * kDayMs;
  here.wait(180'000);
  REQUIRE(here.of(kFirst) == nullptr);
  here.world.time.wall_set_ms = 0;
  CHECK(here.one() > 1);
}

TEST_CASE("AdvanceSaysThatTheClockIsRightNow", "[core][period]") {
  Daily here([](SequenceSettings& settings) { settings.periods.retain_ms = 2 * kDayMs; });
  REQUIRE(here.one() == 1);
  here.world.time.wall_set_ms += 40 * kDayMs;
  REQUIRE(here.one() == 1);
  here.world.time.wall_set_ms = kDayMs;
  REQUIRE(here.one() == 0);
  REQUIRE(here.world.status.code() == ErrorCode::SEQ_REGRESSED);
  CHECK(here.world.status.text().find("seqctl advance orders") != std::string::npos);
  const Result<SequenceId> opened = here.world.table->open_to_advance("orders");
  REQUIRE(opened.ok());
  here.world.table->advance(*opened, 0, false, [](const Result<std::int64_t>& /*next*/) {});
  here.world.settle();
  CHECK(here.one() == 1);
  // Also on the days that follow, and after a restart.
  here.world.restart();
  here.world.settle();
  here.world.time.wall_set_ms = 2 * kDayMs;
  CHECK(here.one() == 1);
  // What lies before is refused as ever.
  here.world.time.wall_set_ms = -4 * kDayMs;
  CHECK(here.one() == 0);
}

// The clock was ahead until the period of now was forgotten, and its counter was removed meanwhile.
TEST_CASE("AdvanceOfAForgottenPeriodWithoutItsCounterAnswersAboveItsIds", "[core][period]") {
  Daily here([](SequenceSettings& settings) { settings.periods.retain_ms = 2 * kDayMs; });
  for (std::int64_t id = 1; id <= 5; ++id) REQUIRE(here.one() == id);
  here.world.settle();
  const std::int64_t high_water = here.of(kFirst)->high_water();
  REQUIRE(high_water > 5);
  here.world.time.wall_set_ms = 41 * kDayMs;
  REQUIRE(here.one() == 1);
  here.wait(180'000);
  REQUIRE(here.of(kFirst) == nullptr);
  here.world.store.next_id.erase(kFirst);
  here.world.restart();
  here.world.settle();
  here.world.time.wall_set_ms = 0;
  REQUIRE(here.one() == 0);
  REQUIRE(here.world.status.code() == ErrorCode::SEQ_REGRESSED);
  const Result<SequenceId> opened = here.world.table->open_to_advance("orders");
  REQUIRE(opened.ok());
  std::optional<std::int64_t> next;
  here.world.table->advance(*opened, 0, false,
                            [&](const Result<std::int64_t>& reached) { next = *reached; });
  here.world.settle();
  CHECK(next == high_water);
  CHECK(here.one() == high_water);
}

// It lets requests of that period go on, and there may be none any more.
TEST_CASE("AdvanceOfAStoppedPeriodThatHasEndedLeasesNothing", "[core][period]") {
  Daily here;
  REQUIRE(here.one() == 1);
  here.world.settle();
  here.world.store.next_id[kFirst] = 1;
  for (int tries = 0; tries < 500 && here.of(kFirst)->stopped().ok(); ++tries) here.one();
  REQUIRE(here.of(kFirst)->stopped().code() == ErrorCode::SEQ_REGRESSED);
  here.wait(2 * kHourMs);
  const std::size_t leases = here.world.store.lease_calls.size();
  const std::int64_t gaps = here.of(kFirst)->totals().gaps;
  const Result<SequenceId> opened = here.world.table->open_to_advance(kFirst);
  REQUIRE(opened.ok());
  here.world.table->advance(*opened, 0, false, [](const Result<std::int64_t>& /*next*/) {});
  here.world.settle();
  CHECK(here.of(kFirst)->stopped().ok());
  here.wait(180'000);
  CHECK(here.world.store.lease_calls.size() == leases);
  CHECK(here.of(kFirst)->totals().gaps == gaps);
}

// Of the days that were forgotten last each keeps its own high-water mark.
TEST_CASE("ForgottenPeriodGoesOnWhereItsCounterIs", "[core][period]") {
  Daily here;
  REQUIRE(here.world.range("orders", 500).value_or(std::vector<Run>()).empty());
  here.world.settle();
  here.world.time.wall_set_ms = kDayMs;
  here.wait(180'000);
  REQUIRE(here.one() == 1);
  here.world.time.wall_set_ms = 41 * kDayMs;
  REQUIRE(here.one() == 1);
  here.wait(180'000);
  REQUIRE(here.of(kFirst) == nullptr);
  REQUIRE(here.of(kSecond) == nullptr);
  here.world.time.wall_set_ms = kDayMs;
  const std::int64_t next = here.world.store.next_id.at("orders@2023-11-15");
  REQUIRE(next < 500);
  CHECK(here.one() == next);
}

TEST_CASE("PeriodThatIsTooFarAheadIsNotMadeByAnAdvance", "[core][period]") {
  Daily here;
  REQUIRE(here.one() == 1);
  SequenceTable& table = *here.world.table;
  for (const char* far : {"orders@2062-11-15", "orders@2023-12-18"}) {
    CHECK(table.open_to_advance(far).status().code() == ErrorCode::BAD_REQUEST);
    CHECK(table.find(far) == 0);
  }
  CHECK(table.open_to_advance("orders@2023-12-10").ok());
  CHECK(table.open_to_advance("orders@2023-11-01").ok());
  CHECK(table.open_to_advance("orders@2023-13-01").status().code() == ErrorCode::NO_SEQUENCE);
  here.world.settle();
  CHECK(here.one() == 2);
}

TEST_CASE("PeriodBehindThePresentOneIsNeverTooFarAhead", "[core][period]") {
  Daily here([](SequenceSettings& settings) {
    settings.periods.rule = PeriodRule::make("year", nullptr).value();
  });
  REQUIRE(here.one() == 1);
  CHECK(here.world.table->open_to_advance("orders@2024").ok());
  CHECK(here.world.table->open_to_advance("orders@2025").status().code() == ErrorCode::BAD_REQUEST);
}

}  // namespace
}  // namespace seqd
