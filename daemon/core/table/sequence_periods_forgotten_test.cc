// Which periods leave the table and the log when they are long over, and that what is remembered of
// them is enough never to issue an ID twice.
#include <optional>
#include <vector>

#include "daemon/core/names/forgotten_periods.h"
#include "tests/unit/daily.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("PeriodsThatAreLongOverDoNotFillTheTable", "[core][period][large]") {
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
  const std::size_t known = here.world.table->sequences().size();
  CHECK(known <= 4);
  here.world.restart();
  here.world.settle();
  CHECK(here.world.table->sequences().size() == known);
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
  CHECK(here.of(kFirst)->slot().returning() > 0);
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

// Days of which the configuration knows nothing any more, and has hours or no periods instead.
TEST_CASE("PeriodsThatAreNotConfiguredAnyMoreAreForgottenWithTheirGuards", "[core][period]") {
  const char* const unit = GENERATE("hour", "");
  Daily here;
  for (int day = 0; day < 3; ++day) {
    REQUIRE(here.one() == 1);
    here.world.time.wall_set_ms += kDayMs;
    here.wait(120'000);
  }
  const std::int64_t high_water = here.of(kFirst)->definition().high_water();
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
  REQUIRE(here.of(kFirst)->stop_error().code() == ErrorCode::NO_SEQUENCE);
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
  here.world.time.wall_set_ms = 7 * kDayMs;
  REQUIRE(here.world.table->open_to_advance("orders@2023-11-20").ok());
  here.wait(180'000);
  REQUIRE(here.of(kFirst) == nullptr);
  here.world.time.wall_set_ms = 0;
  CHECK(here.one() > 1);
}

// Of the days that were forgotten last each keeps its own high-water mark.
TEST_CASE("ForgottenPeriodContinuesAtItsCounter", "[core][period]") {
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

// A period of which the configuration knows nothing any more, since it has another unit now.
struct OtherUnit : Daily {
  OtherUnit() : Daily([](SequenceSettings& settings) { settings.reuse = Reuse::parked; }) {
    REQUIRE(one() == 1);
    world.kill();
    PeriodSettings& periods = world.settings.by_name["orders"].periods;
    periods.period = "hour";
    periods.rule = PeriodRule::make("hour", nullptr).value();
    world.start();
    world.settle();
    REQUIRE(of(kFirst)->stop_error().code() == ErrorCode::NO_SEQUENCE);
    available = of(kFirst)->available();
    REQUIRE(available > 0);
  }
  std::int64_t available = 0;
};

TEST_CASE("RemainderOfAPeriodWithAnotherUnitIsAGapWhenItIsOver", "[core][period]") {
  OtherUnit here;
  here.wait(120'000);
  CHECK(here.of(kFirst)->available() == here.available);
  // In which time zone it was is not known any more.
  here.world.time.wall_set_ms += kDayMs;
  here.wait(120'000);
  CHECK(here.of(kFirst)->available() == 0);
  CHECK(here.of(kFirst)->totals().gaps == here.available);
  CHECK(here.world.events.count(EventKind::gap_period_end) == 1);
  REQUIRE(here.one() == 1);
  here.world.time.wall_set_ms = 40 * kDayMs;
  here.wait(180'000);
  CHECK(here.of(kFirst) == nullptr);
}

TEST_CASE("RemainderOfAPeriodWithAnotherUnitIsAGapWhenItIsDrained", "[core][period]") {
  OtherUnit here;
  std::optional<DrainReport> report;
  const SequenceId id = here.of(kFirst)->id();
  REQUIRE(here.world.table->orders()
              .drain(id, 1'000, [&](const DrainReport& done) { report = done; })
              .ok());
  here.world.settle();
  here.world.advance(0);
  REQUIRE(report);
  CHECK(report->gaps.size() == 1);
  CHECK(report->returned.empty());
  CHECK(here.of(kFirst)->available() == 0);
  CHECK(here.world.events.count(EventKind::gap_drained) == 1);
  CHECK(here.world.store.return_calls.empty());
}

// Before that the former counter may come back, or somebody drains it.
TEST_CASE("RemainderOfAPeriodWithAnotherCounterIsAGapWhenItIsOver", "[core][period]") {
  Daily here;
  REQUIRE(here.one() == 1);
  here.world.kill();
  here.world.settings.by_name["orders"].binding.key = "other-{period}";
  here.world.start();
  here.world.settle();
  REQUIRE(here.of(kFirst)->stop_error().code() == ErrorCode::SEQ_CHANGED);
  const std::int64_t available = here.of(kFirst)->available();
  if (GENERATE(false, true)) {
    CHECK(here.world.table->orders()
              .drain(here.of(kFirst)->id(), 1'000, [](const DrainReport&) {})
              .ok());
    here.world.settle();
    here.world.advance(0);
  } else {
    here.wait(kHourMs);
    CHECK(here.of(kFirst)->available() == available);
    here.wait(kHourMs);
  }
  CHECK(here.of(kFirst)->available() == 0);
  CHECK(here.of(kFirst)->totals().gaps == available);
}

}  // namespace
}  // namespace seqd
