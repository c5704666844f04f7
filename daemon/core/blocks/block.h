// Block: a range that a client takes IDs from in its own process, while it is out. A value.
#pragma once

#include <cstdint>

#include "daemon/base/user_id.h"
#include "daemon/core/log/log_entry.h"
#include "daemon/core/log/state_image.h"
#include "daemon/core/words/caller.h"

namespace seqd {

struct Block {
  BlockGranted granted;
  Token lease{};          // that its range came from
  UserId user = 0;        // of the client
  SessionId session = 0;  // that took it, for the history; 0: granted by an earlier process
  BlockKey key() const { return {granted.client, granted.slot}; }
  std::int64_t size() const { return granted.end - granted.begin; }
};

}  // namespace seqd
