// Journal: writes each event once: to journald with MESSAGE_ID, PRIORITY and the event's fields
// when stderr is connected to it, else as one line on stderr. Repeated events are thinned out
// (event_rate.h). Owned by main. Loop thread; log() may be called from any thread. Never fails: a
// message that cannot be written, or only after waiting for journald or a reader of stderr, is
// dropped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/events.h"
#include "daemon/base/time/clock.h"
#include "daemon/os/journal/event_rate.h"

namespace seqd {

class Journal final : public EventSink {
 public:
  // `clock` must outlive it.
  explicit Journal(const Clock& clock);
  void raise(const Event& event) override;

 private:
  const Clock& clock_;
  EventRate rate_;
};

// What goes to journald: "NAME=value" each, bounded and without control characters.
std::vector<std::string> journal_fields(const Event& event);

// Whether stderr is connected to journald ($JOURNAL_STREAM names its device and inode).
bool stderr_is_journal();

// Where lines go when it is not the journal: how they look.
enum class LineStyle {
  terminal,  // plain
  pipe,      // "<N>" in front, as systemd and syslog wrappers read it
};
LineStyle stderr_line_style();

// For messages that are not events (start-up errors). `priority` as in syslog, 0..7; text of
// several lines becomes several messages.
void log(int priority, std::string_view text);
// The same for the last message of a process: through stderr also to journald, which knows the unit
// of that stream. For a datagram, journald looks up the unit of the sending process, which may have
// ended by then.
void log_last(int priority, std::string_view text);

}  // namespace seqd
