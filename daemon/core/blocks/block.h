// Block: a range that a client takes IDs from in its own process, while it is out. A value.
#pragma once

#include <cstdint>

#include "daemon/base/user_id.h"
#include "daemon/core/caller.h"
#include "daemon/core/log/log_entry.h"
#include "daemon/core/log/state_image.h"

namespace seqd {

struct Block {
  static constexpr std::uint32_t kPageSlots = 64;  // from here on: without a page
  BlockGranted granted;
  Token lease{};          // that its range came from
  UserId user = 0;        // of the client
  SessionId session = 0;  // that took it, for the history; 0: granted by an earlier process
  BlockKey key() const { return {granted.client, granted.slot}; }
  bool has_page() const { return granted.slot < kPageSlots; }
  std::int64_t size() const { return granted.end - granted.begin; }
};

}  // namespace seqd
