// Entries of the log about ranges that are being returned to the store. See log_entry.h.
#pragma once

#include <cstdint>

#include "daemon/core/words/log_types.h"
#include "daemon/core/words/reuse.h"
#include "daemon/core/words/token.h"

namespace seqd {

// The range [begin, end), the rest of one available, leaves it and is being returned to the store.
// Durable before the request leaves. In snapshots it follows the range.
struct ReturnOpened {
  SequenceId sequence = 0;
  Token token{};
  std::int64_t begin = 0;
  std::int64_t end = 0;
  Reuse reuse = Reuse::parked;
  std::int64_t wall_ms = 0;
  bool operator==(const ReturnOpened&) const = default;
};

// Ends the return of the same token.
struct ReturnClosed {
  SequenceId sequence = 0;
  Token token{};
  ReturnEnd how = ReturnEnd::returned;
  GapCause cause = GapCause::drained;  // of what was kept
  std::int64_t wall_ms = 0;
  bool operator==(const ReturnClosed&) const = default;
};

}  // namespace seqd
