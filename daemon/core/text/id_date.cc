#include "daemon/core/text/id_date.h"

#include <algorithm>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

constexpr std::array<DatePartInfo, kDateParts> kParts = {{
    {DatePart::year, 'Y', 4, 1970, 9999, "year"},
    {DatePart::short_year, 'y', 2, 0, 99, "year"},
    {DatePart::month, 'm', 2, 1, 12, "month"},
    {DatePart::day, 'd', 2, 1, 31, "day"},
    {DatePart::day_of_year, 'j', 3, 1, 366, "day of the year"},
    {DatePart::hour, 'H', 2, 0, 23, "hour"},
    {DatePart::minute, 'M', 2, 0, 59, "minute"},
    {DatePart::second, 'S', 2, 0, 59, "second"},
    {DatePart::week_year, 'G', 4, 1970, 9999, "year of the week"},
    {DatePart::short_week_year, 'g', 2, 0, 99, "year of the week"},
    {DatePart::week, 'V', 2, 1, 53, "week"},
    {DatePart::weekday, 'u', 1, 1, 7, "day of the week"},
}};

constexpr int kCentury = 2000;

bool is_of_weeks(DatePart part) {
  return part >= DatePart::week_year;
}

bool is_of_clock(DatePart part) {
  return part == DatePart::hour || part == DatePart::minute || part == DatePart::second;
}

}  // namespace

std::string padded(int value, std::size_t width) {
  ASSERT(value >= 0);
  std::string digits(width, '0');
  for (std::size_t at = width; at > 0; value /= 10)
    digits[--at] = static_cast<char>('0' + value % 10);
  ASSERT(value == 0);
  return digits;
}

const DatePartInfo& info_of(DatePart part) {
  const DatePartInfo& info = kParts[static_cast<std::size_t>(part)];
  ASSERT(info.part == part);
  return info;
}

const DatePartInfo* find_date_part(char letter) {
  for (const DatePartInfo& info : kParts) {
    if (info.letter == letter) return &info;
  }
  return nullptr;
}

std::string date_letters() {
  std::string out;
  for (const DatePartInfo& info : kParts) {
    out += out.empty() ? "%" : " %";
    out += info.letter;
  }
  return out;
}

bool exclude_each_other(DatePart one, DatePart other) {
  if (one == other) return true;
  if (is_of_clock(one) || is_of_clock(other)) return false;
  if (is_of_weeks(one) != is_of_weeks(other)) return true;
  const auto pair = [&](DatePart a, DatePart b) {
    return (one == a && other == b) || (one == b && other == a);
  };
  return pair(DatePart::year, DatePart::short_year) ||
         pair(DatePart::week_year, DatePart::short_week_year) ||
         pair(DatePart::day_of_year, DatePart::month) || pair(DatePart::day_of_year, DatePart::day);
}

int value_of(DatePart part, const CivilTime& time) {
  switch (part) {
    case DatePart::year:
      return time.year;
    case DatePart::short_year:
      return time.year % 100;
    case DatePart::month:
      return time.month;
    case DatePart::day:
      return time.day;
    case DatePart::day_of_year:
      return time.day_of_year;
    case DatePart::hour:
      return time.hour;
    case DatePart::minute:
      return time.minute;
    case DatePart::second:
      return time.second;
    case DatePart::week_year:
      return time.week_year;
    case DatePart::short_week_year:
      return time.week_year % 100;
    case DatePart::week:
      return time.week;
    case DatePart::weekday:
      break;
  }
  return time.weekday;
}

void IdDate::set(DatePart part, int value) {
  if (part == DatePart::short_year) return set(DatePart::year, kCentury + value);
  if (part == DatePart::short_week_year) {
    century_unknown_ = true;
    return set(DatePart::week_year, kCentury + value);
  }
  values_[static_cast<std::size_t>(part)] = value;
}

// Week 53 of 2044 does not exist, that of 2144 does, and both are written as "44": the text is
// right if it is of any century. Days need no such care: 2000 has every day that other years of
// "00" have.
int IdDate::most_weeks() const {
  constexpr int kLongYear = 2020;            // of 53 weeks
  constexpr int kCenturiesUntilTheSame = 4;  // the calendar repeats every 400 years
  const int year = get(DatePart::week_year).value_or(kLongYear);
  int most = weeks_of_year(year);
  for (int century = 1; century_unknown_ && century < kCenturiesUntilTheSame; ++century)
    most = std::max(most, weeks_of_year(year + 100 * century));
  return most;
}

std::optional<DatePart> IdDate::impossible() const {
  // Without a year any day will do that some year has.
  constexpr int kLeapYear = 2000;
  const int year = get(DatePart::year).value_or(kLeapYear);
  if (get(DatePart::month) &&
      get(DatePart::day).value_or(1) > days_of_month(year, *get(DatePart::month)))
    return DatePart::day;
  if (get(DatePart::day_of_year).value_or(1) > (is_leap_year(year) ? 366 : 365))
    return DatePart::day_of_year;
  if (get(DatePart::week).value_or(1) > most_weeks()) return DatePart::week;
  return std::nullopt;
}

// The year and what of the day is known behind it; with "T" at the end if that is a whole day.
std::string IdDate::day_text() const {
  if (const auto week_year = get(DatePart::week_year)) {
    std::string out = padded(*week_year, 4);
    if (!get(DatePart::week)) return out;
    out += "-W" + padded(*get(DatePart::week), 2);
    if (!get(DatePart::weekday)) return out;
    return out + "-" + padded(*get(DatePart::weekday), 1) + "T";
  }
  if (!get(DatePart::year)) return "";
  std::string out = padded(*get(DatePart::year), 4);
  if (get(DatePart::day_of_year)) return out + "-" + padded(*get(DatePart::day_of_year), 3) + "T";
  if (!get(DatePart::month)) return out;
  out += "-" + padded(*get(DatePart::month), 2);
  if (!get(DatePart::day)) return out;
  return out + "-" + padded(*get(DatePart::day), 2) + "T";
}

std::string IdDate::period() const {
  std::string out = day_text();
  if (!out.ends_with('T')) return out;
  if (!get(DatePart::hour)) {
    out.pop_back();
    return out;
  }
  out += padded(*get(DatePart::hour), 2);
  if (!get(DatePart::minute)) return out;
  out += ":" + padded(*get(DatePart::minute), 2);
  return get(DatePart::second) ? out + ":" + padded(*get(DatePart::second), 2) : out;
}

}  // namespace seqd
