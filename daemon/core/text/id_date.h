// The date parts of a readable ID: the list of them, how they are written, and how a text of them
// is read. Every part has a fixed number of digits. Values and constants; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/base/time/calendar.h"

namespace seqd {

// In the order of the table in id_date.cc.
enum class DatePart : std::uint8_t {
  year,
  short_year,
  month,
  day,
  day_of_year,
  hour,
  minute,
  second,
  week_year,
  short_week_year,
  week,
  weekday,
};
inline constexpr std::size_t kDateParts = 12;

struct DatePartInfo {
  DatePart part;
  char letter;  // behind the % of a template
  std::size_t width;
  int lowest;
  int highest;
  std::string_view name;
};

// `value`, not negative, in `width` digits.
std::string padded(int value, std::size_t width);

const DatePartInfo& info_of(DatePart part);
// Null when there is no such letter.
const DatePartInfo* find_date_part(char letter);
// "%Y %y %m ...", for the texts of errors.
std::string date_letters();
// Whether one template may not have both: they say the same, or are of different calendars.
bool exclude_each_other(DatePart one, DatePart other);
int value_of(DatePart part, const CivilTime& time);

// What the date parts of one text say.
class IdDate {
 public:
  // `value` is within the bounds of the part.
  void set(DatePart part, int value);
  // A two-digit year is one of 2000 to 2099, and set as year or week_year.
  std::optional<int> get(DatePart part) const { return values_[static_cast<std::size_t>(part)]; }
  // The part that makes a day which no calendar has, "30 February"; nothing when it exists.
  std::optional<DatePart> impossible() const;
  // In the form of ISO 8601 from the year on as far as it is known, "2026-11-21", "2026-W47",
  // "2026-11-21T13:05"; empty without a year.
  std::string period() const;
  bool operator==(const IdDate&) const = default;

 private:
  std::string day_text() const;
  int most_weeks() const;

  std::array<std::optional<int>, kDateParts> values_;
  bool century_unknown_ = false;  // of week_year
};

}  // namespace seqd
