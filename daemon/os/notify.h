// ServiceNotifier: tells systemd what the daemon is doing (sd_notify). Does nothing when nobody
// asked ($NOTIFY_SOCKET is not set). Errors are ignored: a daemon that cannot report goes on
// serving. Owned by main; loop thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace seqd {

class ServiceNotifier {
 public:
  // Serving. `status` is the one line of `systemctl status`.
  void ready(std::string_view status);
  void status(std::string_view status);
  // A reload begins; ready() ends it.
  void reloading();
  void stopping(std::string_view status);
  void watchdog();
  // Asks for this much more time from now to start or to stop.
  void extend_timeout(std::int64_t time_us);

  // How often to call watchdog(), half of what the unit asks for; 0: never. At least 1.
  static std::int64_t watchdog_interval_ms();
};

}  // namespace seqd
