// FormerCounter: where the log has a sequence that is configured for another counter, and of which
// nothing is open there. The sequence does not use its own counter before the log knows of it. A
// value; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/core/log/log_entry.h"

namespace seqd {

struct FormerCounter {
  DefineSequence definition;
  std::string where;              // store, place and counter, for people
  std::int64_t leased_below = 0;  // of that counter, by this host
};

}  // namespace seqd
