// TableLimits: how much of everything the SequenceTable may hold. A value; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "daemon/core/blocks/block_table.h"
#include "daemon/core/clients/replay_table.h"
#include "daemon/core/log/state_bounds.h"

namespace seqd {

struct TableLimits {
  std::size_t sequences = 10'000;
  std::int64_t state_bytes = StateBounds(1 << 24).sequence_bytes();  // of a snapshot
  std::int64_t waiting = 131'072;  // requests that wait, of all sequences; one user gets a share
  ReplayTable::Limits replays;
  std::int64_t blocks = BlockTable::kMost;  // that may be out; for the life of the table
};

}  // namespace seqd
