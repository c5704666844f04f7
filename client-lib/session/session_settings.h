// SessionSettings: what a Session is made with. A value.
#pragma once

#include <cstdint>

#include "protocol/requests.h"

namespace seqd::engine {

struct SessionSettings {
  protocol::Hello hello;     // without `client`: anonymous
  bool limits_wait = false;  // a request says how long it may wait for an ID: the time it has left
  std::int64_t timeout_ms = INT64_MAX;  // and no longer than this allows, though it may have more
  std::uint32_t first_number = 1;
};

}  // namespace seqd::engine
