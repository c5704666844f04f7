// What the log records of blocks: IDs that a client takes in its own process; see log_entry.h. A
// block is out from its grant to its end, and meanwhile neither available nor issued.
#pragma once

#include <cstdint>

#include "daemon/core/words/log_types.h"

namespace seqd {

// [begin, end), of which every ID may be issued, was taken from the front of the first available
// range, and is in that slot of the client's page.
struct BlockGranted {
  SequenceId sequence = 0;
  ClientId client = 0;
  std::uint32_t slot = 0;
  std::uint32_t request = 0;  // the number of the request, by which the slot names the block
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool operator==(const BlockGranted&) const = default;
};

// The block in that slot is over: [begin, taken_end) of it was issued. The rest is available
// again, before everything else, and may be issued.
struct BlockEnded {
  SequenceId sequence = 0;
  ClientId client = 0;
  std::uint32_t slot = 0;
  std::int64_t begin = 0;
  std::int64_t taken_end = 0;
  bool operator==(const BlockEnded&) const = default;
};

}  // namespace seqd
