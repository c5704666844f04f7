#include "daemon/core/ranges/exhaustion.h"

#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

constexpr std::int64_t kHighest32 = (std::int64_t{1} << 31) - 1;
constexpr std::int64_t kHighestDouble = (std::int64_t{1} << 53) - 1;
constexpr std::int64_t kHourMs = 3'600'000;
constexpr std::int64_t kMinuteMs = 60'000;
constexpr std::int64_t kSoonMs = 2'592'000'000;  // 30 days
constexpr double kDayMs = 86'400'000;
constexpr double kMostMs = 1e18;

// The bounds of other programs, and the bits of the warnings that were logged.
struct Bound {
  std::int64_t highest;
  const char* holder;
  unsigned near;
  unsigned passed;
};
constexpr Bound kBounds[] = {{kHighest32, "a signed column of 32 bits holds", 1, 2},
                             {kHighestDouble, "JavaScript's numbers hold", 4, 8}};
constexpr unsigned kNinety = 16;
constexpr unsigned kNinetyNine = 32;
constexpr unsigned kSoon = 64;

bool has_end(const SequenceSettings& settings) {
  return settings.progression.compiled == nullptr || !settings.progression.compiled->form().cycle;
}

std::int64_t first_ordinal(const SequenceSettings& settings) {
  return settings.progression.compiled == nullptr ? settings.binding.first_id : 1;
}

std::int64_t left_of(std::int64_t end, const SequenceSettings& settings) {
  return std::max<std::int64_t>(settings.last_ordinal() - (end - 1), 0);
}

// Which part of all IDs there are to be is left. Two int64 may be further apart than int64 goes,
// but ordinals are not below 1.
double part_left(std::int64_t left, const SequenceSettings& settings) {
  const auto last = static_cast<double>(settings.last_ordinal());
  const auto first = static_cast<double>(first_ordinal(settings));
  return static_cast<double>(left) / std::max(last - first + 1, 1.0);
}

bool is_soon(const Exhaustion::Forecast& forecast) {
  return forecast.ms && *forecast.ms < kSoonMs;
}

// How far from 0 the IDs up to `end` go.
std::uint64_t reach_of(std::int64_t end, const SequenceSettings& settings) {
  if (end <= 1) return 0;
  const IdProgression* const progression = settings.progression.compiled.get();
  const std::int64_t id = progression == nullptr
                              ? end - 1
                              : progression->value(std::min(end - 1, progression->ordinals()));
  // -2^31 fits where 2^31-1 does.
  return id < 0 ? static_cast<std::uint64_t>(-(id + 1)) : static_cast<std::uint64_t>(id);
}

bool is_near(std::uint64_t reach, const Bound& bound) {
  return reach > static_cast<std::uint64_t>(bound.highest / 10 * 9);
}

bool is_passed(std::uint64_t reach, const Bound& bound) {
  return reach > static_cast<std::uint64_t>(bound.highest);
}

}  // namespace

void Exhaustion::restore(std::int64_t high_water, const SequenceSettings& settings) {
  end_ = high_water;
  const std::uint64_t reach = reach_of(high_water, settings);
  for (const Bound& bound : kBounds) {
    if (is_passed(reach, bound)) told_ |= bound.near | bound.passed;
  }
  update_forecast(settings);
}

bool Exhaustion::once(unsigned warning) {
  if ((told_ & warning) != 0) return false;
  told_ |= warning;
  return true;
}

void Exhaustion::leased(std::int64_t end, std::int64_t now_ms, const std::string& name,
                        const SequenceSettings& settings, EventSink& events) {
  end_ = std::max(end_, end);
  leased_ms_ = now_ms;
  if (from_.at_ms == kNever) from_ = middle_ = Point{now_ms, end_};
  ASSERT(from_.end <= middle_.end && middle_.end <= end_);
  if (now_ms - middle_.at_ms >= kHourMs) {
    from_ = middle_;
    middle_ = Point{now_ms, end_};
  }
  update_forecast(settings);
  const std::uint64_t reach = reach_of(end_, settings);
  for (const Bound& bound : kBounds) {
    const bool passed = is_passed(reach, bound);
    if (passed) told_ |= bound.near;
    if ((passed && once(bound.passed)) || (is_near(reach, bound) && once(bound.near)))
      warn_of_bound(bound.highest, bound.holder, passed, name, settings, events);
  }
  warn_of_end(now_ms, name, settings, events);
}

void Exhaustion::warn_of_bound(std::int64_t bound, const char* holder, bool passed,
                               const std::string& name, const SequenceSettings& settings,
                               EventSink& events) const {
  const IdProgression* const progression = settings.progression.compiled.get();
  const std::string id =
      std::to_string(progression == nullptr ? end_ - 1 : progression->value_near(end_ - 1));
  events.raise({EventKind::id_bound,
                "\"" + name + "\" was leased up to " + id + ", " +
                    (passed ? "beyond " : "nine tenths of the way to ") + std::to_string(bound) +
                    ", the highest that " + holder,
                {{"SEQUENCE", name},
                 {"ID", id},
                 {"BOUND", std::to_string(bound)},
                 {"PASSED", passed ? "1" : "0"}}});
}

void Exhaustion::warn_of_end(std::int64_t now_ms, const std::string& name,
                             const SequenceSettings& settings, EventSink& events) {
  if (!has_end(settings)) return;
  const std::int64_t left = left_of(end_, settings);
  const double part = part_left(left, settings);
  const Forecast known = forecast(now_ms, settings);
  const bool tenth = part <= 0.10;
  const bool last_percent = part <= 0.01;
  if (!tenth && !is_soon(known)) return;
  // The later warning includes the earlier one.
  if (tenth) told_ |= kSoon;
  if (last_percent) told_ |= kNinety;
  const unsigned warning = last_percent ? kNinetyNine : tenth ? kNinety : kSoon;
  if (!once(warning)) return;
  std::string text = "\"" + name + "\" has " + std::to_string(left) + " IDs left to be leased";
  if (tenth)
    text += std::string(", ") + (last_percent ? "1 %" : "10 %") + " or less of all there are";
  Event event{EventKind::sequence_ends, {}, {{"SEQUENCE", name}, {"LEFT", std::to_string(left)}}};
  if (tenth) event.fields.emplace_back("PERCENT", last_percent ? "99" : "90");
  if (known.days) {
    text +=
        *known.days == 0 ? ": less than a day" : ": about " + std::to_string(*known.days) + " days";
    text += " at the present rate";
    event.fields.emplace_back("DAYS", std::to_string(*known.days));
  }
  event.text = std::move(text);
  events.raise(event);
}

double Exhaustion::per_day(std::int64_t now_ms) const {
  if (from_.at_ms == kNever || now_ms - from_.at_ms < kMinuteMs || end_ <= from_.end) return 0;
  return static_cast<double>(end_ - from_.end) / static_cast<double>(now_ms - from_.at_ms) * kDayMs;
}

Exhaustion::Forecast Exhaustion::forecast(std::int64_t now_ms,
                                          const SequenceSettings& settings) const {
  Forecast forecast;
  if (end_ == 0 || !has_end(settings)) return forecast;
  forecast.left = left_of(end_, settings);
  const double rate = per_day(now_ms);
  if (rate <= 0) return forecast;
  const double ms = static_cast<double>(*forecast.left) / rate * kDayMs;
  forecast.ms = static_cast<std::int64_t>(std::min(ms, kMostMs));
  forecast.days = *forecast.ms / static_cast<std::int64_t>(kDayMs);
  return forecast;
}

// The rate is highest a minute after its first point, or at the last lease: it only falls later.
void Exhaustion::update_forecast(const SequenceSettings& settings) {
  const std::int64_t soonest_ms =
      from_.at_ms == kNever ? 0 : std::max(leased_ms_, from_.at_ms + kMinuteMs);
  may_end_soon_ = ends_soon(forecast(soonest_ms, settings), settings);
}

bool ends_soon(const Exhaustion::Forecast& forecast, const SequenceSettings& settings) {
  if (!forecast.left) return false;
  return part_left(*forecast.left, settings) <= 0.10 || is_soon(forecast);
}

}  // namespace seqd
