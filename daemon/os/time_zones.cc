#include "daemon/os/time_zones.h"

#include <absl/time/civil_time.h>
#include <absl/time/time.h>

#include <algorithm>
#include <optional>

#include "daemon/os/journal/event_line.h"

namespace seqd {
namespace {

// The library follows the rule at the end of a zone file (its "footer") for 400 years behind the
// last change that the file lists, and lists changes no further. A year behind these has the same
// changes as one of its kind: leap or not, and with the same weekdays. There are 14 kinds.
constexpr int kFirstOfItsKind = 2101;
constexpr int kYearsOfAllKinds = 28;
constexpr int kRepeatsFrom = 2200;

int first_weekday(int year) {
  return civil_time(first_second(year, 1, 1)).weekday;
}

int year_of_that_kind(int year) {
  for (int same = kFirstOfItsKind; same < kFirstOfItsKind + kYearsOfAllKinds; ++same) {
    if (is_leap_year(same) == is_leap_year(year) && first_weekday(same) == first_weekday(year))
      return same;
  }
  return kFirstOfItsKind;
}

std::int64_t seconds(const absl::CivilSecond& time) {
  return time - absl::CivilSecond(1970, 1, 1);
}

class Zone final : public TimeZone {
 public:
  explicit Zone(const absl::TimeZone& zone) : zone_(zone) {}

  UtcOffset offset_at(std::int64_t utc_s) const override {
    const int year = civil_time(utc_s).year;
    if (year < kRepeatsFrom) return listed(utc_s);
    const std::int64_t begin_s = first_second(year, 1, 1);
    const std::int64_t shift_s = begin_s - first_second(year_of_that_kind(year), 1, 1);
    const UtcOffset same = listed(utc_s - shift_s);
    // Within the year: those around it are of other kinds.
    return {std::max(same.begin_s + shift_s, begin_s),
            std::min(same.end_s + shift_s, first_second(year + 1, 1, 1)), same.offset_s};
  }

 private:
  UtcOffset listed(std::int64_t utc_s) const {
    UtcOffset out{0, kLastSecond + 1, offset(utc_s)};
    absl::TimeZone::CivilTransition change;
    // Some changes are of the name only.
    for (std::int64_t at_s = utc_s; zone_.NextTransition(absl::FromUnixSeconds(at_s), &change);) {
      at_s = seconds(change.from) - out.offset_s;
      if (offset(at_s) == out.offset_s) continue;
      out.end_s = at_s;
      break;
    }
    for (std::int64_t at_s = utc_s + 1;
         zone_.PrevTransition(absl::FromUnixSeconds(at_s), &change);) {
      at_s = seconds(change.to) - out.offset_s;
      if (offset(at_s - 1) == out.offset_s) continue;
      out.begin_s = at_s;
      break;
    }
    return out;
  }

  std::int64_t offset(std::int64_t utc_s) const {
    return zone_.At(absl::FromUnixSeconds(utc_s)).offset;
  }

  const absl::TimeZone zone_;  // of the library's list, which is never taken away
};

// The library also takes paths, and names for offsets that no file has.
bool is_zone_name(const std::string& name) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '+' || c == '-' || c == '/';
  };
  return !name.empty() && name.front() != '/' && !name.starts_with("Fixed/") &&
         std::all_of(name.begin(), name.end(), good);
}

}  // namespace

Result<std::shared_ptr<const TimeZone>> find_time_zone(const std::string& name) {
  if (name == "UTC") return std::shared_ptr<const TimeZone>();
  absl::TimeZone zone;
  if (is_zone_name(name) && absl::LoadTimeZone(name, &zone))
    return std::shared_ptr<const TimeZone>(std::make_shared<Zone>(zone));
  return Status(ErrorCode::CONFIG,
                "found \"" + escape_line(name, 60) +
                    "\"; allowed: UTC, or the name of a zone in /usr/share/zoneinfo, as "
                    "\"Europe/Berlin\" (package tzdata)");
}

}  // namespace seqd
