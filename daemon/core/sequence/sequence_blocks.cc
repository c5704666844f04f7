// The part of sequence.h that is about blocks: IDs that clients take in their own processes.
#include <algorithm>

#include "daemon/base/assertion.h"
#include "daemon/core/sequence/sequence.h"
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

Result<Run> Sequence::grant_block(const Caller& caller, std::uint32_t slot, std::int64_t count) {
  ASSERT(caller.client != 0 && count >= 1);
  if (Status refused = gate_.refusal(); !refused.ok()) return refused;
  note_issued();
  const std::int64_t most = most_out(settings());
  const std::int64_t share = share_of(most - out_, most);
  const bool may_hold = context_.budgets.may_hold_another_block();
  // What was recorded for this very request may have filled it.
  const bool accepting = context_.core.log.accepting();
  if (!accepting || !gate_.open() || !waiters_.empty() || held().issuable() == 0 || share < 1 ||
      !may_hold) {
    return Status(
        ErrorCode::UNAVAILABLE,
        "no block of \"" + name() + "\" is available now: " +
            (!accepting  ? "the log waits for the medium"
             : share < 1 ? "the limit of IDs that are out is nearly reached (sequence.max_unsynced)"
             : !may_hold ? "the log has no room for another range (daemon.state_log_size)"
                         : "no ID is available; next waits for one"));
  }
  flush_issues();
  const auto [range, lease] = issuer_.take_block(std::min(count, share));
  const Block block{{id(), caller.client, slot, caller.request, range.begin(), range.end()},
                    lease,
                    caller.user,
                    caller.session};
  out_ += range.size();
  context_.core.log.append(block.granted);
  context_.table.blocks().add(block);
  context_.table.block_granted(*this);
  return Run{range.begin(), range.size(), 1};
}

void Sequence::block_over(const Block& block, std::optional<std::int64_t> taken) {
  const BlockGranted& granted = block.granted;
  ASSERT(granted.sequence == id() && out_ >= block.size());
  flush_issues();
  const std::int64_t taken_end = granted.begin + taken.value_or(0);
  out_ -= block.size();
  context_.core.log.append(
      BlockEnded{id(), granted.client, granted.slot, granted.begin, taken_end});
  if (taken_end > granted.begin) {
    issuer_.note_taken(granted.begin, taken_end, block.session);
    context_.core.replies.taken(block.session, taken_end - granted.begin);
  }
  if (taken_end < granted.end)
    issuer_.held().put_back(IdRange(taken_end, granted.end), block.lease);
  if (!taken) {
    issuer_.write_off({issuer_.held().take(block.size()), block.lease, granted.end, granted.end},
                      GapCause::block_lost, "it was in a block whose page is missing or damaged");
  }
  withdraw_available();
  touch();
}

// Who waits comes first. Where blocks hold as much of the budget that no lease could be large
// enough, a client that does nothing with its block would stop all others.
void Sequence::end_blocks_for_waiters() {
  if (out_ == 0 || waiters_.empty() || !gate_.open()) return;
  const std::int64_t missing = waiters_.front().count - available();
  const std::int64_t room = settings().max_available - available() - out_;
  if (missing > 0 && missing > room) return end_blocks();
  // What waits is reserved at once: with the blocks that would be more than a power loss may cost.
  const std::int64_t reserved = std::min(waiters_.demand(), available());
  if (reserved > settings().max_unsynced - out_) end_blocks();
}

// Also where the settings are those of now, and the blocks of an earlier process.
void Sequence::end_blocks_above_bound() {
  if (!settings().blocks || out_ > most_out(settings())) end_blocks();
}

void Sequence::end_blocks() {
  if (out_ > 0) context_.table.blocks().end_sequence(id());
}

}  // namespace seqd
