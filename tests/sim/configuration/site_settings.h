// SiteSettings: what people have written into the configuration of one host. Sizes, limits, ends
// and formats of the family (text_forms.h) change as they like. What another host or an empty
// directory would take for good is only written where the log of this host refuses it: another
// progression or mode, the rival of a format, no table at all. To another counter or store the
// sequence moves, if nothing of it is left. Belongs to a site, and outlives its daemons; one
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "tests/sim/mirror/log_mirror.h"
#include "tests/sim/stage.h"
#include "tests/unit/world.h"

namespace seqd::sim {

// Those of the daemon itself.
struct DaemonOptions {
  std::size_t clients = 6;  // with an identity, that are kept
  std::int64_t remember_ms = 20'000;
  std::int64_t blocks = 12;      // that are out
  std::uint64_t log_sizes = 1;   // of the smallest log; read at a start
  std::int64_t polls_every = 1;  // in units of Profile::floor_check_ms
};

class SiteSettings {
 public:
  static constexpr UserId kUser = 1'000;  // that nearly all clients are
  static constexpr std::int64_t kMaxWaiters = 30;
  static constexpr std::int64_t kWaitTimeoutMs = 5'000;

  SiteSettings(Stage& stage, ConfiguredSequences home)
      : stage_(stage), home_(home), written_(std::move(home)) {}

  const ConfiguredSequences& written() const { return written_; }
  const DaemonOptions& daemon() const { return daemon_; }

  // What a running daemon takes over when it is told to read its configuration again.
  void change(const LogMirror& log);
  // What waits for a restart, too, of one sequence; or it is put right again.
  void change_one(const LogMirror& log);
  // A daemon is about to start on what the log has.
  void keep_legal(const LogMirror& log);
  void put_right();

 private:
  // In front the ones for sequences with periods, too.
  enum class Other : std::uint8_t { none, unit, missing, mode, progression, key, store };

  struct Choice {
    Other other = Other::none;
    bool rival = false;  // of the format
    std::size_t form = 0;
  };

  void change_live(const std::string& name, SequenceSettings& settings);
  void write(const std::string& name);
  static void write_other_progression(SequenceSettings& settings, std::int64_t how);
  bool knows(const LogMirror& log, const std::string& name) const;
  bool knows_form(const LogMirror& log, const std::string& name) const;

  Stage& stage_;
  ConfiguredSequences home_;  // as all hosts have it, but for what may differ
  ConfiguredSequences written_;
  DaemonOptions daemon_;
  std::map<std::string, Choice> choices_;
};

// What a daemon goes over to at a reload: sequences in use keep what only a restart changes, as in
// prepare_reload() of daemon/main/config.
ConfiguredSequences reloaded(const ConfiguredSequences& running, ConfiguredSequences written,
                             const std::function<bool(const std::string& name)>& in_use);

// What tells how the IDs of a sequence are answered: a repeat may fail where it has changed.
std::string meaning_of(const SequenceSettings& settings);

}  // namespace seqd::sim
