#include "daemon/base/time/calendar.h"

#include <algorithm>
#include <chrono>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

using std::chrono::days;
using std::chrono::sys_days;
using std::chrono::year;
using std::chrono::year_month_day;

constexpr std::int64_t kDayS = 86'400;

sys_days new_year(int of) {
  return sys_days(year(of) / std::chrono::January / 1);
}

int iso_weekday(sys_days day) {
  return static_cast<int>(std::chrono::weekday(day).iso_encoding());
}

}  // namespace

CivilTime civil_time(std::int64_t local_s) {
  const std::int64_t second = std::clamp<std::int64_t>(local_s, 0, kLastSecond);
  const sys_days day{days(second / kDayS)};
  const year_month_day date(day);
  CivilTime out;
  out.year = static_cast<int>(date.year());
  out.month = static_cast<int>(static_cast<unsigned>(date.month()));
  out.day = static_cast<int>(static_cast<unsigned>(date.day()));
  out.day_of_year = static_cast<int>((day - new_year(out.year)).count()) + 1;
  const auto of_day = static_cast<int>(second % kDayS);
  out.hour = of_day / 3'600;
  out.minute = of_day / 60 % 60;
  out.second = of_day % 60;
  out.weekday = iso_weekday(day);
  const sys_days thursday = day + days(4 - out.weekday);
  out.week_year = static_cast<int>(year_month_day(thursday).year());
  out.week = static_cast<int>((thursday - new_year(out.week_year)).count()) / 7 + 1;
  return out;
}

bool is_leap_year(int of) {
  return year(of).is_leap();
}

int days_of_month(int of, int month) {
  ASSERT(month >= 1 && month <= 12);
  const std::chrono::year_month_day_last last(
      year(of), std::chrono::month_day_last(std::chrono::month(static_cast<unsigned>(month))));
  return static_cast<int>(static_cast<unsigned>(last.day()));
}

int weeks_of_year(int week_year) {
  // A year has 53 weeks when it begins on a Thursday, or on a Wednesday and is a leap year.
  const int first = iso_weekday(new_year(week_year));
  return first == 4 || (first == 3 && is_leap_year(week_year)) ? 53 : 52;
}

std::int64_t first_second(int of, int month, int day) {
  ASSERT(month >= 1 && month <= 12 && day >= 1 && day <= 31);
  const year_month_day date(year(of), std::chrono::month(static_cast<unsigned>(month)),
                            std::chrono::day(static_cast<unsigned>(day)));
  return sys_days(date).time_since_epoch().count() * kDayS;
}

std::int64_t first_second_of_week(int week_year, int week) {
  // The fourth of January is always in week 1.
  const sys_days fourth = sys_days(year(week_year) / std::chrono::January / 4);
  const sys_days monday = fourth - days(iso_weekday(fourth) - 1) + days(7 * (week - 1));
  return monday.time_since_epoch().count() * kDayS;
}

}  // namespace seqd
