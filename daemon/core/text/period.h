// PeriodRule: how time is divided into the periods of a sequence that starts again in each of them:
// in which period a moment is, by the calendar of a time zone, and what the period is called in the
// store. A period is named by its date, so no timer and no change of the clock can mix two of them
// up. Immutable; any thread.
//
// The IDs of one period are a sequence of their own, "orders@2026-11-22" (sequence_name.h).
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/status.h"
#include "daemon/base/time/calendar.h"
#include "daemon/core/text/id_template.h"
#include "daemon/core/words/sequence_name.h"

namespace seqd {

enum class PeriodUnit : std::uint8_t { year, month, week, day, hour };

struct Period {
  std::string name;  // in the form of ISO 8601: "2026", "2026-11", "2026-W47", "2026-11-22T13"
  std::string text;  // as the rule's format writes it, "261122"
  // Seconds since 1970, UTC: all of [begin_s, end_s) is in the period, and what lies next to them
  // is not. A period that comes twice (the clock was turned back over its end) has other spans,
  // too.
  std::int64_t begin_s = 0;
  std::int64_t end_s = 0;

  auto operator<=>(const Period&) const = default;
};

class PeriodRule {
 public:
  // `period`: "year", "month", "week", "day", "hour", or a date format as "%y%m%d" that determines
  // one of these. `zone` null: UTC. CONFIG with what is allowed.
  static Result<std::shared_ptr<const PeriodRule>> make(const std::string& period,
                                                        std::shared_ptr<const TimeZone> zone);

  PeriodUnit unit() const { return unit_; }
  // Whether the format writes digits only, so that a period can be a number in the store.
  bool is_number() const;
  // The period in which the second `wall_s` (UTC, since 1970) is.
  Period at(std::int64_t wall_s) const;
  // The period of that name; nothing when there is none.
  std::optional<Period> named(std::string_view name) const;
  // The period that the format writes as `text`, and writes so again; nothing when there is none.
  // All texts of a rule are of one length.
  std::optional<Period> written(std::string_view text) const;

 private:
  PeriodRule(PeriodUnit unit, std::vector<IdTemplate::Piece> pieces,
             std::shared_ptr<const TimeZone> zone);

  // The calendar at one second: in which period it is, and the seconds around it that have the same
  // offset from UTC and are in it, too.
  struct Span {
    CivilTime time;
    std::int64_t begin_s = 0;
    std::int64_t end_s = 0;
  };
  UtcOffset offset_at(std::int64_t wall_s) const;
  Span span_at(std::int64_t wall_s) const;
  std::string name_of(const CivilTime& time) const;
  std::optional<Period> beginning(std::int64_t local_s, std::string Period::*word,
                                  std::string_view wanted) const;

  const PeriodUnit unit_;
  const std::vector<IdTemplate::Piece> pieces_;
  const std::shared_ptr<const TimeZone> zone_;
};

// The date format that writes the name of a period, "%Y-%m-%d".
const char* name_format(PeriodUnit unit);

// The period of that name in UTC, whatever its unit; nothing when it names none. In another time
// zone it begins and ends at most kMostOffsetS earlier or later.
inline constexpr std::int64_t kMostOffsetS = 16 * 3'600;
std::optional<Period> period_in_utc(std::string_view name);

// The unit that date parts determine together; nothing if there is none, or one below an hour.
std::optional<PeriodUnit> unit_of(const std::vector<IdTemplate::Piece>& pieces);

inline constexpr std::string_view kPeriodPlaceholder = "{period}";
// The key of a period's counter: `pattern` with the period's text in place of {period}, which it
// has once. An empty pattern is "BASE@{period}".
std::string period_key(const std::string& pattern, std::string_view base, const Period& period);

}  // namespace seqd
