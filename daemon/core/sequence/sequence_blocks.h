// SequenceBlocks: the blocks of one sequence that are out (see BlockTable): how many IDs may be,
// and what becomes of them. Owned by its Sequence; loop thread.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/core/blocks/block_table.h"
#include "daemon/core/sequence/issuer.h"
#include "daemon/core/sequence/sequence_definition.h"
#include "daemon/core/sequence/waiter_queue.h"

namespace seqd {

class SequenceBlocks {
 public:
  // The definition outlives this.
  explicit SequenceBlocks(const SequenceDefinition& definition) : definition_(definition) {}

  // IDs that are out, taken by their clients or not.
  std::int64_t out() const { return out_; }
  // Blocks that are out.
  std::int64_t count() const { return out_ == 0 ? 0 : table().size_of(definition_.id()); }

  // What the last process left out.
  void restore(const SequenceImage& image);
  // A block of up to `count` IDs, for a slot of the caller. `open`: the sequence issues. Where none
  // is available now: UNAVAILABLE.
  Result<Run> grant(Issuer& issuer, const Caller& caller, std::uint32_t slot, std::int64_t count,
                    bool open);
  // It has ended; see BlockTable::Over. What was not taken is available, or a gap.
  void over(Issuer& issuer, const Block& block, std::optional<std::int64_t> taken);

  // Each of these ends blocks: over() follows before it returns.
  void end_all();
  // All, if the settings are those of fewer IDs, or of none.
  void end_above_bound();
  // Those with IDs below the floor or above the maximum.
  void end_outside(std::int64_t floor);
  // All, where they hold what the requests need that wait, beside the IDs that are available.
  void end_for(const WaiterQueue& waiters, std::int64_t available);

 private:
  BlockTable& table() const { return definition_.context().table.blocks(); }

  const SequenceDefinition& definition_;
  std::int64_t out_ = 0;
};

}  // namespace seqd
