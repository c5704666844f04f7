// The calendar: what the moment of an ID is called in dates. Proleptic Gregorian, with ISO 8601's
// weeks. Values; any thread.
#pragma once

#include <cstdint>

namespace seqd {

// A moment as a calendar and a clock on the wall show it.
struct CivilTime {
  int year = 1970;
  int month = 1;        // 1 to 12
  int day = 1;          // 1 to 31
  int day_of_year = 1;  // 1 to 366
  int hour = 0;
  int minute = 0;
  int second = 0;
  int week_year = 1970;  // of ISO 8601's weeks: the year of the week's Thursday
  int week = 1;          // 1 to 53
  int weekday = 4;       // Monday is 1, Sunday 7
  bool operator==(const CivilTime&) const = default;
};

// The last second of the year 9999, counted from 1970.
inline constexpr std::int64_t kLastSecond = 253'402'300'799;

// Of the second `local_s`, counted from 1970 in the local time. Before 1970 it is 1970's first
// second, after 9999 that year's last: four digits hold every year.
CivilTime civil_time(std::int64_t local_s);

bool is_leap_year(int year);
// `month` is within 1 .. 12.
int days_of_month(int year, int month);
// 52 or 53, of ISO 8601's year.
int weeks_of_year(int week_year);

// The first second of a day, counted from 1970 in the local time. `month` is within 1 .. 12, `day`
// a day of it.
std::int64_t first_second(int year, int month, int day);
// Of the Monday of one of ISO 8601's weeks, 1 .. weeks_of_year().
std::int64_t first_second_of_week(int week_year, int week);

// From `begin_s` on, local time is UTC and `offset_s`. Seconds since 1970 in UTC; up to `end_s`.
struct UtcOffset {
  std::int64_t begin_s = 0;
  std::int64_t end_s = 0;
  std::int64_t offset_s = 0;
};

// The rules of one time zone. Immutable; any thread.
class TimeZone {
 public:
  virtual ~TimeZone() = default;
  // The offset at the second `utc_s` and the span of time around it in which it is the same.
  virtual UtcOffset offset_at(std::int64_t utc_s) const = 0;
};

}  // namespace seqd
