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

// As sd_notify(3), but without waiting: sd_notify blocks while process 1 does not read its socket.
// Positive if sent, 0 if $NOTIFY_SOCKET is not set, or a negative errno (-EAGAIN: the socket is
// full). Any thread, while none changes the environment.
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
  // Requests this much more time from now to start or to stop.
  void extend_timeout(std::int64_t time_us);

  // How often to call watchdog(), half of the unit's interval; 0: never. At least 1.
  static std::int64_t watchdog_interval_ms();

 private:
  // For a state that systemd waits for: the newest one is repeated until it is sent.
  void must_send(std::string state);
  void send(const std::string& state);
  bool deliver(const std::string& state, bool awaited);

  EventSink& events_;
  std::string unsent_;  // a state that systemd waits for and that could not be sent
  bool failing_ = false;
};

}  // namespace seqd
