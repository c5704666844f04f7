// LoopbackAddress: an address and port of this host that no other host can reach, as text in a
// configuration: "127.0.0.1:9464" or "[::1]:9464". Names are not looked up. A value; any thread.
#pragma once

#include <sys/socket.h>

#include <string>

#include "daemon/base/status.h"

namespace seqd {

struct LoopbackAddress {
  sockaddr_storage address{};
  socklen_t size = 0;
};

// CONFIG: what was found, and what is allowed.
Result<LoopbackAddress> parse_loopback(const std::string& text);

}  // namespace seqd
