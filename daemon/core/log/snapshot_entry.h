// Entries of the log that stand in snapshots only: what a sequence holds and has done. See
// log_entry.h.
#pragma once

#include <cstdint>

#include "daemon/core/words/log_types.h"
#include "daemon/core/words/token.h"

namespace seqd {

// An available range: [begin, end), of which [begin, reserved_end) may be issued.
struct AvailableRange {
  SequenceId sequence = 0;
  Token lease{};
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t reserved_end = 0;
  bool operator==(const AvailableRange&) const = default;
};

// The conservation sum: leased = issued + available + returned + gaps. `unknown` counts leases that
// were untraceable.
struct SequenceTotals {
  SequenceId sequence = 0;
  std::int64_t leased = 0;
  std::int64_t issued = 0;
  std::int64_t returned = 0;
  std::int64_t gaps = 0;
  std::int64_t unknown = 0;
  bool operator==(const SequenceTotals&) const = default;
};

// The end of the highest range of which IDs were issued here or written off, or leased elsewhere:
// what the high-water mark is lowered to when the counter is (ReturnOpened). After the available
// ranges. Older snapshots have none: then it is where the available ranges begin.
struct UsedBelow {
  SequenceId sequence = 0;
  std::int64_t end = 0;
  bool operator==(const UsedBelow&) const = default;
};

// Numbers below these were used before and are not used again.
struct NextNumbers {
  SequenceId sequence = 1;
  ScopeId scope = 1;
  ClientId client = 1;
  bool operator==(const NextNumbers&) const = default;
};

}  // namespace seqd
