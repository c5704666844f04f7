// Control: what the methods need of the daemon around the core: its facts for `status`, its
// configuration, a reload, and a decommission. Implemented in daemon/main; loop thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "daemon/base/status.h"
#include "daemon/base/time/duration_histogram.h"
#include "daemon/core/leasing/lease_figures.h"
#include "daemon/core/upkeep/decommission.h"
#include "daemon/core/words/user_list.h"

namespace seqd {

struct StoreFacts {
  std::string name;
  std::string type;                      // "sqlite", "mongodb", "dynamodb"
  std::string state;                     // "ready", or what the store waits for
  std::string error;                     // empty: none
  std::string lease_mode;                // "session", "slot" or "plain"; empty: not known yet
  const LeaseFigures* leases = nullptr;  // of the daemon, which outlives these facts; or null
  std::string warning = {};              // what weakens its promises; empty: nothing is known
};

struct DaemonFacts {
  std::string version;
  std::int64_t pid = 0;
  std::string instance;   // 32 hexadecimal digits
  std::string state_how;  // how the remainder on disk was taken over
  std::int64_t uptime_ms = 0;
  std::vector<StoreFacts> stores;
  std::uint64_t log_position = 0;
  std::uint64_t log_syncs = 0;
  std::uint64_t log_rotations = 0;
  const DurationHistogram* log_sync_durations = nullptr;  // as StoreFacts::leases
};

// Full names of options.
struct ReloadReport {
  std::vector<std::string> applied;
  std::vector<std::string> restart_needed;
};

struct DecommissionRequest {
  bool only_look = true;      // say what would be done
  bool keep_history = false;  // of the files
  std::int64_t timeout_ms = 0;
};

struct DecommissionAnswer {
  DecommissionReport instance;
  // Paths: what goes with the daemon (over) or would (looked), and what is not seqd's, or a store.
  std::vector<std::string> removed;
  std::vector<std::string> left;
};

// One option as it is in force.
struct ConfigOption {
  std::string key;
  std::string value;  // as it would stand in a file; no secret
  // "default", "file", "command line", "sequence_defaults", "environment", or "earlier": a
  // configuration before the last reload.
  std::string from;
  int line = 0;        // of the file, from 1 on; 0: none is known
  bool waits = false;  // the file says something else, which needs a restart
};

struct ConfigTable {
  std::string name;  // as in the file: "daemon", `sequence."orders"`
  std::vector<ConfigOption> options;
};

struct ConfigPage {
  std::string file;  // empty: none was read
  std::vector<ConfigTable> tables;
  std::string after;  // of the next page; empty: there is none
};

struct ConfigQuestion {
  std::string after;     // sequence tables behind this name or pattern; empty: from the beginning
  std::string sequence;  // not empty: what is in force for this sequence, in place of a page
};

class Control {
 public:
  virtual ~Control() = default;
  virtual DaemonFacts facts() const = 0;
  // `done` is called once, in this or a later turn, with CONFIG when the new configuration is
  // wrong: the old one stays in force; STOPPING when the daemon ends first. An error: too many
  // requests wait already, of which `user` has its share, or the daemon ends.
  virtual Status reload(UserId user, std::function<void(const Result<ReloadReport>&)> done) = 0;
  // NO_SEQUENCE: the configuration does not allow that one.
  virtual Result<ConfigPage> config(const ConfigQuestion& question) const = 0;
  // The user that the daemon runs as.
  virtual UserId user() const = 0;
  // The users who may administer besides that user and root.
  virtual const UserList& admins() const = 0;
  // `done` is called once, in this or a later turn; when it says `over`, the daemon ends once its
  // replies are sent. An error: nothing was done.
  virtual Status decommission(const DecommissionRequest& request,
                              std::function<void(const DecommissionAnswer&)> done) = 0;
};

}  // namespace seqd
