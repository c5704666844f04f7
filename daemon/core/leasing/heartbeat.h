// Heartbeat: how a host detects that the database of a store was restored from an older copy.
//
// The entry of each instance in the store has a number, its heartbeat, which the instance raises
// regularly; the log of the state directory has the newest one that the store confirmed. It never
// decreases. So a database with a lower heartbeat, or without the entry, is an older copy, and a
// lease from it may repeat a range leased after the copy was made. A decommission leaves the
// number in the store. Values; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/base/status.h"
#include "daemon/core/words/token.h"

namespace seqd {

// Compares, and raises the heartbeat to `known` + 1 where it is lower and the instance has an
// entry.
struct BeatRequest {
  Token instance{};
  std::int64_t known = 0;  // the newest one that was confirmed; 0: none, and nothing is compared
  bool raise = true;       // otherwise it is only read
};

struct BeatOutcome {
  bool older = false;
  std::int64_t beat = 0;  // what the store has now; 0: nothing
  Status why;             // `older`, which the store knows by other means; OK: by the heartbeat
};

// `found`: the heartbeat in the store; none: there is none.
inline bool is_older(std::int64_t known, const std::optional<std::int64_t>& found) {
  return known > 0 && found.value_or(0) < known;
}

// Why nothing may be leased from a database that is older. `known` 0: the store had an entry, of
// which no heartbeat was confirmed yet. SEQ_REGRESSED.
Status older_copy(const std::string& where, std::int64_t known, std::int64_t found);
// The same where a lease or a return was refused for it. SEQ_REGRESSED.
Status older_copy_met(const std::string& where);

}  // namespace seqd
