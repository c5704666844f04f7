#include "daemon/base/events.h"

#include <array>
#include <cstddef>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

constexpr std::array kEvents = {
#define X(name, message_id, priority, meaning) EventInfo{#name, message_id, priority, meaning},
#include "daemon/base/events.def"
#undef X
};

}  // namespace

const EventInfo& event_info(EventKind kind) {
  ASSERT(static_cast<std::size_t>(kind) < kEvents.size());
  return kEvents[static_cast<std::size_t>(kind)];
}

}  // namespace seqd
