// ClientOptions: what a Client is made with. A value.
#pragma once

#include <cstdint>
#include <string>

#include "client-lib/session/outcome.h"

namespace seqd::engine {

struct ClientOptions {
  std::string socket_path;
  std::string name;
  std::int64_t timeout_ms = 5'000;
  std::int64_t connect_timeout_ms = 5'000;
  std::int64_t busy_poll_us = 0;
  bool anonymous = false;
  bool daemon_decides_wait = false;  // requests do not say how long they may wait for an ID
};

// What the caller's options mean: defaults, the environment, bounds. `options` may be null.
Outcome read_options(const seqd_options* options, ClientOptions& out);

}  // namespace seqd::engine
