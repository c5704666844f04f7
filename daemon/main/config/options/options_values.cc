// How the value of an option is written: the second half of options.h.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "daemon/base/assertion.h"
#include "daemon/main/config/options/options.h"
#include "daemon/os/credentials.h"
#include "daemon/os/journal/event_line.h"

namespace seqd {
namespace {

constexpr std::size_t kLongestUserName = 64;

struct Unit {
  std::string_view name;
  std::int64_t factor;
};
// The largest first: a value is written in the largest unit that divides it.
constexpr std::array kDurationUnits = {Unit{"d", 86'400'000}, Unit{"h", 3'600'000},
                                       Unit{"min", 60'000}, Unit{"s", 1'000}, Unit{"ms", 1}};
constexpr std::array kSizeUnits = {Unit{"GiB", 1 << 30}, Unit{"MiB", 1 << 20}, Unit{"KiB", 1 << 10},
                                   Unit{"B", 1}};

std::span<const Unit> units_of(OptionType type) {
  if (type == OptionType::duration) return kDurationUnits;
  return kSizeUnits;
}

std::string with_unit(OptionType type, std::int64_t value) {
  if (value == 0) return type == OptionType::duration ? "0s" : "0B";
  for (const Unit& unit : units_of(type))
    if (value % unit.factor == 0) return std::to_string(value / unit.factor).append(unit.name);
  assertion_failed(__FILE__, __LINE__, "the smallest unit is 1");
}

// Digits and one unit; nothing else, and nothing that does not fit.
std::optional<std::int64_t> parse_with_unit(OptionType type, std::string_view text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  const auto digits = std::from_chars(text.data(), end, number);
  if (digits.ec != std::errc()) return std::nullopt;
  const std::string_view name(digits.ptr, static_cast<std::size_t>(end - digits.ptr));
  for (const Unit& unit : units_of(type)) {
    std::int64_t value = 0;
    if (unit.name == name && !__builtin_mul_overflow(number, unit.factor, &value)) return value;
  }
  return std::nullopt;
}

std::optional<std::int64_t> parse_mode(std::string_view text) {
  std::int64_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number, 8);
  const bool whole = end.ec == std::errc() && end.ptr == text.data() + text.size();
  if (!whole || text.front() == '-' || text.size() > 4) return std::nullopt;
  return number;
}

std::string octal(std::int64_t value) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 8);
  const std::string text(digits.data(), end.ptr);
  return std::string(text.size() < 4 ? 4 - text.size() : 0, '0') + text;
}

std::vector<std::string_view> split_choices(std::string_view choices) {
  std::vector<std::string_view> out;
  while (true) {
    const std::size_t bar = choices.find('|');
    out.push_back(choices.substr(0, bar));
    if (bar == std::string_view::npos) return out;
    choices.remove_prefix(bar + 1);
  }
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  return out.append("\"");
}

std::string array_of(std::string_view words) {
  std::string out = "[";
  while (!words.empty()) {
    const std::size_t space = words.find(' ');
    out.append(out.size() > 1 ? ", " : "").append(quoted(words.substr(0, space)));
    words = space == std::string_view::npos ? std::string_view() : words.substr(space + 1);
  }
  return out.append("]");
}

Status refuse(const OptionInfo& option, std::string found) {
  return {ErrorCode::CONFIG, found.append("; allowed: ").append(allowed_values(option))};
}

// What was found is quoted, made harmless and cut: it may be anything.
Status refuse_text(const OptionInfo& option, std::string_view text) {
  return refuse(option, "found \"" + escape_line(text, 60) + "\"");
}

Result<OptionValue> parse_number_text(const OptionInfo& option, std::string_view text,
                                      std::optional<std::int64_t> number) {
  if (!number || *number < option.min || *number > option.max) return refuse_text(option, text);
  return OptionValue(*number);
}

// The content is not repeated in the error: it may be a secret, also where the place of one
// belongs.
Result<OptionValue> parse_plain_text(const OptionInfo& option, std::string_view text) {
  const auto size = static_cast<std::int64_t>(text.size());
  if (size < option.min || size > option.max)
    return refuse(option, "found text of " + std::to_string(size) + " bytes");
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::any_of(text.begin(), text.end(), control))
    return refuse(option, "found text with a control character");
  if (option.type == OptionType::path && text.front() != '/') return refuse_text(option, text);
  if (option.type == OptionType::secret && !is_place_of_secret(text))
    return refuse(option, "found text that is neither");
  return OptionValue(std::string(text));
}

}  // namespace

std::string allowed_values(const OptionInfo& option) {
  const std::string low = std::to_string(option.min);
  const std::string high = std::to_string(option.max);
  switch (option.type) {
    case OptionType::integer:
      return "an integer from " + low + " to " + high;
    case OptionType::duration:
      return "a duration from \"" + with_unit(option.type, option.min) + "\" to \"" +
             with_unit(option.type, option.max) + "\" (units ms, s, min, h, d)";
    case OptionType::size:
      return "a size from \"" + with_unit(option.type, option.min) + "\" to \"" +
             with_unit(option.type, option.max) + "\" (units B, KiB, MiB, GiB)";
    case OptionType::boolean:
      return "true or false";
    case OptionType::text:
      return "text of " + low + " to " + high + " bytes without control characters";
    case OptionType::path:
      return "an absolute path of " + low + " to " + high + " bytes";
    case OptionType::secret:
      return "an absolute path of " + low + " to " + high +
             " bytes, or the name of a systemd credential";
    case OptionType::mode:
      return "octal permissions from \"" + octal(option.min) + "\" to \"" + octal(option.max) +
             "\"";
    case OptionType::users:
      return "an array of at most " + high +
             " users and @groups, by name or number, as [\"alice\", \"@staff\"]; [\"*\"] is all "
             "users";
    case OptionType::choice: {
      std::string out;
      for (const std::string_view choice : split_choices(option.choices))
        out.append(out.empty() ? "" : " or ").append(quoted(choice));
      return out;
    }
  }
  assertion_failed(__FILE__, __LINE__, "a known type");
}

Result<OptionValue> parse_users(const OptionInfo& option, const std::vector<std::string>& names) {
  if (static_cast<std::int64_t>(names.size()) > option.max)
    return refuse(option, "found " + std::to_string(names.size()));
  std::string out;
  for (const std::string& name : names) {
    const std::string_view bare = std::string_view(name).substr(name.starts_with('@') ? 1 : 0);
    const auto bad = [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f; };
    if (bare.empty() || bare.size() > kLongestUserName ||
        std::any_of(bare.begin(), bare.end(), bad) || bare.starts_with('@') ||
        (name != "*" && bare == "*") || (name == "*" && names.size() > 1))
      return refuse_text(option, name);
    out.append(out.empty() ? "" : " ").append(name);
  }
  return OptionValue(out);
}

Result<OptionValue> parse_option(const OptionInfo& option, std::string_view text) {
  switch (option.type) {
    case OptionType::integer:
    case OptionType::boolean:
      return refuse(option, "found \"" + escape_line(text, 60) + "\" in quotes");
    case OptionType::users:
      return refuse(option, "found \"" + escape_line(text, 60) + "\" without brackets");
    case OptionType::duration:
    case OptionType::size:
      return parse_number_text(option, text, parse_with_unit(option.type, text));
    case OptionType::mode:
      return parse_number_text(option, text, parse_mode(text));
    case OptionType::text:
    case OptionType::path:
    case OptionType::secret:
      return parse_plain_text(option, text);
    case OptionType::choice: {
      const auto choices = split_choices(option.choices);
      const auto found = std::find(choices.begin(), choices.end(), text);
      if (found == choices.end()) return refuse_text(option, text);
      return OptionValue(std::int64_t{found - choices.begin()});
    }
  }
  assertion_failed(__FILE__, __LINE__, "a known type");
}

Result<OptionValue> parse_option(const OptionInfo& option, std::int64_t number) {
  const bool in_bounds = number >= option.min && number <= option.max;
  const bool plain = option.type == OptionType::integer || option.type == OptionType::size;
  // 0 needs no unit.
  const bool zero = option.type == OptionType::duration && number == 0;
  if (in_bounds && (plain || zero)) return OptionValue(number);
  return refuse(option, "found " + std::to_string(number));
}

Result<OptionValue> parse_option(const OptionInfo& option, bool truth) {
  if (option.type == OptionType::boolean) return OptionValue(std::int64_t{truth});
  return refuse(option, truth ? "found true" : "found false");
}

std::string format_option(const OptionInfo& option, const OptionValue& value) {
  if (const auto* text = std::get_if<std::string>(&value))
    return option.type == OptionType::users ? array_of(*text) : quoted(*text);
  const std::int64_t number = std::get<std::int64_t>(value);
  switch (option.type) {
    case OptionType::duration:
    case OptionType::size:
      return quoted(with_unit(option.type, number));
    case OptionType::mode:
      return quoted(octal(number));
    case OptionType::choice: {
      const auto choices = split_choices(option.choices);
      ASSERT(number >= 0 && static_cast<std::size_t>(number) < choices.size());
      return quoted(choices[static_cast<std::size_t>(number)]);
    }
    case OptionType::boolean:
      return number != 0 ? "true" : "false";
    default:
      return std::to_string(number);
  }
}

}  // namespace seqd
