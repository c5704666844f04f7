#include "daemon/core/settings/id_progression.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <tuple>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

// Differences of two int64 and what is added to one may be beyond int64, and are right modulo 2^64.
std::uint64_t bits(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

std::int64_t number(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

std::uint64_t size_of(std::int64_t increment) {
  return increment < 0 ? 0 - bits(increment) : bits(increment);
}

// How many steps lead from `from` to the last value on its side.
std::uint64_t steps_left(std::uint64_t from, const IdProgression::Form& form) {
  ASSERT(form.increment != 0);
  const std::uint64_t way = form.increment > 0 ? bits(form.max) - from : from - bits(form.min);
  return way / size_of(form.increment);
}

constexpr std::uint64_t kLastIndex = static_cast<std::uint64_t>(kLastOrdinal) - 1;

}  // namespace

std::strong_ordering ProgressionSettings::operator<=>(const ProgressionSettings& other) const {
  const auto parts = [](const ProgressionSettings& one) {
    const IdProgression* const made = one.compiled.get();
    return std::make_tuple(one.start, one.increment, one.min, one.max, one.cycle,
                           made == nullptr ? std::nullopt : std::optional(made->form()));
  };
  return parts(*this) <=> parts(other);
}

IdProgression::IdProgression(const Form& form)
    : form_(form), step_(bits(form.increment)), last_(steps_left(bits(form.start), form)) {
  ASSERT(form.min <= form.start && form.start <= form.max);
  length_ = steps_left(first_of_cycle(), form) + 1;
  ordinals_ = form.cycle ? kLastOrdinal : number(std::min(last_, kLastIndex)) + 1;
  ASSERT(ordinals_ >= 1 && ordinals_ <= kLastOrdinal);
}

std::uint64_t IdProgression::first_of_cycle() const {
  return bits(form_.increment > 0 ? form_.min : form_.max);
}

std::int64_t IdProgression::lowest() const {
  return form_.cycle || form_.increment < 0 ? form_.min : form_.start;
}

std::int64_t IdProgression::value(std::int64_t ordinal) const {
  const std::uint64_t index = bits(ordinal) - 1;
  if (index <= last_) return number(bits(form_.start) + index * step_);
  if (!form_.cycle) return value_near(ordinal);
  std::uint64_t behind = index - last_ - 1;
  if (length_ != 0) behind %= length_;
  return number(first_of_cycle() + behind * step_);
}

std::int64_t IdProgression::value_near(std::int64_t ordinal) const {
  if (ordinal >= 1 && ordinal <= ordinals_) return value(ordinal);
  constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
  const std::int64_t edge = ordinal < 1 ? form_.start : value(ordinals_);
  const std::int64_t away = ordinal < 1 ? ordinal - 1 : ordinal - ordinals_;
  std::int64_t moved = 0;
  if (!__builtin_mul_overflow(away, form_.increment, &moved) &&
      !__builtin_add_overflow(edge, moved, &moved)) {
    return moved;
  }
  return (away < 0) == (form_.increment < 0) ? kHighest : kLowest;
}

std::optional<std::uint64_t> IdProgression::steps_within(std::uint64_t from,
                                                         std::int64_t value) const {
  if (value < form_.min || value > form_.max) return std::nullopt;
  return steps_from(from, value);
}

// How often the increment is to be added to `from` to get to `value`.
std::optional<std::uint64_t> IdProgression::steps_from(std::uint64_t from,
                                                       std::int64_t value) const {
  const bool ahead = form_.increment > 0 ? value >= number(from) : value <= number(from);
  if (!ahead) return std::nullopt;
  const std::uint64_t way = form_.increment > 0 ? bits(value) - from : from - bits(value);
  if (way % size_of(form_.increment) != 0) return std::nullopt;
  return way / size_of(form_.increment);
}

std::optional<IdProgression::Place> IdProgression::find(std::int64_t value,
                                                        std::int64_t below) const {
  const std::uint64_t end = bits(std::clamp<std::int64_t>(below, 1, kLastOrdinal)) - 1;
  std::optional<Place> place;
  std::optional<std::uint64_t> index = steps_within(bits(form_.start), value);
  if (!index && !form_.cycle) index = steps_from(bits(form_.start), value);
  const bool may_be = index && (*index <= last_ || *index < end);
  if (may_be && *index <= kLastIndex) place = Place{number(*index) + 1, *index < end ? 1 : 0};
  if (!form_.cycle || last_ >= kLastIndex) return place;
  index = steps_within(first_of_cycle(), value);
  if (!index || *index > kLastIndex - last_ - 1) return place;
  const std::uint64_t first = last_ + 1 + *index;
  if (first >= end) return place ? place : Place{number(first) + 1, 0};
  const std::uint64_t again = length_ == 0 ? 0 : (end - 1 - first) / length_;
  const std::int64_t before = place ? place->times : 0;
  const std::int64_t ordinal = number(first + again * length_) + 1;
  ASSERT(first + again * length_ < end && this->value(ordinal) == value);
  return Place{ordinal, before + number(again) + 1};
}

std::optional<std::int64_t> IdProgression::find_from(std::int64_t value, std::int64_t from) const {
  const std::uint64_t begin = bits(std::max<std::int64_t>(from, 1)) - 1;
  std::optional<std::uint64_t> index = steps_within(bits(form_.start), value);
  if (index && *index >= begin && *index <= kLastIndex) return number(*index) + 1;
  if (!form_.cycle || last_ >= kLastIndex || begin > kLastIndex) return std::nullopt;
  index = steps_within(first_of_cycle(), value);
  if (!index || *index > kLastIndex - last_ - 1) return std::nullopt;
  std::uint64_t first = last_ + 1 + *index;
  if (first < begin) {
    if (length_ == 0 || length_ > kLastIndex) return std::nullopt;
    // Below 2^64: both are below 2^63 here.
    const std::uint64_t way = begin - first;
    first += (way / length_ + (way % length_ == 0 ? 0U : 1U)) * length_;
  }
  if (first > kLastIndex) return std::nullopt;
  ASSERT(first >= begin && this->value(number(first) + 1) == value);
  return number(first) + 1;
}

void IdProgression::append_runs(std::int64_t ordinal, std::int64_t count,
                                std::vector<Run>& runs) const {
  // Whoever counts a run out multiplies: count - 1 steps are an int64, too.
  const std::uint64_t far = form_.increment < 0 ? 0 - step_ : step_;
  const std::uint64_t most = bits(std::numeric_limits<std::int64_t>::max()) / far;
  while (count > 0) {
    const std::uint64_t index = bits(ordinal) - 1;
    std::uint64_t left = form_.cycle ? last_ - index : most;  // steps until it wraps
    if (form_.cycle && index > last_) {
      const std::uint64_t behind = index - last_ - 1;
      left = length_ - 1 - (length_ == 0 ? behind : behind % length_);
    }
    const std::uint64_t whole = bits(count) - 1;
    const std::int64_t taken = number(std::min({left, whole, most})) + 1;
    ASSERT(taken >= 1 && taken <= count);
    runs.push_back({value(ordinal), taken, form_.increment});
    ordinal += taken;
    count -= taken;
  }
}

std::string IdProgression::text() const {
  std::string text =
      "start=" + std::to_string(form_.start) + " increment=" + std::to_string(form_.increment);
  if (!form_.cycle) return text;
  return text + " min=" + std::to_string(form_.min) + " max=" + std::to_string(form_.max) +
         " cycle";
}

Status IdProgression::exhausted(std::string_view name) const {
  const bool up = form_.increment > 0;
  return {ErrorCode::EXHAUSTED,
          "\"" + std::string(name) + "\" has issued " + std::to_string(value(ordinals_)) +
              ", its last value; " + (up ? "max" : "min") + " is " +
              std::to_string(up ? form_.max : form_.min) + ": " + (up ? "raise max" : "lower min") +
              " and restart the daemon if more may exist"};
}

Status IdProgression::no_id(std::string_view name, std::int64_t value) const {
  return {ErrorCode::BAD_REQUEST,
          std::to_string(value) + " is no ID of \"" + std::string(name) + "\", which begins at " +
              std::to_string(form_.start) + ", goes by " + std::to_string(form_.increment) +
              " and stays within " + std::to_string(form_.min) + ".." + std::to_string(form_.max)};
}

std::shared_ptr<const IdProgression> read_progression(std::string_view text) {
  IdProgression::Form form;
  form.min = std::numeric_limits<std::int64_t>::min();
  form.max = std::numeric_limits<std::int64_t>::max();
  const auto take = [&text](std::string_view word, std::int64_t& number) {
    if (!text.starts_with(word)) return false;
    text.remove_prefix(word.size());
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
  };
  if (!take("start=", form.start) || !take(" increment=", form.increment)) return nullptr;
  form.cycle = take(" min=", form.min) && take(" max=", form.max) && text == " cycle";
  const bool fits = form.min < form.max && form.min <= form.start && form.start <= form.max;
  if (!(form.cycle || text.empty()) || form.increment == 0 || !fits) return nullptr;
  return std::make_shared<const IdProgression>(form);
}

std::string progression_text(const ProgressionSettings& progression) {
  return progression.compiled == nullptr ? std::string() : " " + progression.compiled->text();
}

}  // namespace seqd
