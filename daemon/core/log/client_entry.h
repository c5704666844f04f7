// What the log records of clients that may repeat their requests; see log_entry.h.
#pragma once

#include <cstdint>

#include "daemon/base/user_id.h"
#include "daemon/core/words/log_types.h"
#include "daemon/core/words/token.h"

namespace seqd {

// A client that may repeat its requests.
struct DefineClient {
  ClientId client = 0;
  Token identity{};
  bool operator==(const DefineClient&) const = default;
};

// Whose connection the client used last. Follows its DefineClient.
struct ClientUser {
  ClientId client = 0;
  UserId user = 0;
  bool operator==(const ClientUser&) const = default;
};

// The client has every reply to a request numbered below `below`.
struct Acknowledged {
  ClientId client = 0;
  std::uint32_t below = 0;
  bool operator==(const Acknowledged&) const = default;
};

// What is kept for the client is dropped; its identity, if it comes back, gets a new number.
struct ForgetClient {
  ClientId client = 0;
  bool operator==(const ForgetClient&) const = default;
};

}  // namespace seqd
