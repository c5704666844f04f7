#include "client-lib/blocks/thread_blocks.h"

#include <utility>

#include "client-lib/session/monotonic.h"

namespace seqd::engine {
namespace {

// Of one call. Bounds the requests to a daemon that ends block after block.
constexpr int kMostBlocks = 4;

}  // namespace

Outcome ThreadBlocks::next(std::int64_t& id) {
  const std::int64_t now_ms = monotonic_ms();
  const std::int64_t until_ms = now_ms + timeout_ms_;
  // An ID that arrived after its call had timed out.
  if (asked_single_ && source_.is_answered(single_)) {
    const Outcome late = take_single(id, until_ms);
    if (late.ok()) return late;
  }
  std::string why;
  for (int blocks = 0; blocks < kMostBlocks; ++blocks) {
    if (taker_.paused()) ask_ahead();
    if (taker_.take(id)) return {};
    if (!may_ask(now_ms)) break;
    Outcome outcome = change_block(until_ms);
    if (outcome.ok()) continue;
    const bool single = outcome.code == SEQD_E_UNAVAILABLE || outcome.code == SEQD_E_BUSY;
    if (!single) return outcome;
    refused(outcome.text);
    why = std::move(outcome.text);
    break;
  }
  Outcome single = take_single(id, until_ms);
  if (single.ok()) single.text = std::move(why);
  return single;
}

Outcome ThreadBlocks::try_next(std::int64_t& id) {
  if (asked_single_ && source_.has_arrived(single_)) {
    const Outcome late = take_single(id, monotonic_ms());
    if (late.ok()) return late;
  }
  if (taker_.paused()) ask_ahead();
  if (taker_.take(id)) return {};
  Outcome outcome = try_change_block();
  if (outcome.ok() && taker_.take(id)) return {};
  if (outcome.ok()) return {SEQD_E_UNAVAILABLE, "no ID is available yet: a block was requested"};
  if (outcome.code == SEQD_E_BUSY) outcome.code = SEQD_E_UNAVAILABLE;
  return outcome;
}

// Half of the block is taken. Never waits: where another thread is at the source, it is tried again
// with the half of what is left.
void ThreadBlocks::ask_ahead() {
  const std::uint64_t left = taker_.count() - taker_.taken();
  if (!asked_) {
    asked_ = source_.try_ask_block(ahead_, other_slot(), size_.ids());
    asked_beside_ = asked_;
  }
  taker_.go_on(asked_ ? taker_.count() : taker_.taken() + (left + 1) / 2);
}

// A request to another daemon, or to the same after a restart, is sent at once.
bool ThreadBlocks::may_ask(std::int64_t now_ms) {
  return now_ms >= blocks_again_ms_ || source_.generation() != refused_on_;
}

void ThreadBlocks::refused(const std::string& why) {
  refusal_ = why;
  blocks_again_ms_ = monotonic_ms() + back_off_.next_delay_ms();
  refused_on_ = source_.generation();
}

// The rate cannot be derived from an ended block.
void ThreadBlocks::leave_block() {
  if (page_ != nullptr && !taker_.ended()) size_.lasted(monotonic_ms() - began_ms_);
  page_.reset();
}

Outcome ThreadBlocks::change_block(std::int64_t until_ms) {
  leave_block();
  std::shared_ptr<BlockPage> page;
  Outcome outcome = wait_for_block(until_ms, page);
  if (outcome.ok() && page != nullptr) begin_block(std::move(page));
  return outcome;
}

// Ok without a block: it was requested, and comes later.
Outcome ThreadBlocks::try_change_block() {
  leave_block();
  if (!asked_) {
    if (!may_ask(monotonic_ms())) return {SEQD_E_UNAVAILABLE, refusal_};
    asked_ = source_.try_ask_block(ahead_, slot_, size_.ids());
    if (!asked_)
      return {SEQD_E_UNAVAILABLE, "no ID is available yet: another thread uses the connection"};
    asked_beside_ = false;
  }
  if (!source_.has_arrived(ahead_)) return {};
  asked_ = false;
  std::shared_ptr<BlockPage> page;
  Outcome outcome = source_.collect(ahead_, page);
  if (outcome.ok() && page != nullptr) begin_block(std::move(page));
  if (!outcome.ok()) {
    if (asked_beside_ && outcome.code == SEQD_E_UNAVAILABLE) size_.refused();
    refused(outcome.text);
  }
  return outcome;
}

void ThreadBlocks::begin_block(std::shared_ptr<BlockPage> page) {
  const Block& block = ahead_.block;
  taker_.begin(page->slot(ahead_.slot), block, block.count / 2);
  page_ = std::move(page);
  slot_ = ahead_.slot;
  size_.granted();
  back_off_.reset();
  began_ms_ = monotonic_ms();
}

Outcome ThreadBlocks::wait_for_block(std::int64_t until_ms, std::shared_ptr<BlockPage>& page) {
  if (asked_) {
    if (!source_.wait(ahead_, until_ms)) return source_.late();
    asked_ = false;
    Outcome outcome = source_.collect(ahead_, page);
    if (outcome.ok()) return outcome;
    // While the present block was out: the next ones have to leave room for each other.
    if (asked_beside_ && outcome.code == SEQD_E_UNAVAILABLE) size_.refused();
    // A request of long ago may have failed for a reason that no longer exists.
  }
  // In the slot of the block that is over, which so ends for the daemon, too.
  source_.ask_block(ahead_, slot_, size_.ids());
  asked_ = true;
  asked_beside_ = false;
  if (!source_.wait(ahead_, until_ms)) return source_.late();
  asked_ = false;
  return source_.collect(ahead_, page);
}

Outcome ThreadBlocks::take_single(std::int64_t& id, std::int64_t until_ms) {
  if (!asked_single_) source_.ask_next(single_);
  asked_single_ = true;
  if (!source_.wait(single_, until_ms)) return source_.late();
  asked_single_ = false;
  std::shared_ptr<BlockPage> none;
  Outcome outcome = source_.collect(single_, none);
  if (outcome.ok()) id = single_.id;
  return outcome;
}

}  // namespace seqd::engine
