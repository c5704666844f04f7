// Periods where the clock is set back or was ahead, and the advance with which an operator says
// that it is right now.
#include <algorithm>
#include <optional>

#include "tests/unit/daily.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("ClockThatIsSetBackContinuesTheFormerPeriodWithNewNumbers", "[core][period]") {
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

// Its requests are over, too.
TEST_CASE("AnExhaustedPeriodThatIsOverIsNotStopped", "[core][period]") {
  Daily here([](SequenceSettings& settings) { settings.max_value = 2; });
  REQUIRE((here.one() == 1 && here.one() == 2));
  CHECK(here.one() == 0);
  REQUIRE(state_name(*here.of(kFirst)) == "stopped");
  REQUIRE(here.world.table->accounts().sums().stopped == 1);
  here.wait(2 * kHourMs);
  REQUIRE(here.one() == 1);
  here.wait(5 * 60'000);
  here.world.turn();
  CHECK(state_name(*here.of(kFirst)) == "ready");
  CHECK(here.world.table->accounts().sums().stopped == 0);
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

// Another host may have removed its counter meanwhile: a lease would make it again from 1.
TEST_CASE("FirstLeaseThatWaitedUntilItsCounterMayBeGoneIsNotTaken", "[core][period]") {
  Daily here([](SequenceSettings& settings) { settings.periods.retain_ms = 2 * kDayMs; });
  here.world.store.leases.push_back(
      {ScriptedStore::LeaseScript::Kind::refuse, Status(ErrorCode::UNAVAILABLE, "away")});
  REQUIRE_FALSE(here.world.next("orders", caller(1), 3'600'000));
  here.world.settle();
  here.world.time.wall_set_ms += 10 * kDayMs;
  REQUIRE(here.one() == 1);
  here.world.advance(60'000);
  here.world.settle();
  const auto& calls = here.world.store.lease_calls;
  CHECK(std::count_if(calls.begin(), calls.end(),
                      [](const auto& call) { return call.sequence == kFirst; }) == 1);
  const auto& sent = here.world.answers.sent;
  CHECK(std::any_of(sent.begin(), sent.end(), [](const auto& answer) {
    return answer.status.code() == ErrorCode::SEQ_REGRESSED;
  }));
}

// The same where nobody asked for a later period here meanwhile: a host that was suspended, with
// the request that waits, for longer than counters are kept.
TEST_CASE("FirstLeaseThatWaitedInASuspendedHostIsNotTaken", "[core][period]") {
  Daily here([](SequenceSettings& settings) { settings.periods.retain_ms = 2 * kDayMs; });
  here.world.store.leases.push_back(
      {ScriptedStore::LeaseScript::Kind::refuse, Status(ErrorCode::UNAVAILABLE, "away")});
  REQUIRE_FALSE(here.world.next("orders", caller(1), 3'600'000));
  here.world.settle();
  here.world.time.wall_set_ms += 10 * kDayMs;
  here.world.advance(60'000);
  here.world.settle();
  const auto& calls = here.world.store.lease_calls;
  CHECK(std::count_if(calls.begin(), calls.end(),
                      [](const auto& call) { return call.sequence == kFirst; }) == 1);
  const auto& sent = here.world.answers.sent;
  CHECK(std::none_of(sent.begin(), sent.end(),
                     [](const auto& answer) { return answer.status.ok(); }));
}

// The host was suspended while the request was under way, in its queue or in the driver: it makes
// the counter again.
TEST_CASE("FirstLeaseThatIsGrantedWhenItsCounterMayBeGoneIsNotTaken", "[core][period]") {
  Daily here([](SequenceSettings& settings) { settings.periods.retain_ms = 2 * kDayMs; });
  ScriptedStore::LeaseScript granted_late;
  granted_late.late = true;
  here.world.store.leases.push_back(granted_late);
  REQUIRE_FALSE(here.world.next("orders", caller(1), 3'600'000));
  here.world.settle();
  here.world.time.wall_set_ms += 10 * kDayMs;
  REQUIRE(here.world.store.deliver_late());
  here.world.settle();
  CHECK(here.world.sequence(kFirst).stop_error().code() == ErrorCode::SEQ_REGRESSED);
  CHECK(here.world.sequence(kFirst).available() == 0);
  const auto& sent = here.world.answers.sent;
  REQUIRE(sent.size() == 1);
  CHECK(sent.front().status.code() == ErrorCode::SEQ_REGRESSED);
  // The present period goes on.
  CHECK(here.one() == 1);
}

// A clock that was ahead once, for a request or for days, and is right again.
TEST_CASE("PeriodsContinueWhenAClockThatWasAheadIsCorrectAgain", "[core][period]") {
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
  REQUIRE(here.world.table->is_of_now(*opened));
  // One that fails says nothing: the counter may have been removed, and would begin again.
  const bool fails_first = GENERATE(false, true);
  if (fails_first) here.world.store.advances = {{ScriptedStore::AdvanceScript::Kind::failed}};
  for (int left = fails_first ? 2 : 1; left > 0; --left) {
    REQUIRE(here.one() == 0);
    REQUIRE(here.world.status.code() == ErrorCode::SEQ_REGRESSED);
    here.world.table->orders().advance(*opened, 0, false, [&](const Result<std::int64_t>& next) {
      if (next.ok()) here.world.table->confirm_clock(*opened);
    });
    here.world.settle();
  }
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
  const std::int64_t high_water = here.of(kFirst)->definition().high_water();
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
  here.world.table->orders().advance(*opened, 0, false, [&](const Result<std::int64_t>& reached) {
    next = *reached;
    here.world.table->confirm_clock(*opened);
  });
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
  for (int tries = 0; tries < 500 && here.of(kFirst)->stop_error().ok(); ++tries) here.one();
  REQUIRE(here.of(kFirst)->stop_error().code() == ErrorCode::SEQ_REGRESSED);
  here.wait(2 * kHourMs);
  const std::size_t leases = here.world.store.lease_calls.size();
  const std::int64_t gaps = here.of(kFirst)->totals().gaps;
  const Result<SequenceId> opened = here.world.table->open_to_advance(kFirst);
  REQUIRE(opened.ok());
  here.world.table->orders().advance(*opened, 0, false,
                                     [](const Result<std::int64_t>& /*next*/) {});
  here.world.settle();
  CHECK(here.of(kFirst)->stop_error().ok());
  here.wait(180'000);
  CHECK(here.world.store.lease_calls.size() == leases);
  CHECK(here.of(kFirst)->totals().gaps == gaps);
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

// It is not in use yet.
TEST_CASE("AdvanceOfALaterPeriodStopsNoneBeforeIt", "[core][period]") {
  Daily here([](SequenceSettings& settings) { settings.periods.retain_ms = 2 * kDayMs; });
  REQUIRE(here.one() == 1);
  const char* const later = "orders@2023-11-24";
  const Result<SequenceId> opened = here.world.table->open_to_advance(later);
  REQUIRE(opened.ok());
  here.world.table->orders().advance(*opened, 500, false, [](const Result<std::int64_t>&) {});
  here.world.settle();
  const bool restarted = GENERATE(false, true);
  CAPTURE(restarted);
  if (restarted) {
    here.world.restart();
    here.world.settle();
  }
  for (int day = 1; day < 10; ++day) {
    here.world.time.wall_set_ms += kDayMs;
    if (day == 7) continue;  // a period without an ID
    here.wait(60'000);
    CAPTURE(day, here.world.status.text());
    REQUIRE(here.one() == 1);
  }
  here.world.time.wall_set_ms += kDayMs;
  CHECK(here.one() == 500);
  CHECK(here.of("orders") == here.of(later));
  // From now on it is: a counter of three days before may have been removed.
  here.world.time.wall_set_ms -= 3 * kDayMs;
  CHECK(here.one() == 0);
  CHECK(here.world.status.code() == ErrorCode::SEQ_REGRESSED);
}

}  // namespace
}  // namespace seqd
