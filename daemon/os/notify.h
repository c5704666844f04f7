// ServiceNotifier: reports the daemon's state to systemd (sd_notify). Does nothing if
// $NOTIFY_SOCKET is not set. Never waits. A daemon that cannot report continues to serve: it raises
// an event, and the states that systemd waits for (READY, RELOADING, STOPPING) are repeated before
// the next report. Owned by main; loop thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/base/events.h"

namespace seqd {

// As sd_notify(3), which waits without end while nobody takes its messages: a process 1 that is
// frozen would stop the daemon with it. Positive, 0 where nobody asked, or a negative errno
// (-EAGAIN: nobody takes it now). Any thread, while none changes the environment.
int notify_at_once(const std::string& state);

class ServiceNotifier {
 public:
  // `events` must outlive it.
  explicit ServiceNotifier(EventSink& events) : events_(events) {}

  // Serving. `status` is the one line of `systemctl status`.
  void ready(std::string_view status);
  void status(std::string_view status);
  // A reload begins; ready() ends it.
  void reloading();
  void stopping(std::string_view status);
  void watchdog();
  // Asks for this much more time from now to start or to stop.
  void extend_timeout(std::int64_t time_us);

  // How often to call watchdog(), half of the unit's interval; 0: never. At least 1.
  static std::int64_t watchdog_interval_ms();

 private:
  // Something that systemd waits for: the newest of them is not forgotten.
  void must_send(std::string state);
  void send(const std::string& state);
  bool deliver(const std::string& state, bool awaited);

  EventSink& events_;
  std::string untold_;  // what systemd waits for and could not be told
  bool failing_ = false;
};

}  // namespace seqd
