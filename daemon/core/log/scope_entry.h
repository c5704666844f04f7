// What the log records of a scope, one store as this state directory knows it: its instance and
// epoch, its database, and the newest heartbeat there. Parts of log_entry.h. Values; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/core/words/log_types.h"
#include "daemon/core/words/token.h"

namespace seqd {

// Defines a scope, or replaces what is known of it.
struct DefineScope {
  ScopeId scope = 0;
  std::string store;  // its name in the configuration
  Token instance{};
  std::uint64_t epoch = 0;
  ScopeState state = ScopeState::clean;
  Token nonce{};
  bool operator==(const DefineScope&) const = default;
};

// The database that the ranges of a scope come from; replaces what is known of it.
struct StoreBound {
  ScopeId scope = 0;
  Token identity{};
  std::string place;  // where it was found; see StorePlace
  bool operator==(const StoreBound&) const = default;
};

// The newest heartbeat that the store of a scope is known to have of an instance: that of the
// scope, or of the one before it; replaces what is known of it. See
// daemon/core/leasing/heartbeat.h.
struct StoreHeartbeat {
  ScopeId scope = 0;
  Token instance{};
  std::int64_t beat = 0;  // 0: none; where it was put back, the entry of this instance was gone
  StoreAge age = StoreAge::current;
  bool operator==(const StoreHeartbeat&) const = default;
};

}  // namespace seqd
