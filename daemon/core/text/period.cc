#include "daemon/core/text/period.h"

#include <algorithm>
#include <array>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/core/text/id_date.h"
#include "daemon/core/text/period_name.h"

namespace seqd {
namespace {

using Kind = IdTemplate::Kind;
using Piece = IdTemplate::Piece;

constexpr std::int64_t kHourS = 3'600;
constexpr std::int64_t kDayS = 86'400;

struct UnitInfo {
  PeriodUnit unit;
  std::string_view word;
  const char* format;  // of its name
};

constexpr std::array<UnitInfo, 5> kUnits = {{
    {PeriodUnit::year, "year", "%Y"},
    {PeriodUnit::month, "month", "%Y-%m"},
    {PeriodUnit::week, "week", "%G-W%V"},
    {PeriodUnit::day, "day", "%Y-%m-%d"},
    {PeriodUnit::hour, "hour", "%Y-%m-%dT%H"},
}};

const UnitInfo& unit_info(PeriodUnit unit) {
  const auto at = static_cast<std::size_t>(unit);
  ASSERT(at < kUnits.size() && kUnits[at].unit == unit);
  return kUnits[at];
}

// The pieces of a date format; empty when it is none.
std::vector<Piece> pieces_of(const std::string& format) {
  if (format.find_first_of("{}") != std::string::npos) return {};
  Result<IdTemplate> form = read_template("{date:" + format + "}/{number}");
  if (!form.ok()) return {};
  ASSERT(form->pieces.size() > 1 && form->pieces.back().kind == Kind::number);
  form->pieces.pop_back();
  Piece& last = form->pieces.back();
  ASSERT(last.kind == Kind::literal && last.literal.ends_with('/'));
  last.literal.pop_back();  // the "/" before it
  if (--last.length == 0) form->pieces.pop_back();
  return std::move(form->pieces);
}

const std::vector<Piece>& name_pieces(PeriodUnit unit) {
  static const std::array<std::vector<Piece>, kUnits.size()> kPieces = {
      pieces_of(kUnits[0].format), pieces_of(kUnits[1].format), pieces_of(kUnits[2].format),
      pieces_of(kUnits[3].format), pieces_of(kUnits[4].format)};
  return kPieces[static_cast<std::size_t>(unit)];
}

std::string write(const std::vector<Piece>& pieces, const CivilTime& time) {
  std::string out;
  for (const Piece& piece : pieces) {
    out += piece.kind == Kind::literal ? piece.literal
                                       : padded(value_of(piece.part, time), piece.length);
  }
  return out;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::optional<int> digits(std::string_view text) {
  int out = 0;
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    out = out * 10 + (c - '0');
  }
  return out;
}

std::optional<IdDate> read(const std::vector<Piece>& pieces, std::string_view text) {
  IdDate date;
  for (const Piece& piece : pieces) {
    if (text.size() < piece.length) return std::nullopt;
    const std::string_view part = text.substr(0, piece.length);
    text.remove_prefix(piece.length);
    if (piece.kind == Kind::literal) {
      if (part != piece.literal) return std::nullopt;
      continue;
    }
    const std::optional<int> value = digits(part);
    const DatePartInfo& info = info_of(piece.part);
    if (!value || *value < info.lowest || *value > info.highest) return std::nullopt;
    date.set(piece.part, *value);
  }
  if (!text.empty() || date.impossible()) return std::nullopt;
  return date;
}

// The first second of the time given by the parts of a name, in local time.
std::int64_t first_second_of(const IdDate& date) {
  const std::int64_t hours = date.get(DatePart::hour).value_or(0) * kHourS;
  const std::optional<int> year = date.get(DatePart::week_year);
  if (year && date.get(DatePart::week)) {
    return first_second_of_week(*year, *date.get(DatePart::week)) +
           (date.get(DatePart::weekday).value_or(1) - 1) * kDayS + hours;
  }
  ASSERT(date.get(DatePart::year));
  return first_second(*date.get(DatePart::year), date.get(DatePart::month).value_or(1),
                      date.get(DatePart::day).value_or(1)) +
         (date.get(DatePart::day_of_year).value_or(1) - 1) * kDayS + hours;
}

// Whether the date determines a period of that unit, or of a finer one.
bool tells(const IdDate& date, PeriodUnit unit) {
  const auto has = [&](DatePart part) { return date.get(part).has_value(); };
  const bool week = has(DatePart::week_year) && has(DatePart::week);
  const bool month = has(DatePart::year) && has(DatePart::month);
  const bool day = (month && has(DatePart::day)) || (week && has(DatePart::weekday)) ||
                   (has(DatePart::year) && has(DatePart::day_of_year));
  switch (unit) {
    case PeriodUnit::year:
      return has(DatePart::year) || day;
    case PeriodUnit::month:
      return month || day;
    case PeriodUnit::week:
      return week || day;
    case PeriodUnit::day:
      return day;
    case PeriodUnit::hour:
      break;
  }
  return day && has(DatePart::hour);
}

// The local seconds of the unit around `local_s`: its first, and the first behind it.
std::pair<std::int64_t, std::int64_t> bounds(PeriodUnit unit, std::int64_t local_s) {
  const CivilTime time = civil_time(local_s);
  switch (unit) {
    case PeriodUnit::year:
      return {first_second(time.year, 1, 1), first_second(time.year + 1, 1, 1)};
    case PeriodUnit::month: {
      const std::int64_t first = first_second(time.year, time.month, 1);
      return {first, first + days_of_month(time.year, time.month) * kDayS};
    }
    case PeriodUnit::week: {
      const std::int64_t monday = first_second_of_week(time.week_year, time.week);
      return {monday, monday + 7 * kDayS};
    }
    case PeriodUnit::day: {
      const std::int64_t first = first_second(time.year, time.month, time.day);
      return {first, first + kDayS};
    }
    case PeriodUnit::hour:
      break;
  }
  const std::int64_t first = first_second(time.year, time.month, time.day) + time.hour * kHourS;
  return {first, first + kHourS};
}

}  // namespace

std::string_view unit_name(PeriodUnit unit) {
  return unit_info(unit).word;
}

std::string period_told(PeriodUnit unit, const IdDate& date) {
  if (!tells(date, unit)) return "";
  return write(name_pieces(unit), civil_time(first_second_of(date)));
}

std::optional<Period> period_in_utc(std::string_view name) {
  static const auto kRules = [] {
    std::vector<std::shared_ptr<const PeriodRule>> rules;
    for (const UnitInfo& info : kUnits)
      rules.push_back(PeriodRule::make(std::string(info.word), nullptr).value());
    return rules;
  }();
  for (const auto& rule : kRules) {
    if (std::optional<Period> period = rule->named(name)) return period;
  }
  return std::nullopt;
}

const char* name_format(PeriodUnit unit) {
  return unit_info(unit).format;
}

std::optional<PeriodUnit> unit_of(const std::vector<Piece>& pieces) {
  IdDate date;
  for (const Piece& piece : pieces) {
    if (piece.kind == Kind::date) date.set(piece.part, 1);
  }
  const auto has = [&](DatePart part) { return date.get(part).has_value(); };
  if (has(DatePart::minute) || has(DatePart::second)) return std::nullopt;
  const bool calendar = has(DatePart::year);
  const bool day =
      (calendar && ((has(DatePart::month) && has(DatePart::day)) || has(DatePart::day_of_year))) ||
      (has(DatePart::week_year) && has(DatePart::week) && has(DatePart::weekday));
  if (has(DatePart::hour)) return day ? std::optional(PeriodUnit::hour) : std::nullopt;
  if (day) return PeriodUnit::day;
  if (has(DatePart::day) || has(DatePart::weekday)) return std::nullopt;
  if (has(DatePart::week_year) && has(DatePart::week)) return PeriodUnit::week;
  if (calendar) return has(DatePart::month) ? PeriodUnit::month : PeriodUnit::year;
  return std::nullopt;
}

Result<std::shared_ptr<const PeriodRule>> PeriodRule::make(const std::string& period,
                                                           std::shared_ptr<const TimeZone> zone) {
  std::string format = period;
  for (const UnitInfo& info : kUnits) {
    if (info.word == period) format = info.format;
  }
  std::vector<Piece> pieces = pieces_of(format);
  const std::optional<PeriodUnit> unit = unit_of(pieces);
  if (!unit) {
    return Status(ErrorCode::CONFIG, "found \"" + period +
                                         "\"; allowed: year, month, week, day, hour, or a date "
                                         "format that determines one of these, as %y%m%d, of " +
                                         date_letters());
  }
  return std::shared_ptr<const PeriodRule>(
      new PeriodRule(*unit, std::move(pieces), std::move(zone)));
}

PeriodRule::PeriodRule(PeriodUnit unit, std::vector<Piece> pieces,
                       std::shared_ptr<const TimeZone> zone)
    : unit_(unit), pieces_(std::move(pieces)), zone_(std::move(zone)) {}

bool PeriodRule::is_number() const {
  // A literal may have more digits than an int has.
  const auto is_digits = [](const Piece& piece) {
    return piece.kind == Kind::date ||
           std::all_of(piece.literal.begin(), piece.literal.end(), is_digit);
  };
  return std::all_of(pieces_.begin(), pieces_.end(), is_digits);
}

UtcOffset PeriodRule::offset_at(std::int64_t wall_s) const {
  if (zone_ == nullptr) return {0, kLastSecond + 1, 0};
  return zone_->offset_at(std::clamp<std::int64_t>(wall_s, 0, kLastSecond));
}

std::string PeriodRule::name_of(const CivilTime& time) const {
  return write(name_pieces(unit_), time);
}

PeriodRule::Span PeriodRule::span_at(std::int64_t wall_s) const {
  const UtcOffset offset = offset_at(wall_s);
  const std::int64_t local_s = wall_s + offset.offset_s;
  const auto [first, end] = bounds(unit_, local_s);
  return {civil_time(local_s), std::max(first - offset.offset_s, offset.begin_s),
          std::min(end - offset.offset_s, offset.end_s)};
}

Period PeriodRule::at(std::int64_t wall_s) const {
  const Span span = span_at(std::clamp<std::int64_t>(wall_s, 0, kLastSecond));
  Period period{name_of(span.time), write(pieces_, span.time), span.begin_s, span.end_s};
  // If the clock was changed within the period, it continues with another offset. At both ends of
  // the calendar the local date stands still, and so does the span.
  while (period.end_s <= kLastSecond) {
    const Span next = span_at(period.end_s);
    if (name_of(next.time) != period.name || next.end_s <= period.end_s) break;
    period.end_s = next.end_s;
  }
  while (period.begin_s > 0) {
    const Span before = span_at(period.begin_s - 1);
    if (name_of(before.time) != period.name || before.begin_s >= period.begin_s) break;
    period.begin_s = before.begin_s;
  }
  return period;
}

// Where the clock was changed at about that time, an offset of the days around is the right one.
std::optional<Period> PeriodRule::beginning(std::int64_t local_s, std::string Period::*word,
                                            std::string_view wanted) const {
  for (const std::int64_t around : {std::int64_t{0}, -kDayS, kDayS}) {
    Period period = at(local_s - offset_at(local_s + around).offset_s);
    if (period.*word == wanted) return period;
  }
  return std::nullopt;
}

std::optional<Period> PeriodRule::named(std::string_view name) const {
  const std::optional<IdDate> date = read(name_pieces(unit_), name);
  return date ? beginning(first_second_of(*date), &Period::name, name) : std::nullopt;
}

std::optional<Period> PeriodRule::written(std::string_view text) const {
  const std::optional<IdDate> date = read(pieces_, text);
  return date ? beginning(first_second_of(*date), &Period::text, text) : std::nullopt;
}

std::string period_key(const std::string& pattern, std::string_view base, const Period& period) {
  if (pattern.empty()) return period_sequence(base, period.text);
  std::string key = pattern;
  return key.replace(key.find(kPeriodPlaceholder), kPeriodPlaceholder.size(), period.text);
}

}  // namespace seqd
