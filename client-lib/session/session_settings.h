// SessionSettings: what a Session is made with. A value.
#pragma once

#include <cstdint>

#include "protocol/requests.h"

namespace seqd::engine {

struct SessionSettings {
  protocol::Hello hello;  // without `client`: anonymous
  // A request says how long it may wait for an ID: the time that it has left, but not more than
  // `timeout_ms`. (Its deadline may be a little later, by a coarse clock; see most_behind_ms().)
  bool limits_wait = false;
  std::int64_t timeout_ms = INT64_MAX;
  std::uint32_t first_number = 1;
};

}  // namespace seqd::engine
