// prepare_reload() of config.h: what applies at once, and what waits for a restart.
#include <algorithm>
#include <optional>
#include <utility>

#include "daemon/core/text/id_format.h"
#include "daemon/main/config/config.h"
#include "daemon/main/config/config_tables.h"
#include "daemon/main/config/options/options.h"

namespace seqd {
namespace {

// A list of names for people: past this, only the number counts.
constexpr std::size_t kMaxListed = 200;

// Lists the differences of one table; what needs a restart gets the old value back.
template <typename Settings>
void compare_table(const std::string& table, const Settings& running, Settings& next,
                   ConfigurationChanges& changes) {
  for (const Option<Settings>& option : options<Settings>()) {
    const OptionValue before = option.read(running);
    if (before == option.read(next)) continue;
    const std::string name = table + "." + std::string(option.key);
    if (option.reload == OptionReload::live) {
      changes.applied.push_back(name);
    } else {
      changes.restart_needed.push_back(name);
      option.write(next, before);
    }
  }
}

// What waits for a restart keeps its value, and so where that stood. `first`: the place in
// `changes` from which on the names are of this table.
void keep_written(const std::string& table, const ConfigurationChanges& changes, std::size_t first,
                  const WrittenKeys& running, WrittenKeys& next, std::set<std::string>& waiting) {
  for (std::size_t at = first; at < changes.restart_needed.size(); ++at) {
    const std::string& name = changes.restart_needed[at];
    const std::string key = name.substr(table.size() + 1);
    waiting.insert(name);
    next.erase(key);
    if (const auto stood = running.find(key); stood != running.end()) next.insert(*stood);
  }
}

// Stores are opened once: all of them stay as they are.
void compare_stores(const Configuration& running, Configuration& next,
                    ConfigurationChanges& changes) {
  const std::size_t first = changes.restart_needed.size();
  for (const auto& [name, store] : running.stores) {
    const auto other = next.stores.find(name);
    if (other == next.stores.end()) {
      changes.restart_needed.push_back("store." + name);
    } else {
      compare_table("store." + name, store, other->second, changes);
    }
  }
  for (const auto& [name, store] : next.stores)
    if (!running.stores.contains(name)) changes.restart_needed.push_back("store." + name);
  next.waiting.insert(changes.restart_needed.begin() + static_cast<std::ptrdiff_t>(first),
                      changes.restart_needed.end());
  next.stores = running.stores;
  next.stores_written = running.stores_written;
}

bool wrote(const SequenceTableSettings& table, std::string_view key) {
  return table.written.contains(key);
}

// A table that leaves the store to the default means the default of the running daemon.
void settle_store(const Configuration& running, const Configuration& next, bool inherits,
                  SequenceTableSettings& table) {
  const bool named = wrote(table, "store") || (inherits && wrote(next.sequence_defaults, "store"));
  if (!named) table.settings.store = running.daemon.default_store;
  table.needs_restart = !running.stores.contains(table.settings.store);
}

// Which options of a sequence table a person changed. That what needs a restart is kept for the
// sequences in use is seen to name by name.
void list_differences(const std::string& table, const SequenceTableSettings& running,
                      const SequenceTableSettings& next, ConfigurationChanges& changes) {
  for (const Option<SequenceSettings>& option : options<SequenceSettings>()) {
    const bool written = wrote(running, option.key) || wrote(next, option.key);
    if (!written || option.read(running.settings) == option.read(next.settings)) continue;
    changes.applied.push_back(table + "." + std::string(option.key));
  }
}

// The place of the key is the same, and another key is there.
void list_new_key(const std::string& table, const SequenceSettings& running,
                  const SequenceSettings& next, ConfigurationChanges& changes) {
  if (running.text.compiled == nullptr || next.text.compiled == nullptr) return;
  if (!(running.text == next.text) || next.text.compiled->has_key_of(*running.text.compiled))
    return;
  changes.applied.push_back(table + ".scramble_key_file");
}

void compare_sequence_tables(const Configuration& running, Configuration& next,
                             ConfigurationChanges& changes) {
  settle_store(running, next, false, next.sequence_defaults);
  list_differences("sequence_defaults", running.sequence_defaults, next.sequence_defaults, changes);
  list_new_key("sequence_defaults", running.sequence_defaults.settings,
               next.sequence_defaults.settings, changes);
  if (next.sequence_defaults.needs_restart)
    changes.restart_needed.emplace_back("sequence_defaults.store");
  for (auto& [name, table] : next.sequences) {
    settle_store(running, next, true, table);
    const std::string full = sequence_table_name(name);
    const auto before = running.sequences.find(name);
    if (table.needs_restart) {
      changes.restart_needed.push_back(full + ".store");
    } else if (before == running.sequences.end()) {
      changes.applied.push_back(full);
    } else {
      list_differences(full, before->second, table, changes);
      if (table.settings.text.compiled != next.sequence_defaults.settings.text.compiled)
        list_new_key(full, before->second.settings, table.settings, changes);
    }
  }
  for (const auto& [name, table] : running.sequences)
    if (!next.sequences.contains(name)) changes.applied.push_back(sequence_table_name(name));
}

// The settings that the sequence of that name is to have: it is in use, so it stays on its counter,
// from which its remainder came. None: what find() makes of its table, as of most.
//
//   option that applies at once   the table's
//   option that needs a restart   that of before
//   max_value                     the table's; of before where the progression is to change
//   format                        the table's; of before where the period is to change, because the
//                                 former one contains that; none where IDs may be below 1
std::optional<SequenceSettings> settings_in_use(const std::string& name,
                                                const SequenceSettings& running,
                                                const SequenceTableSettings& table, bool named,
                                                ConfigurationChanges& changes) {
  SequenceSettings kept = table.settings;
  kept.named = named;
  if (kept.binding.key.empty() && running.periods.rule == nullptr) kept.binding.key = name;
  ConfigurationChanges of_this;
  compare_table(sequence_table_name(name), running, kept, of_this);
  // What was made of a progression that needs a restart to change.
  if (!(table.settings.progression == running.progression)) kept.max_value = running.max_value;
  kept.progression.compiled = running.progression.compiled;
  if (kept.progression.compiled != nullptr && kept.progression.compiled->lowest() < 1)
    kept.text.compiled = nullptr;
  if (kept.periods.period != table.settings.periods.period) {
    kept.periods.rule = running.periods.rule;
    kept.text = running.text;
  }
  const bool waits_for_restart = !of_this.restart_needed.empty();
  for (std::string& option : of_this.restart_needed)
    changes.restart_needed.push_back(std::move(option));
  const bool differs = waits_for_restart || table.needs_restart ||
                       !(kept.progression == table.settings.progression) ||
                       kept.text.compiled != table.settings.text.compiled ||
                       kept.periods.rule != table.settings.periods.rule;
  return differs ? std::optional(std::move(kept)) : std::nullopt;
}

// Each name once, in the order of the alphabet, and not too many; what needs a restart is not also
// called applied.
void tidy(ConfigurationChanges& changes) {
  for (auto* list : {&changes.restart_needed, &changes.applied}) {
    std::sort(list->begin(), list->end());
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  std::erase_if(changes.applied, [&](const std::string& name) {
    return std::binary_search(changes.restart_needed.begin(), changes.restart_needed.end(), name);
  });
  for (auto* list : {&changes.restart_needed, &changes.applied}) {
    if (list->size() <= kMaxListed) continue;
    const std::size_t more = list->size() - kMaxListed;
    list->resize(kMaxListed);
    list->push_back("and " + std::to_string(more) + " more");
  }
}

}  // namespace

ConfigurationChanges prepare_reload(const Configuration& running, Configuration& next,
                                    const std::set<std::string>& in_use) {
  ConfigurationChanges changes;
  compare_table("daemon", running.daemon, next.daemon, changes);
  keep_written("daemon", changes, 0, running.daemon_written, next.daemon_written, next.waiting);
  const std::size_t of_limits = changes.restart_needed.size();
  compare_table("limits", running.limits, next.limits, changes);
  keep_written("limits", changes, of_limits, running.limits_written, next.limits_written,
               next.waiting);
  compare_stores(running, next, changes);
  compare_sequence_tables(running, next, changes);
  for (const std::string& name : in_use) {
    const SequenceSettings* const found = running.find(name);
    const SequenceTableSettings* table = next.find_table(name);
    // Those of periods follow from their base, when they are looked up.
    if (found == nullptr || table == nullptr || !period_of(name).empty()) continue;
    const SequenceSettings before = *found;  // find() keeps it only until the next call
    const bool named = next.sequences.contains(name);
    if (auto kept = settings_in_use(name, before, *table, named, changes))
      next.kept_.emplace(name, std::move(*kept));
  }
  tidy(changes);
  return changes;
}

}  // namespace seqd
