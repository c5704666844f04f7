// Caller: how the core identifies a waiting request. It keeps a Caller by value, and never holds a
// connection. Values; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "daemon/base/status.h"
#include "daemon/base/user_id.h"
#include "daemon/core/words/log_types.h"

namespace seqd {

// Identifies a connection for ever: a number is never used for another one.
using SessionId = std::uint64_t;

struct Caller {
  SessionId session = 0;
  std::uint32_t request = 0;  // the msgid; for a client with an identity also its request number
  ClientId client = 0;        // 0: anonymous, cannot repeat
  UserId user = 0;            // of the connection, as the kernel reports it
};

// Why requests for a sequence are refused, by its name; OK: they are not.
using Refusal = std::function<Status(std::string_view sequence)>;

}  // namespace seqd
