// NotifyRelay: what the daemon reports to its service manager, passed on by process 1. A manager
// that looks at the sender (systemd with NotifyAccess=main, systemd-nspawn with --notify-ready=)
// believes the process alone that it started: number 1, whose child the daemon is (init_process.h).
// Made before the fork, then used by one side each; one thread.
//
// Invariant: the two ends have no name, so nobody else can send to them, or fill them.
#pragma once

#include <optional>

namespace seqd {

class NotifyRelay {
 public:
  // Nothing where nobody asked for reports ($NOTIFY_SOCKET), or no socket can be made.
  static std::optional<NotifyRelay> make();

  ~NotifyRelay();
  NotifyRelay(NotifyRelay&& other) noexcept;
  NotifyRelay(const NotifyRelay&) = delete;
  NotifyRelay& operator=(const NotifyRelay&) = delete;
  NotifyRelay& operator=(NotifyRelay&&) = delete;

  // Readable when there is something to pass on.
  int fd() const { return from_daemon_; }
  // Everything that came, in order. Never waits. False: the manager takes nothing now, and the rest
  // stays here, where the daemon notices when it is full; call it again after a while, and do not
  // wait for fd() meanwhile.
  bool pass_on() const;
  // The side of the daemon: its reports go here from now on.
  void use() const;

 private:
  NotifyRelay(int from_daemon, int to_init) : from_daemon_(from_daemon), to_init_(to_init) {}

  int from_daemon_ = -1, to_init_ = -1;
};

}  // namespace seqd
