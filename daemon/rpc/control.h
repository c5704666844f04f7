// Control: what the methods ask of the daemon around the core: its facts for `status`, and a
// reload. Implemented in daemon/main; loop thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/base/status.h"

namespace seqd {

struct StoreFacts {
  std::string name;
  std::string type;        // "sqlite", "mongodb"
  std::string state;       // "ready", or what it waits for
  std::string error;       // empty: none
  std::string lease_mode;  // "ledger", "slot" or "plain"; empty: not known yet
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
};

// Full names of options.
struct ReloadReport {
  std::vector<std::string> applied;
  std::vector<std::string> restart_needed;
};

class Control {
 public:
  virtual ~Control() = default;
  virtual DaemonFacts facts() const = 0;
  // CONFIG when the new configuration is wrong; the old one stays in force.
  virtual Result<ReloadReport> reload() = 0;
};

}  // namespace seqd
