// MemoryPages: pages of blocks in the memory of a simulated machine: they outlive the daemon, and
// go with the machine. It plays the clients, too: take() is what a client does with a slot. One
// thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "daemon/core/blocks/block_pages.h"
#include "protocol/block_slot.h"

namespace seqd {

class MemoryPages final : public BlockPages {
 public:
  using Page = std::array<protocol::BlockSlot, protocol::kBlockSlots>;

  Status open(ClientId client, UserId user) override;
  PageAddress address(ClientId client) const override {
    return {static_cast<std::int32_t>(client), 0};
  }
  Status publish(const BlockPlace& place) override;
  std::vector<std::optional<std::int64_t>> revoke(std::span<const BlockPlace> places) override;
  void remove(ClientId client) override { pages.erase(client); }
  void keep_only(const std::set<ClientId>& clients) override;
  bool is_lost(ClientId client) const override {
    const auto page = pages.find(client);
    return page != pages.end() && page->second == nullptr;
  }

  // A new process knows nothing of them before keep_only().
  void begin_process() { known_ = false; }

  // A client takes so many IDs of its block; fewer where the block has no more, or has ended.
  static std::int64_t take(protocol::BlockSlot& slot, std::uint32_t block, std::int64_t count);

  protocol::BlockSlot& slot(ClientId client, std::uint32_t slot) {
    return pages.at(client)->at(slot);
  }

  // A client keeps what it has mapped, also when the daemon has removed it. Null: a page that was
  // not there at the start, though its client has blocks.
  std::map<ClientId, std::shared_ptr<Page>> pages;
  Status failing;             // of open()
  bool cannot_write = false;  // publish() fails

 private:
  bool known_ = true;  // to the present process
};

}  // namespace seqd
