// What the core asks of a store to forget an instance that is taken out of service for good. See
// LeaseStore::forget(). Values; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/core/counter_binding.h"
#include "daemon/core/token.h"

namespace seqd {

struct ForgetRequest {
  struct Lane {
    CounterBinding binding;
    std::string sequence;
  };
  Token instance{};
  // Sequences of the instance whose records may lie beside their counters.
  std::vector<Lane> lanes;
  // Also everything that is found without a lane, and the instance itself: in the last request.
  bool entry = true;
  // Nothing is changed; the answer says what there is.
  bool only_look = false;
};

// What a store holds, or held, of an instance.
struct InstanceRecords {
  bool entry = false;        // its epoch
  std::int64_t records = 0;  // newest leases and returns, of those that were asked for
};

}  // namespace seqd
