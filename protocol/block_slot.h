// The page of a client's blocks: a segment of System V of one page of memory that the daemon and
// the client's process both attach, with slots of one cache line. What lies behind the three
// numbers of a slot is the daemon's. Numbers are those of the machine: both sides run on it.
// PROTOCOL.md, "Blocks".
#pragma once

#include <cstddef>
#include <cstdint>

namespace seqd::protocol {

struct BlockSlot {
  std::uint64_t block = 0;  // the request number that it was granted to; 0: none yet
  std::uint64_t limit = 0;  // so many IDs may be taken; 0: the daemon has ended the block
  std::uint64_t taken = 0;  // so many are; written by the client alone, once `block` is its own
};

constexpr std::size_t kBlockSlotBytes = 64;
constexpr std::uint32_t kBlockSlots = 64;
constexpr std::size_t kBlockPageBytes = kBlockSlots * kBlockSlotBytes;

static_assert(sizeof(BlockSlot) == 24 && offsetof(BlockSlot, limit) == 8 &&
              offsetof(BlockSlot, taken) == 16);

}  // namespace seqd::protocol
