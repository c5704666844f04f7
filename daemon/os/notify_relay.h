// NotifyRelay: what the daemon reports to its service manager, passed on by process 1. A manager
// that looks at the sender (systemd with NotifyAccess=main, systemd-nspawn with --notify-ready=)
// believes the process alone that it started: number 1, whose child the daemon is (init_process.h).
// Made before the fork, then used by one side each; one thread.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

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
  int fd() const { return fd_; }
  // Everything that came from the process `from`, in order. What others sent is dropped: any user
  // who shares the network namespace can find the socket. Never waits. False: the manager takes
  // nothing now, and the rest stays here, where the daemon notices when it is full; call it again
  // after a while, and do not wait for fd() meanwhile.
  bool pass_on(pid_t from) const;
  // The side of the daemon: its reports go here.
  void use() const;

 private:
  NotifyRelay(int fd, std::string address) : fd_(fd), address_(std::move(address)) {}

  int fd_ = -1;
  std::string address_;  // as $NOTIFY_SOCKET has it
};

}  // namespace seqd
