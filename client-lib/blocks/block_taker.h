// BlockTaker: takes the IDs of one block, without a system call. Owned by a ThreadBlocks; one
// thread at a time.
//
// Invariant: `taken` of the slot is stored before `limit` is read, and an ID is returned only after
// both. The daemon sets the limit to 0, and its membarrier(2) then separates every taker's store
// from its read: the daemon sees the store of every taker that did not see the limit. So there is a
// fence for the compiler here, and none for the CPU.
#pragma once

#include <atomic>
#include <cstdint>

#include "protocol/block_slot.h"

namespace seqd::engine {

// IDs first, first + step, ...: `count` of them, of which the last is an int64_t, too.
struct Block {
  std::int64_t first = 0;
  std::int64_t step = 1;
  std::uint64_t count = 0;
};

class BlockTaker {
 public:
  // The slot holds the block. Stops before the ID at `pause`.
  void begin(protocol::BlockSlot& slot, const Block& block, std::uint64_t pause) {
    slot_ = &slot;
    at_ = 0;
    ended_ = false;
    count_ = block.count;
    pause_ = pause;
    next_ = static_cast<std::uint64_t>(block.first);
    step_ = static_cast<std::uint64_t>(block.step);
  }

  // False: it pauses, or the block is over.
  bool take(std::int64_t& id) {
    const std::uint64_t at = at_;
    if (at >= pause_) return false;
    const std::atomic_ref<std::uint64_t> taken(slot_->taken);
    taken.store(at + 1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const std::atomic_ref<std::uint64_t> limit(slot_->limit);
    if (at >= limit.load(std::memory_order_relaxed)) [[unlikely]] {
      taken.store(at, std::memory_order_relaxed);
      count_ = pause_ = at;
      ended_ = true;
      return false;
    }
    at_ = at + 1;
    id = static_cast<std::int64_t>(next_);
    next_ += step_;
    return true;
  }

  bool paused() const { return at_ < count_; }
  // Stops before the ID at `pause`, or at the end.
  void go_on(std::uint64_t pause) { pause_ = pause < count_ ? pause : count_; }
  // By the daemon, before all of it was taken.
  bool ended() const { return ended_; }
  std::uint64_t taken() const { return at_; }
  std::uint64_t count() const { return count_; }

 private:
  // pause_ stands apart from at_: read together, by one load, they would wait for the last store.
  protocol::BlockSlot* slot_ = nullptr;
  std::uint64_t pause_ = 0;  // at most count_
  std::uint64_t step_ = 0;
  std::uint64_t count_ = 0;
  std::uint64_t at_ = 0;
  bool ended_ = false;
  std::uint64_t next_ = 0;  // the ID at at_; unsigned, because behind the last one it may wrap
};

}  // namespace seqd::engine
