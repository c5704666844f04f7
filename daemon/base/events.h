// Events: what happened, for the journal. Core raises them and never logs; one adapter writes each
// once, with its MESSAGE_ID and its fields. The list is events.def.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace seqd {

enum class EventKind : std::uint8_t {
#define X(name, message_id, priority, meaning) name,
#include "daemon/base/events.def"
#undef X
};

struct EventInfo {
  std::string_view name;
  std::string_view message_id;  // 32 hexadecimal digits
  int priority;                 // syslog: 2 critical .. 6 informational
  std::string_view meaning;
};

const EventInfo& event_info(EventKind kind);

// Fields are journal fields: upper case names, for example {"SEQUENCE", "orders"}.
struct Event {
  EventKind kind;
  std::string text;  // one line for people
  std::vector<std::pair<std::string, std::string>> fields;
};

// Loop thread. Must not call back into the source of the event.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void raise(const Event& event) = 0;
};

}  // namespace seqd
