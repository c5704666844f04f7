// ThreadBlocks: one thread's present block and the next one, in two slots of the page, so that the
// next is requested when half of the present one is taken. Owned by a Blocks; one thread at a time.
//
// Invariant: the requested block goes into a slot from which no thread takes: the other one, or the
// present one when its block has ended.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "client-lib/blocks/block_back_off.h"
#include "client-lib/blocks/block_order.h"
#include "client-lib/blocks/block_size.h"
#include "client-lib/blocks/block_source.h"
#include "client-lib/blocks/block_taker.h"

namespace seqd::engine {

class alignas(64) ThreadBlocks {
 public:
  // Takes from `slot`, an even one, and the one behind it. `source` outlives it.
  ThreadBlocks(BlockSource& source, std::uint32_t slot, std::int64_t timeout_ms,
               const BlockSize& size = BlockSize())
      : source_(source), timeout_ms_(timeout_ms), slot_(slot), size_(size) {}
  ThreadBlocks(const ThreadBlocks&) = delete;
  ThreadBlocks& operator=(const ThreadBlocks&) = delete;

  // False: next() has to be called.
  bool take(std::int64_t& id) { return taker_.take(id); }
  // The same in any case: requests blocks, waits for one, or takes a single ID if there is none.
  Outcome next(std::int64_t& id);
  // The same without waiting, and without single IDs, except for one that next()
  // gave up. SEQD_E_UNAVAILABLE: none is available yet; the text says whether a block was requested
  // or why none is, which is tried as often as next() would.
  Outcome try_next(std::int64_t& id);

 private:
  void ask_ahead();
  Outcome try_change_block();
  void leave_block();
  void begin_block(std::shared_ptr<BlockPage> page);
  bool may_ask(std::int64_t now_ms);
  void refused(const std::string& why);
  Outcome change_block(std::int64_t until_ms);
  Outcome wait_for_block(std::int64_t until_ms, std::shared_ptr<BlockPage>& page);
  Outcome take_single(std::int64_t& id, std::int64_t until_ms);
  std::uint32_t other_slot() const { return slot_ ^ 1U; }

  BlockTaker taker_;
  BlockSource& source_;
  const std::int64_t timeout_ms_;
  std::uint32_t slot_;         // that taker_ is at, or was
  bool asked_ = false;         // ahead_ is the source's
  bool asked_beside_ = false;  // it is to lie beside a present block, with room for both
  bool asked_single_ = false;  // single_ is
  BlockOrder ahead_;           // the next block
  BlockOrder single_;          // an ID
  BlockSize size_;
  std::shared_ptr<BlockPage> page_;  // of the present block
  std::int64_t began_ms_ = 0;        // the present block
  // While the daemon has refused one:
  std::string refusal_;               // why
  std::int64_t blocks_again_ms_ = 0;  // not before
  std::uint64_t refused_on_ = 0;      // on this connection
  BlockBackOff back_off_;
};

}  // namespace seqd::engine
