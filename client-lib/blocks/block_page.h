// BlockPage: the page that the daemon shares with this client, mapped. Shared by the blocks that
// lie in it, which use it up also when there is a newer one. Any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>

#include "client-lib/session/outcome.h"
#include "protocol/block_slot.h"

namespace seqd::engine {

class BlockPage {
 public:
  // What a daemon may call a page, at most.
  static constexpr std::int64_t kMostSlots = 1'024;

  // `page` is now the one behind `descriptor`, which is closed: the same mapping where it is the
  // same file. SEQD_E_UNAVAILABLE: it is no such page. A file that is too short is not mapped: a
  // store behind its end would be SIGBUS.
  static Outcome map(int descriptor, std::int64_t slots, std::int64_t slot_bytes,
                     std::shared_ptr<BlockPage>& page);
  ~BlockPage();
  BlockPage(const BlockPage&) = delete;
  BlockPage& operator=(const BlockPage&) = delete;

  std::uint32_t slots() const { return slots_; }
  // `number` below slots().
  protocol::BlockSlot& slot(std::uint32_t number) const;

 private:
  BlockPage(void* at, std::uint32_t slots, dev_t device, ino_t inode)
      : at_(static_cast<char*>(at)), slots_(slots), device_(device), inode_(inode) {}

  char* const at_;
  const std::uint32_t slots_;
  const dev_t device_;
  const ino_t inode_;
};

}  // namespace seqd::engine
