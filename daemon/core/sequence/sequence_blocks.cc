#include "daemon/core/sequence/sequence_blocks.h"

#include <algorithm>
#include <string>

#include "daemon/base/assertion.h"
#include "daemon/core/sequence/sequence_budgets.h"

namespace seqd {
namespace {

// Of the room that is left, so that other threads and clients get blocks, too.
constexpr std::int64_t kShare = 4;
// A block costs what some requests for single IDs do: two records, and a barrier if it ends early.
constexpr std::int64_t kLeastIds = 16;

// A quarter of what may be lost is left to the reservations of single IDs.
std::int64_t most_out(const SequenceSettings& settings) {
  return settings.max_unsynced - (settings.max_unsynced + 3) / 4;
}

// What the next block may have; 0: too little for one. Many large blocks may rest, so that the
// share shrinks to single IDs. Where few may be out in all, blocks are small.
std::int64_t share_of(std::int64_t room, std::int64_t most) {
  const std::int64_t share = (room + kShare - 1) / kShare;
  return share < std::min(kLeastIds, most / kLeastIds) ? 0 : share;
}

}  // namespace

void SequenceBlocks::restore(const SequenceImage& image) {
  out_ = StateImage::out(image);
}

Result<Run> SequenceBlocks::grant(Issuer& issuer, const Caller& caller, std::uint32_t slot,
                                  std::int64_t count, bool open) {
  ASSERT(caller.client != 0 && count >= 1);
  const SequenceId id = definition_.id();
  const SequenceContext& context = definition_.context();
  const std::int64_t most = most_out(definition_.settings());
  const std::int64_t share = share_of(most - out_, most);
  const bool may_hold = context.budgets.may_hold_another_block();
  // What was recorded for this very request may have filled it.
  const bool accepting = context.core.log.accepting();
  if (!accepting || !open || issuer.held().issuable() == 0 || share < 1 || !may_hold) {
    return Status(
        ErrorCode::UNAVAILABLE,
        "no block of \"" + definition_.name() + "\" is available now: " +
            (!accepting  ? "the log waits for the medium"
             : share < 1 ? "the limit of IDs that are out is nearly reached (sequence.max_unsynced)"
             : !may_hold ? "the log has no room for another range (daemon.state_log_size)"
                         : "no ID is available; next waits for one"));
  }
  issuer.flush();
  const auto [range, lease] = issuer.take_block(std::min(count, share));
  const Block block{{id, caller.client, slot, caller.request, range.begin(), range.end()},
                    lease,
                    caller.user,
                    caller.session};
  out_ += range.size();
  context.core.log.append(block.granted);
  table().add(block);
  return Run{range.begin(), range.size(), 1};
}

void SequenceBlocks::over(Issuer& issuer, const Block& block, std::optional<std::int64_t> taken) {
  const SequenceContext& context = definition_.context();
  const BlockGranted& granted = block.granted;
  ASSERT(granted.sequence == definition_.id() && out_ >= block.size());
  issuer.flush();
  const std::int64_t taken_end = granted.begin + taken.value_or(0);
  out_ -= block.size();
  context.core.log.append(
      BlockEnded{definition_.id(), granted.client, granted.slot, granted.begin, taken_end});
  if (taken_end > granted.begin) {
    issuer.note_taken(granted.begin, taken_end, block.session);
    context.core.replies.taken(block.session, taken_end - granted.begin);
  }
  if (taken_end == granted.end) return;
  IdRange rest(taken_end, granted.end);
  if (taken) return issuer.held().put_in_front(std::move(rest), block.lease);
  issuer.write_off({std::move(rest), block.lease, granted.end, granted.end}, GapCause::block_lost,
                   "it was in a block whose page is missing or damaged");
}

// Who waits comes first. Where blocks hold as much of the budget that no lease could be large
// enough, a client that does nothing with its block would stop all others.
void SequenceBlocks::end_for(const WaiterQueue& waiters, std::int64_t available) {
  if (out_ == 0) return;
  const SequenceSettings& settings = definition_.settings();
  const std::int64_t missing = waiters.front().count - available;
  const std::int64_t room = settings.max_available - available - out_;
  if (missing > 0 && missing > room) return end_all();
  // What waits is reserved at once: with the blocks that would be more than a power loss may cost.
  const std::int64_t reserved = std::min(waiters.demand(), available);
  if (reserved > settings.max_unsynced - out_) end_all();
}

// Also where the settings are those of now, and the blocks of an earlier process.
void SequenceBlocks::end_above_bound() {
  const SequenceSettings& settings = definition_.settings();
  if (!settings.blocks || out_ > most_out(settings)) end_all();
}

void SequenceBlocks::end_outside(std::int64_t floor) {
  if (out_ > 0) table().end_outside(definition_.id(), floor, definition_.settings().last_ordinal());
}

void SequenceBlocks::end_all() {
  if (out_ > 0) table().end_sequence(definition_.id());
}

}  // namespace seqd
