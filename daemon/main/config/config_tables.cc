#include "daemon/main/config/config_tables.h"

#include "daemon/os/journal/event_line.h"

namespace seqd {
namespace {

Result<OptionValue> read_value(const OptionInfo& option, const DocumentEntry& entry) {
  using Kind = DocumentEntry::Kind;
  switch (entry.kind) {
    case Kind::integer:
      return parse_option(option, entry.integer);
    case Kind::boolean:
      return parse_option(option, entry.boolean);
    case Kind::text:
      return parse_option(option, std::string_view(entry.text));
    case Kind::texts:
      if (option.type == OptionType::users) return parse_users(option, entry.texts);
      break;
    case Kind::table:
    case Kind::other:
      break;
  }
  return Status(ErrorCode::CONFIG,
                "found " + std::string(entry.what) + "; allowed: " + allowed_values(option));
}

// The table in which a key would be right, for a key that stands in a wrong one.
std::string_view home_of(std::string_view key) {
  for (const OptionInfo* option : all_options())
    if (option->key == key) return option_table_name(option->table);
  return {};
}

}  // namespace

std::string sequence_table_name(const std::string& name) {
  return "sequence.\"" + escape_line(name, 140) + "\"";
}

void report_unknown(const DocumentEntry& entry, const std::string& table_name,
                    const std::vector<std::string_view>& known, Problems& problems) {
  const std::string key = escape_line(entry.key, 80);
  const std::string full = table_name.empty() ? key : table_name + "." + key;
  const bool is_table = entry.kind == DocumentEntry::Kind::table;
  std::string text = is_table ? "there is no such table" : "there is no such option";
  if (const std::string_view near = nearest_word(entry.key, known); !near.empty()) {
    text.append("; did you mean \"").append(near).append("\"?");
  } else if (const std::string_view home = home_of(entry.key); !home.empty() && !is_table) {
    text.append("; it belongs in [").append(home).append("]");
  } else {
    text.append("; there are: ");
    for (std::size_t i = 0; i < known.size(); ++i) text.append(i == 0 ? "" : ", ").append(known[i]);
  }
  problems.add(entry.line, full, text);
}

template <typename Settings>
void read_table(const DocumentTable& table, const std::string& name, Settings& settings,
                WrittenKeys& written, Problems& problems) {
  std::vector<std::string_view> known;
  for (const Option<Settings>& option : options<Settings>()) known.push_back(option.key);
  for (const DocumentEntry& entry : table.entries) {
    const Option<Settings>* found = nullptr;
    for (const Option<Settings>& option : options<Settings>())
      if (option.key == entry.key) found = &option;
    if (found == nullptr) {
      report_unknown(entry, name, known, problems);
      continue;
    }
    written.emplace(entry.key, entry.line);
    const Result<OptionValue> value = read_value(*found, entry);
    if (value.ok()) {
      found->write(settings, *value);
    } else {
      problems.add(entry.line, name + "." + entry.key, value.status().text());
    }
  }
}

template void read_table(const DocumentTable&, const std::string&, DaemonSettings&, WrittenKeys&,
                         Problems&);
template void read_table(const DocumentTable&, const std::string&, Limits&, WrittenKeys&,
                         Problems&);
template void read_table(const DocumentTable&, const std::string&, StoreSettings&, WrittenKeys&,
                         Problems&);
template void read_table(const DocumentTable&, const std::string&, SequenceSettings&, WrittenKeys&,
                         Problems&);

}  // namespace seqd
