#include "daemon/main/config/config_page.h"

#include <iterator>
#include <map>
#include <utility>

#include "daemon/main/config/config_tables.h"
#include "daemon/main/config/config_values.h"

namespace seqd {
namespace {

constexpr const char* kDefaultsTable = "sequence_defaults";

// Where a value stands: in its own table, else where `otherwise` says.
ConfigOption option_of(const EffectiveValue& value, const WrittenKeys& written,
                       const char* otherwise) {
  ConfigOption option{std::string(value.option->key), value.text, otherwise, 0, false};
  const auto stands = written.find(value.option->key);
  if (stands == written.end()) return option;
  option.from = stands->second == kCommandLine ? "command line" : "file";
  option.line = stands->second;
  return option;
}

// Of a table without sequences.
ConfigTable table_of(const Configuration& configuration, const std::string& name,
                     const std::vector<EffectiveValue>& values, const WrittenKeys& written) {
  ConfigTable table{name, {}};
  for (const EffectiveValue& value : values) {
    ConfigOption option = option_of(value, written, "default");
    option.waits = configuration.waiting.contains(name + "." + option.key);
    // The line is that of a text that is not there any more.
    if (option.waits) option.line = 0;
    table.options.push_back(std::move(option));
  }
  return table;
}

ConfigTable store_table(const Configuration& configuration, const std::string& name,
                        const StoreSettings& store) {
  const auto found = configuration.stores_written.find(name);
  const WrittenKeys written =
      found == configuration.stores_written.end() ? WrittenKeys() : found->second;
  ConfigTable table =
      table_of(configuration, "store." + name, effective_values_of_store(store), written);
  const bool removed = configuration.waiting.contains("store." + name);
  for (ConfigOption& option : table.options) {
    // Nothing else fills it in: AWS_REGION or a profile.
    if (option.key == "region" && option.from == "default") option.from = "environment";
    option.waits = option.waits || removed;
  }
  return table;
}

std::map<std::string, std::string, std::less<>> texts_of(const SequenceSettings& settings) {
  std::map<std::string, std::string, std::less<>> texts;
  for (const EffectiveValue& value : effective_values(settings))
    texts.emplace(value.option->key, value.text);
  return texts;
}

// The options of a sequence's table. `kept`: what is in force for it until a restart, or null.
// `all`: also what is not written in the table.
ConfigTable sequence_table(const Configuration& configuration, const std::string& name,
                           const SequenceTableSettings& table, const SequenceSettings* kept,
                           bool all) {
  const auto in_file = texts_of(table.settings);
  const bool is_defaults = &table == &configuration.sequence_defaults;
  ConfigTable out{name, {}};
  for (const EffectiveValue& value : effective_values(kept != nullptr ? *kept : table.settings)) {
    const bool inherited =
        !is_defaults && configuration.sequence_defaults.written.contains(value.option->key);
    ConfigOption option = option_of(value, table.written, inherited ? kDefaultsTable : "default");
    const auto text = in_file.find(option.key);
    // The key is the sequence's name where the table has none.
    const bool changed = kept != nullptr && option.key != "key" &&
                         (text == in_file.end() || text->second != option.value);
    option.waits = changed || table.needs_restart;
    if (changed) option.from = "earlier", option.line = 0;
    if (all || changed || table.written.contains(option.key))
      out.options.push_back(std::move(option));
  }
  return out;
}

}  // namespace

ConfigPage config_page(const Configuration& configuration, const std::string& after) {
  ConfigPage page;
  page.file = configuration.file;
  if (after.empty()) {
    page.tables.push_back(table_of(configuration, "daemon", effective_values(configuration.daemon),
                                   configuration.daemon_written));
    page.tables.push_back(table_of(configuration, "limits", effective_values(configuration.limits),
                                   configuration.limits_written));
    for (const auto& [name, store] : configuration.stores)
      page.tables.push_back(store_table(configuration, name, store));
    page.tables.push_back(sequence_table(configuration, kDefaultsTable,
                                         configuration.sequence_defaults, nullptr, true));
  }
  std::size_t tables = 0;
  for (auto at = configuration.sequences.upper_bound(after); at != configuration.sequences.end();
       ++at) {
    if (tables++ == kConfigTablesAPage) {
      page.after = std::prev(at)->first;
      break;
    }
    page.tables.push_back(sequence_table(configuration, sequence_table_name(at->first), at->second,
                                         configuration.find_kept(at->first), false));
  }
  return page;
}

Result<ConfigPage> config_of_sequence(const Configuration& configuration, const std::string& name) {
  const SequenceSettings* const settings = configuration.find(name);
  const std::string base(base_of(name));
  const Configuration::NamedTable table = configuration.find_named_table(base);
  if (settings == nullptr || table.table == nullptr)
    return Status(ErrorCode::NO_SEQUENCE,
                  "no table of the configuration is for \"" + name +
                      "\", or its store exists only after a restart; see daemon.allow_unlisted");
  ConfigPage page;
  page.file = configuration.file;
  page.tables.push_back(sequence_table(
      configuration, table.name.empty() ? kDefaultsTable : sequence_table_name(table.name),
      *table.table, settings, true));
  return page;
}

Result<ConfigPage> answer_config(const Configuration& configuration,
                                 const ConfigQuestion& question) {
  if (question.sequence.empty()) return config_page(configuration, question.after);
  return config_of_sequence(configuration, question.sequence);
}

}  // namespace seqd
