// What a SqliteStore reads of one counter and of one lease. Values.
#pragma once

#include <cstdint>

#include "daemon/store/counter_value.h"

namespace seqd {

struct SqliteCounterState {
  Meaning meaning = Meaning::unset;
  std::int64_t value = 0;
};

// What is known of a lease token.
struct SqliteTokenRecord {
  bool known = false;
  bool granted = false;
  LeasedSpan span;
  bool parked = false;
};

}  // namespace seqd
