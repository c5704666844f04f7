#include "tests/unit/memory_pages.h"

#include <algorithm>
#include <iterator>

namespace seqd {

Status MemoryPages::open(ClientId client) {
  if (failing.ok()) pages.try_emplace(client);
  return failing;
}

Status MemoryPages::publish(const BlockPlace& place) {
  const auto page = pages.find(place.client);
  if (cannot_write || page == pages.end()) return {ErrorCode::STATE_IO, "the page is gone"};
  page->second.at(place.slot) = {place.block, static_cast<std::uint64_t>(place.count), 0};
  return {};
}

std::vector<std::optional<std::int64_t>> MemoryPages::revoke(std::span<const BlockPlace> places) {
  std::vector<std::optional<std::int64_t>> taken;
  for (const BlockPlace& place : places) {
    const auto page = pages.find(place.client);
    if (page == pages.end()) {
      taken.emplace_back();
      continue;
    }
    protocol::BlockSlot& slot = page->second.at(place.slot);
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
  std::erase_if(pages, [&](const auto& page) { return !clients.contains(page.first); });
}

std::int64_t MemoryPages::take(ClientId client, std::uint32_t slot, std::uint32_t block,
                               std::int64_t count) {
  const auto page = pages.find(client);
  if (page == pages.end() || page->second.at(slot).block != block) return 0;
  protocol::BlockSlot& from = page->second.at(slot);
  const std::uint64_t left = from.limit > from.taken ? from.limit - from.taken : 0;
  const std::uint64_t now = std::min(left, static_cast<std::uint64_t>(count));
  from.taken += now;
  return static_cast<std::int64_t>(now);
}

}  // namespace seqd
