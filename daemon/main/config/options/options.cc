#include "daemon/main/config/options/options.h"

#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <type_traits>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

// How a checked value gets into a field, by the field's type. Enums are kept as their place in the
// list of choices.
template <typename Field>
void assign(Field& field, const OptionValue& value) {
  if constexpr (std::is_same_v<Field, std::string>) {
    field = std::get<std::string>(value);
  } else if constexpr (std::is_same_v<Field, UserListSettings>) {
    // What the names mean is looked up later (config_users.h); until then they mean no one.
    field = {std::get<std::string>(value), {}};
    field.compiled.everyone = field.names == "*";
  } else if constexpr (std::is_same_v<Field, std::optional<std::int64_t>>) {
    const auto* const number = std::get_if<std::int64_t>(&value);
    field = number == nullptr ? std::nullopt : std::optional(*number);
  } else if constexpr (std::is_same_v<Field, bool>) {
    field = std::get<std::int64_t>(value) != 0;
  } else {
    field = static_cast<Field>(std::get<std::int64_t>(value));
  }
}

template <typename Field>
OptionValue fetch(const Field& field) {
  if constexpr (std::is_same_v<Field, std::string>) {
    return field;
  } else if constexpr (std::is_same_v<Field, UserListSettings>) {
    return field.names;
  } else if constexpr (std::is_same_v<Field, std::optional<std::int64_t>>) {
    return field ? OptionValue(*field) : OptionValue(std::string());
  } else {
    return static_cast<std::int64_t>(field);
  }
}

// Which struct holds which table.
template <OptionTable table>
struct SettingsOf;
template <>
struct SettingsOf<OptionTable::daemon> {
  using Type = DaemonSettings;
};
template <>
struct SettingsOf<OptionTable::limits> {
  using Type = Limits;
};
template <>
struct SettingsOf<OptionTable::store> {
  using Type = StoreSettings;
};
template <>
struct SettingsOf<OptionTable::sequence> {
  using Type = SequenceSettings;
};

// The list is read once for each table; the lines of other tables give nothing.
template <OptionTable wanted>
std::vector<Option<typename SettingsOf<wanted>::Type>> collect() {
  using Wanted = typename SettingsOf<wanted>::Type;
  std::vector<Option<Wanted>> out;
#define OPTION(table, key, field, type, fallback, min, max, choices, reload, use, description)  \
  if constexpr (OptionTable::table == wanted) {                                                 \
    []<typename Settings>(std::vector<Option<Settings>>& list) {                                \
      list.push_back(                                                                           \
          {{OptionTable::table, #key, OptionType::type, fallback, min, max, choices,            \
            OptionReload::reload, OptionUse::use, description},                                 \
           [](Settings& settings, const OptionValue& value) { assign(settings.field, value); }, \
           [](const Settings& settings) { return fetch(settings.field); }});                    \
    }.template operator()<Wanted>(out);                                                         \
  }
#include "daemon/main/config/options/options.def"
#undef OPTION
  return out;
}

// A default that breaks the rules of its own option is our mistake.
OptionValue default_value(const OptionInfo& option) {
  const std::string_view text = option.fallback;
  switch (option.type) {
    case OptionType::text:
    case OptionType::path:
    case OptionType::secret:
    case OptionType::users:
      return std::string(text);
    case OptionType::boolean:
      ASSERT(text == "true" || text == "false");
      return std::int64_t{text == "true"};
    case OptionType::integer: {
      if (text.empty()) return std::string();
      std::int64_t number = 0;
      const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
      ASSERT(end.ec == std::errc() && end.ptr == text.data() + text.size());
      const Result<OptionValue> value = parse_option(option, number);
      return *value;
    }
    default: {
      const Result<OptionValue> value = parse_option(option, text);
      return *value;
    }
  }
}

}  // namespace

template <>
std::span<const Option<DaemonSettings>> options() {
  static const auto table = collect<OptionTable::daemon>();
  return table;
}
template <>
std::span<const Option<Limits>> options() {
  static const auto table = collect<OptionTable::limits>();
  return table;
}
template <>
std::span<const Option<StoreSettings>> options() {
  static const auto table = collect<OptionTable::store>();
  return table;
}
template <>
std::span<const Option<SequenceSettings>> options() {
  static const auto table = collect<OptionTable::sequence>();
  return table;
}

std::vector<const OptionInfo*> all_options() {
  std::vector<const OptionInfo*> out;
  const auto add = [&out](const auto& table) {
    for (const OptionInfo& option : table) out.push_back(&option);
  };
  add(options<DaemonSettings>());
  add(options<Limits>());
  add(options<StoreSettings>());
  add(options<SequenceSettings>());
  return out;
}

std::string_view option_table_name(OptionTable table) {
  switch (table) {
    case OptionTable::daemon:
      return "daemon";
    case OptionTable::limits:
      return "limits";
    case OptionTable::store:
      return "store.NAME";
    case OptionTable::sequence:
      return "sequence.\"NAME\"";
  }
  assertion_failed(__FILE__, __LINE__, "a known table");
}

template <typename Settings>
Settings default_settings() {
  Settings settings;
  for (const Option<Settings>& option : options<Settings>())
    option.write(settings, default_value(option));
  return settings;
}
template DaemonSettings default_settings();
template Limits default_settings();
template StoreSettings default_settings();
template SequenceSettings default_settings();

}  // namespace seqd
