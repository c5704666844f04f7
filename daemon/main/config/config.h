// Configuration: what seqd.toml and the command line say, checked in full. Made by
// load_configuration(), owned by the Daemon, replaced as a whole by a reload, whose worker makes
// the next one. One thread at a time (find() keeps a cache); movable. References to the object
// survive `configuration = std::move(next)`; the pointers that find() returned do not.
//
// Invariant: every value is within the bounds of its option and of its relations to others, every
// sequence names a store that exists, and every mongodb store has a URI.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/base/status.h"
#include "daemon/core/settings/named_sequence.h"
#include "daemon/core/settings/sequence_settings.h"
#include "daemon/main/config/config_problems.h"
#include "daemon/main/config/config_settings.h"
#include "daemon/main/config/sequences/pattern_list.h"

namespace seqd {

// A [sequence."NAME"] table, or [sequence_defaults], with everything it does not say filled in.
struct SequenceTableSettings {
  SequenceSettings settings;  // binding.key is empty where it is the sequence's name
  WrittenKeys written;        // the keys that stand in the file
  // Set by a reload: its store exists only after a restart, until then the names it matches are not
  // served.
  bool needs_restart = false;
};

// What a reload does: full names of options, "limits.max_request_size",
// `sequence."orders".lease_max`.
struct ConfigurationChanges {
  std::vector<std::string> applied;
  std::vector<std::string> restart_needed;
};

class Configuration final : public SettingsSource {
 public:
  static constexpr std::size_t kRecent = 64;

  DaemonSettings daemon;
  Limits limits;
  std::map<std::string, StoreSettings> stores;             // at least one
  SequenceTableSettings sequence_defaults;                 // [sequence_defaults]
  std::map<std::string, SequenceTableSettings> sequences;  // by name or pattern, as written
  PatternList patterns;                                    // those of `sequences`
  std::string file;                                        // what was read; empty: nothing
  // The keys that stand in the file or on the command line, of the tables without such a list.
  WrittenKeys daemon_written;
  WrittenKeys limits_written;
  std::map<std::string, WrittenKeys> stores_written;
  // Full names of options of those tables, and of stores, that differ in the file: a restart is
  // needed. Set by a reload.
  std::set<std::string> waiting;
  std::vector<std::string> warnings;  // allowed, but not advisable

  // The settings of a sequence: what a reload kept for it, else its own table, else the longest
  // pattern that matches, else the defaults if `daemon.allow_unlisted`. Null otherwise. A result
  // stays where it is until kRecent other names were looked up, or this object is assigned to.
  const SequenceSettings* find(const std::string& name) const override;
  std::shared_ptr<const IdFormat> find_format(std::string_view name) const override;
  const AccessSettings* find_access(std::string_view name) const override;
  // The sequences that have a table of their own, in use or not. Valid as long as the results of
  // find().
  std::vector<NamedSequence> named_sequences() const;

  struct NamedTable {
    std::string name;                              // or pattern; empty: [sequence_defaults]
    const SequenceTableSettings* table = nullptr;  // null: there is none for that name
  };
  // The table that applies to a name, also one that waits for a restart.
  NamedTable find_named_table(const std::string& name) const;
  // What a reload kept for the sequence until a restart; null: nothing.
  const SequenceSettings* find_kept(const std::string& name) const;

 private:
  friend ConfigurationChanges prepare_reload(const Configuration& running, Configuration& next,
                                             const std::set<std::string>& in_use);
  using Table = std::map<std::string, SequenceTableSettings>::value_type;
  // Of the name itself, or of the pattern that it falls under; null: there is none.
  const Table* find_written(const std::string& name) const;
  // As above, or the defaults if those apply.
  const SequenceTableSettings* find_table(const std::string& name) const;
  // Of a name with a period, "NAME@PERIOD".
  const SequenceSettings* find_period(const std::string& name) const;

  SequenceSettings& remember(const std::string& name, const SequenceSettings& settings) const;
  void make_room() const;  // for one more in recent_

  // By name, of the sequences in use at the last reload: the settings with what only a restart
  // changes. Nothing else is needed of a name, so what find() made is forgotten again.
  std::unordered_map<std::string, SequenceSettings> kept_;
  // Two generations: the older one is dropped when the younger one is full.
  mutable std::unordered_map<std::string, SequenceSettings> recent_;
  mutable std::unordered_map<std::string, SequenceSettings> less_recent_;
};

// What the command line adds to the file; it wins.
struct ConfigurationRequest {
  std::optional<std::string> file;  // named with --config: must exist. Else kDefaultFile, if there
  std::optional<std::string> socket;
  std::optional<std::string> state_dir;
  std::optional<std::string> witness_dir;
  // False: a URI that is a systemd credential is left empty and warned about when there is no
  // $CREDENTIALS_DIRECTORY (`seqd --check` in a shell).
  bool need_credentials = true;
};

inline constexpr const char* kDefaultFile = "/etc/seqd/seqd.toml";

// Reads and checks. CONFIG with every problem on a line of its own, "FILE:LINE: KEY: what was
// found, what is allowed".
Result<Configuration> load_configuration(const ConfigurationRequest& request);
// The same for text that was read before; `file` is used in messages only.
Result<Configuration> parse_configuration(const std::string& text, const std::string& file,
                                          const ConfigurationRequest& request);

// Makes `next` what the running daemon can go over to: what needs a restart keeps the value of
// `running`, for the sequences `in_use` too (of one with periods: the name without a period); a new
// sequence follows its new table at once, unless its store is new. Says which options changed.
ConfigurationChanges prepare_reload(const Configuration& running, Configuration& next,
                                    const std::set<std::string>& in_use);

// The whole of it as TOML, defaults included, secrets as "***". Reading it again gives the same
// configuration, but for the secrets.
std::string dump_effective(const Configuration& configuration);

// A summary to read: one line about each store, and the number of sequences.
std::string summarize(const Configuration& configuration);

}  // namespace seqd
