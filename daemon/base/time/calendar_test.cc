#include "daemon/base/time/calendar.h"

#include <rapidcheck.h>

#include <ctime>

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("MomentIsCalledAsOnTheWall", "[calendar]") {
  // Saturday, 21 November 2026, 18:05:09
  const CivilTime expected{2026, 11, 21, 325, 18, 5, 9, 2026, 47, 6};
  CHECK(civil_time(1'795'284'309) == expected);
}

TEST_CASE("WeekAtNewYearBelongsToTheYearOfItsThursday", "[calendar]") {
  const CivilTime friday = civil_time(1'609'459'200);  // 2021-01-01
  CHECK(friday.week_year == 2020);
  CHECK(friday.week == 53);
  CHECK(friday.weekday == 5);
  const CivilTime monday = civil_time(1'735'516'800);  // 2024-12-30
  CHECK(monday.week_year == 2025);
  CHECK(monday.week == 1);
}

TEST_CASE("TimeOutsideOfFourDigitsIsItsNearestEnd", "[calendar]") {
  const CivilTime first = civil_time(-1);
  CHECK(first == CivilTime());
  CHECK(civil_time(INT64_MIN) == first);
  const CivilTime last = civil_time(kLastSecond);
  CHECK(last.year == 9999);
  CHECK(last.week_year == 9999);
  CHECK(last.second == 59);
  CHECK(civil_time(INT64_MAX) == last);
}

TEST_CASE("CalendarIsThatOfTheSystem", "[calendar]") {
  CHECK(rc::check([] {
    const std::time_t second = *rc::gen::inRange<std::time_t>(0, kLastSecond + 1);
    std::tm system{};
    ::gmtime_r(&second, &system);
    char text[64];
    RC_ASSERT(std::strftime(text, sizeof(text), "%Y %m %d %j %H %M %S %G %V %u", &system) > 0);
    const CivilTime ours = civil_time(second);
    char expected[64];
    const int length =
        std::snprintf(expected, sizeof(expected), "%04d %02d %02d %03d %02d %02d %02d %04d %02d %d",
                      ours.year, ours.month, ours.day, ours.day_of_year, ours.hour, ours.minute,
                      ours.second, ours.week_year, ours.week, ours.weekday);
    RC_ASSERT(length > 0);
    RC_ASSERT(std::string(text) == std::string(expected));
    RC_ASSERT(ours.day <= days_of_month(ours.year, ours.month));
    RC_ASSERT(ours.day_of_year <= (is_leap_year(ours.year) ? 366 : 365));
    RC_ASSERT(ours.week <= weeks_of_year(ours.week_year));
  }));
}

TEST_CASE("LongYearsAreThoseOfIso8601", "[calendar]") {
  for (const int year : {1970, 1976, 2004, 2009, 2015, 2020, 2026, 2032, 2037})
    CHECK(weeks_of_year(year) == 53);
  for (const int year : {2000, 2021, 2024, 2025, 2027, 2100}) CHECK(weeks_of_year(year) == 52);
}

}  // namespace
}  // namespace seqd
