#include "tests/unit/memory_pages.h"

#include <algorithm>
#include <iterator>

namespace seqd {

Status MemoryPages::open(ClientId client, UserId /*user*/) {
  if (!failing.ok()) return failing;
  if (!pages.contains(client)) pages[client] = std::make_shared<Page>();
  return pages.at(client) != nullptr ? Status() : Status(ErrorCode::UNAVAILABLE, "it was removed");
}

Status MemoryPages::publish(const BlockPlace& place) {
  const auto page = pages.find(place.client);
  if (cannot_write || page == pages.end() || page->second == nullptr)
    return {ErrorCode::STATE_IO, "the page is gone"};
  page->second->at(place.slot) = {place.block, static_cast<std::uint64_t>(place.count), 0};
  return {};
}

std::vector<std::optional<std::int64_t>> MemoryPages::revoke(std::span<const BlockPlace> places) {
  std::vector<std::optional<std::int64_t>> taken;
  for (const BlockPlace& place : places) {
    const auto page = pages.find(place.client);
    if (!known_ || page == pages.end() || page->second == nullptr ||
        place.slot >= page->second->size()) {
      taken.emplace_back();
      continue;
    }
    protocol::BlockSlot& slot = page->second->at(place.slot);
    if (slot.block != place.block) {
      taken.emplace_back(0);
    } else if (slot.taken > static_cast<std::uint64_t>(place.count)) {
      taken.emplace_back();
    } else {
      slot.limit = 0;
      taken.emplace_back(static_cast<std::int64_t>(slot.taken));
    }
  }
  return taken;
}

void MemoryPages::keep_only(const std::set<ClientId>& clients) {
  known_ = true;
  std::erase_if(pages, [&](const auto& page) { return !clients.contains(page.first); });
  // In another page than theirs nobody would find what they took.
  for (const ClientId client : clients) pages.try_emplace(client);
}

std::int64_t MemoryPages::take(protocol::BlockSlot& slot, std::uint32_t block, std::int64_t count) {
  if (slot.block != block) return 0;
  const std::uint64_t left = slot.limit > slot.taken ? slot.limit - slot.taken : 0;
  const std::uint64_t now = std::min(left, static_cast<std::uint64_t>(count));
  slot.taken += now;
  return static_cast<std::int64_t>(now);
}

}  // namespace seqd
