// BlockOrder: one request that a thread has sent and whose answer it has not collected. Owned by
// its thread's ThreadBlocks, at one place in memory; between ask_...() and collect() it is the
// BlockSource's.
#pragma once

#include <cstdint>
#include <memory>

#include "client-lib/blocks/block_page.h"
#include "client-lib/blocks/block_taker.h"
#include "client-lib/session/outcome.h"

namespace seqd::engine {

struct BlockOrder {
  enum class Kind : std::uint8_t { page, block, next };
  enum class State : std::uint8_t { none, asked, answered };
  Kind kind = Kind::block;
  State state = State::none;
  std::uint32_t slot = 0;    // of a block
  std::int64_t wanted = 0;   // its IDs, at most
  std::uint32_t number = 0;  // of the request, by which the slot names the block
  // Answered:
  Outcome outcome;
  Block block;  // that was granted
  // Where it lies: the page that the daemon reported on the connection of this reply. A request
  // that is repeated may be granted again in another page, while the former one still names it.
  std::shared_ptr<BlockPage> page;
  std::int64_t id = 0;  // of a next
};

}  // namespace seqd::engine
