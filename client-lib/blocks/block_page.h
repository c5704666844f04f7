// BlockPage: the page that the daemon shares with this client, attached. Shared by the blocks that
// lie in it, which use it up also when there is a newer one. Any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "client-lib/session/outcome.h"
#include "protocol/block_slot.h"

namespace seqd::engine {

// What the daemon reports about a page, and the known creator of its socket.
struct PageInfo {
  std::int64_t slots = 0;
  std::int64_t slot_bytes = 0;
  std::int64_t key = 0;    // for shmget(2)
  std::int64_t maker = 0;  // the user that created the page
  std::optional<uid_t> peer;
};

class BlockPage {
 public:
  // What a daemon may call a page, at most.
  static constexpr std::int64_t kMostSlots = 1'024;

  // Attaches the page to `page`; a page that is attached already is kept. SEQD_E_UNAVAILABLE: it
  // cannot be attached, or it is not a page of this daemon; then no other memory is touched.
  static Outcome attach(const PageInfo& info, std::shared_ptr<BlockPage>& page);
  ~BlockPage();
  BlockPage(const BlockPage&) = delete;
  BlockPage& operator=(const BlockPage&) = delete;

  std::uint32_t slots() const { return slots_; }
  // `number` below slots().
  protocol::BlockSlot& slot(std::uint32_t number) const;

 private:
  BlockPage(void* at, std::uint32_t slots, std::int64_t key)
      : at_(static_cast<char*>(at)), slots_(slots), key_(key) {}

  char* const at_;
  const std::uint32_t slots_;
  const std::int64_t key_;
};

}  // namespace seqd::engine
