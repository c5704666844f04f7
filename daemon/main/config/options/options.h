// The table of options: every key that seqd.toml may hold, with its type, bounds, default and
// meaning (options.def is the list). Every text about an option is made from this table. Constant
// data; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "daemon/base/status.h"
#include "daemon/core/settings/sequence_settings.h"
#include "daemon/main/config/config_settings.h"

namespace seqd {

enum class OptionTable : std::uint8_t { daemon, limits, store, sequence };
enum class OptionType : std::uint8_t {
  integer,
  duration,  // "10s"; kept in milliseconds
  size,      // "64KiB"; kept in bytes
  boolean,   // kept as 0 or 1
  text,
  path,    // text that is an absolute path
  secret,  // the same, or the name of a systemd credential: where a secret is
  mode,    // "0660": permissions in octal
  choice,  // one word of a list; kept as its place there
  users,   // an array of users and @groups; kept as text with a blank between them
};
enum class OptionReload : std::uint8_t { live, restart };
// Basic: what an ordinary host configures. Advanced: its default suits almost all hosts.
enum class OptionUse : std::uint8_t { basic, advanced };

// A value in checked form: text for text, path, secret and users, a number for the other types; an
// empty text for an integer that need not be given and is not.
using OptionValue = std::variant<std::int64_t, std::string>;

struct OptionInfo {
  OptionTable table;
  std::string_view key;
  OptionType type;
  std::string_view fallback;  // the default, as text
  // Of the value; of the length in bytes for text, path and secret; of how many there are for
  // users.
  std::int64_t min;
  std::int64_t max;
  std::string_view choices;  // separated by |
  OptionReload reload;
  OptionUse use;
  std::string_view description;
};

// An option together with the way into the struct that holds its table.
template <typename Settings>
struct Option : OptionInfo {
  void (*write)(Settings&, const OptionValue&);
  OptionValue (*read)(const Settings&);
};

// The options of one table: DaemonSettings, Limits, StoreSettings or SequenceSettings.
template <typename Settings>
std::span<const Option<Settings>> options();
template <>
std::span<const Option<DaemonSettings>> options();
template <>
std::span<const Option<Limits>> options();
template <>
std::span<const Option<StoreSettings>> options();
template <>
std::span<const Option<SequenceSettings>> options();

// All of them, in the order of the list.
std::vector<const OptionInfo*> all_options();

// The table's name in front of a key: "daemon", "limits", "store.NAME", "sequence.NAME".
std::string_view option_table_name(OptionTable table);

// A struct with every option at its default.
template <typename Settings>
Settings default_settings();

// Checks a value that was written as text ("10s", "64KiB", "true", "0660", "forfeit"). The error's
// text says what was found and what is allowed, without naming the option.
Result<OptionValue> parse_option(const OptionInfo& option, std::string_view text);
// Checks a value that was written as a number or a boolean.
Result<OptionValue> parse_option(const OptionInfo& option, std::int64_t number);
Result<OptionValue> parse_option(const OptionInfo& option, bool truth);
// Checks how an array of users is written, not whether they exist.
Result<OptionValue> parse_users(const OptionInfo& option, const std::vector<std::string>& names);

// What is allowed, in words: "an integer from 4 to 32".
std::string allowed_values(const OptionInfo& option);

// The value as it stands in a file, with quotes where TOML wants them.
std::string format_option(const OptionInfo& option, const OptionValue& value);

}  // namespace seqd
