#include "daemon/os/journal/catalog.h"

#include <algorithm>
#include <array>

#include "daemon/base/events.h"

namespace seqd {
namespace {

constexpr std::array kKinds = {
#define X(name, message_id, priority, meaning) EventKind::name,
#include "daemon/base/events.def"
#undef X
};

}  // namespace

std::string journal_catalog() {
  std::string out =
      "# The journal's explanations of seqd's messages, made from the list of events "
      "(`make catalog`).\n";
  for (const EventKind kind : kKinds) {
    const EventInfo& event = event_info(kind);
    std::string subject(event.name);
    std::replace(subject.begin(), subject.end(), '_', ' ');
    out.append("\n-- ").append(event.message_id).append("\n");
    out.append("Subject: seqd: ").append(subject).append("\n");
    out.append("Defined-By: seqd\nDocumentation: man:seqd(8)\n\n");
    out.append(event.meaning).append("\n");
  }
  return out;
}

}  // namespace seqd
