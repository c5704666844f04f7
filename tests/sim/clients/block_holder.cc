#include "tests/sim/clients/block_holder.h"

#include <iterator>

namespace seqd::sim {

void BlockHolder::clear() {
  held_.clear();
  attached_.clear();
}

void BlockHolder::look_at_the_machine() {
  if (site_.machine().boots() != boots_) clear();
  boots_ = site_.machine().boots();
}

void BlockHolder::told(std::uint64_t connection, ClientId client) {
  look_at_the_machine();
  const auto page = site_.pages().pages.find(client);
  if (page == site_.pages().pages.end() || page->second == nullptr)
    stage_.history.violation("a page is told that is not there");
  if (attached_.told(connection, page->second)) stage_.count(Kind::page_attached);
}

void BlockHolder::granted(std::uint32_t slot, std::uint32_t request, const std::string& sequence,
                          std::int64_t first, std::int64_t count, const AttachedPage::Page& page) {
  look_at_the_machine();
  if (page == nullptr) return stage_.count(Kind::block_untold);
  const protocol::BlockSlot& at = page->at(slot);
  // It may be over already.
  if (at.block != request) return;
  if (at.limit != 0 && at.limit != static_cast<std::uint64_t>(count))
    stage_.history.violation("a slot with another limit than the reply says");
  stage_.happened(Kind::block_granted, site_.number(), first, first + count);
  held_[slot] = {page, request, sequence, first, site_.process()};
}

void BlockHolder::take() {
  look_at_the_machine();
  if (held_.empty()) return;
  auto at = std::next(held_.begin(), stage_.random.below(static_cast<std::int64_t>(held_.size())));
  const Held& held = at->second;
  protocol::BlockSlot& slot = held.page->at(at->first);
  const auto begin = held.first + static_cast<std::int64_t>(slot.taken);
  const std::int64_t taken = MemoryPages::take(slot, held.request, stage_.random.between(1, 20));
  if (taken > 0) {
    stage_.history.note("taken", site_.number(), begin, begin + taken);
    stage_.accounts.taken(held.sequence, begin, begin + taken);
    stage_.counts.add(Kind::block_taken, taken);
    if (site_.process() != held.process) stage_.count(Kind::block_outlived);
    return;
  }
  if (slot.block == held.request && slot.limit == 0) stage_.count(Kind::block_ended);
  held_.erase(at);
}

}  // namespace seqd::sim
