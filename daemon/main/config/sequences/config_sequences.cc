#include "daemon/main/config/sequences/config_sequences.h"

#include <algorithm>

#include "daemon/main/config/config_relations.h"
#include "daemon/main/config/config_tables.h"
#include "daemon/main/config/config_users.h"
#include "daemon/main/config/sequences/config_formats.h"
#include "daemon/main/config/sequences/config_patterns.h"
#include "daemon/main/config/sequences/config_periods.h"
#include "daemon/main/config/sequences/config_progressions.h"
#include "daemon/main/config/sequences/config_seeds.h"
#include "protocol/limits.h"

namespace seqd {
namespace {

constexpr const char* kDefaults = "sequence_defaults";

bool good_name(std::string_view name) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._:-*?").find(c) != std::string_view::npos;
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), good);
}

class SequenceTables {
 public:
  SequenceTables(const ConfigurationRequest& request, Configuration& configuration,
                 Problems& problems)
      : request_(request), configuration_(configuration), problems_(problems), users_(problems) {}

  void read_defaults(const DocumentEntry* entry) {
    SequenceTableSettings& defaults = configuration_.sequence_defaults;
    defaults.settings = default_settings<SequenceSettings>();
    defaults.settings.store = configuration_.daemon.default_store;
    if (entry == nullptr) return read_format(1, kDefaults, {}, defaults);
    const WrittenKeys written = read_one(*entry, kDefaults, defaults);
    read_format(entry->line, kDefaults, written, defaults);
    refuse_shared_key(*entry, kDefaults, defaults);
  }

  void read_named(const DocumentEntry& entry) {
    const std::string table = sequence_table_name(entry.key);
    if (entry.kind != DocumentEntry::Kind::table) {
      problems_.add(entry.line, table,
                    "found " + std::string(entry.what) + "; allowed: a table [sequence.\"NAME\"]");
      return;
    }
    if (!good_name(entry.key)) {
      problems_.add(entry.line, table,
                    "allowed in a name: A-Z a-z 0-9 . _ : - and, in a pattern, * and ?");
      return;
    }
    if (static_cast<std::int64_t>(entry.key.size()) > protocol::kNameLimit.max) {
      problems_.add(
          entry.line, table,
          "the name is longer than " + std::to_string(protocol::kNameLimit.max) + " bytes");
      return;
    }
    if (has_only_tables(entry)) {
      problems_.add(entry.line, table,
                    "a name with a dot must be quoted: [sequence.\"" + entry.key + "." +
                        entry.table.entries.front().key + "\"]");
      return;
    }
    SequenceTableSettings sequence = configuration_.sequence_defaults;
    sequence.written.clear();
    const WrittenKeys written = read_one(entry, table, sequence);
    const IdFormatSettings& text = sequence.settings.text;
    // The defaults may have none because of their progression.
    const bool plain = text.compiled == nullptr && text.format == IdFormatSettings().format;
    const bool periods = sequence.settings.periods.rule != nullptr;
    if (periods || writes_format(written) || (plain && sequence.settings.progression.given())) {
      read_format(entry.line, table, written, sequence);
    } else {
      relate_progression_to_format(table, entry.line, written, sequence.settings, problems_);
    }
    if (is_pattern(entry.key)) {
      refuse_shared_key(entry, table, sequence);
      patterns_.push_back(&entry);
    }
    configuration_.sequences.emplace(entry.key, std::move(sequence));
  }

  void settle_patterns() {
    if (patterns_.size() > kMaxPatterns) {
      problems_.add(patterns_[kMaxPatterns]->line, "sequence",
                    "found " + std::to_string(patterns_.size()) +
                        " patterns; allowed: " + std::to_string(kMaxPatterns));
      return;
    }
    for (std::size_t i = 0; i < patterns_.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) check_pair(*patterns_[j], *patterns_[i]);
      configuration_.patterns.add(patterns_[i]->key);
    }
  }

 private:
  WrittenKeys read_one(const DocumentEntry& entry, const std::string& table,
                       SequenceTableSettings& sequence) {
    WrittenKeys written;
    // Tables change single options of the defaults' progression, not what was made of it.
    sequence.settings.progression = default_progression_;
    read_table(entry.table, table, sequence.settings, written, problems_);
    if (table == kDefaults) default_progression_ = sequence.settings.progression;
    users_.make(table, "allow", written, sequence.settings.access.allow);
    users_.make(table, "deny", written, sequence.settings.access.deny);
    make_progression(table, entry.line, written, sequence.settings, problems_);
    relate_sequence(table, sequence.settings, written, problems_);
    sequence.written = written;
    if (sequence.settings.store.empty())
      sequence.settings.store = configuration_.daemon.default_store;
    const auto store = written.find("store");
    if (store != written.end() && !configuration_.stores.contains(sequence.settings.store)) {
      std::string names;
      for (const auto& [name, unused] : configuration_.stores)
        names.append(names.empty() ? "" : ", ").append(name);
      problems_.add(
          store->second, table + ".store",
          "there is no [store." + sequence.settings.store + "]; allowed: one of " + names);
    }
    if (const auto found = configuration_.stores.find(sequence.settings.store);
        found != configuration_.stores.end()) {
      relate_mode(table, sequence.settings, found->second.type, written, problems_);
    }
    make_periods(table, entry.line, written, configuration_, sequence.settings, problems_);
    relate_seed(table, entry.line, written, sequence.settings, configuration_, problems_);
    return written;
  }

  void read_format(int line, const std::string& table, const WrittenKeys& written,
                   SequenceTableSettings& sequence) {
    make_format(table, line, written, request_, sequence.settings, configuration_.warnings,
                problems_);
    relate_progression_to_format(table, line, written, sequence.settings, problems_);
  }

  // Many sequences on one counter are a mistake in the configuration.
  void refuse_shared_key(const DocumentEntry& entry, const std::string& table,
                         const SequenceTableSettings& sequence) {
    if (sequence.settings.binding.key.empty()) return;
    for (const DocumentEntry& inner : entry.table.entries)
      if (inner.key == "key")
        problems_.add(inner.line, table + ".key",
                      "would bind many sequences to one counter; allowed: in the table of one "
                      "sequence");
  }

  static bool has_only_tables(const DocumentEntry& entry) {
    const auto& entries = entry.table.entries;
    return !entries.empty() && std::all_of(entries.begin(), entries.end(), [](const auto& inner) {
      return inner.kind == DocumentEntry::Kind::table;
    });
  }

  void check_pair(const DocumentEntry& first, const DocumentEntry& second) {
    if (first.key.size() != second.key.size()) return;
    if (!patterns_overlap(first.key, second.key)) return;
    problems_.add(second.line, sequence_table_name(second.key),
                  "is as long as the pattern \"" + first.key + "\" (line " +
                      std::to_string(first.line) +
                      "), and some names match both; allowed: patterns of different length, the "
                      "longer one is taken");
  }

  const ConfigurationRequest& request_;
  Configuration& configuration_;
  Problems& problems_;
  UserLists users_;
  std::vector<const DocumentEntry*> patterns_;
  ProgressionSettings default_progression_;  // as it is written
};

}  // namespace

void read_sequences(const DocumentEntry* defaults, const DocumentEntry* sequences,
                    const ConfigurationRequest& request, Configuration& configuration,
                    Problems& problems) {
  SequenceTables tables(request, configuration, problems);
  tables.read_defaults(defaults);
  if (sequences == nullptr) return;
  for (const DocumentEntry& entry : sequences->table.entries) tables.read_named(entry);
  tables.settle_patterns();
}

}  // namespace seqd
