#include "daemon/os/notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <utility>

#include "daemon/os/journal/event_line.h"

namespace seqd {
namespace {

constexpr std::size_t kMaxStatus = 512;  // bytes

// A status is one line: a newline in it would be read as the next variable.
std::string status_line(std::string_view status) {
  return "STATUS=" + escape_line(status, kMaxStatus);
}

}  // namespace

int notify_at_once(const std::string& state) {
  const char* place = std::getenv("NOTIFY_SOCKET");
  if (place == nullptr || *place == '\0') return 0;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t length = std::strlen(place);
  if (*place != '/' && *place != '@') return sd_notify(0, state.c_str());
  if (length >= sizeof(address.sun_path)) return -ENAMETOOLONG;
  std::copy_n(place, length, address.sun_path);
  if (*place == '@') address.sun_path[0] = '\0';
  const int descriptor = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return -errno;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  const ssize_t sent = ::sendto(descriptor, state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                                reinterpret_cast<const sockaddr*>(&address), size);
  const int code = sent < 0 ? -errno : 1;
  ::close(descriptor);
  return code;
}

// Sends the state, or raises an event with the cause: for an awaited state every time, for others
// only at the first of consecutive failures.
bool ServiceNotifier::deliver(const std::string& state, bool awaited) {
  const int code = notify_at_once(state);
  if (code >= 0) {
    failing_ = false;
    return true;
  }
  if (!std::exchange(failing_, true) || awaited) {
    events_.raise({EventKind::notify_failed,
                   "systemd could not be notified of " +
                       escape_line(state.substr(0, state.find('\n'))) + ": " +
                       std::strerror(-code) + "; the daemon continues and repeats the notification",
                   {}});
  }
  return false;
}

void ServiceNotifier::send(const std::string& state) {
  if (!unsent_.empty() && deliver(unsent_, false)) unsent_.clear();
  deliver(state, false);
}

void ServiceNotifier::must_send(std::string state) {
  if (!unsent_.empty() && deliver(unsent_, false)) unsent_.clear();
  unsent_ = deliver(state, true) ? std::string() : std::move(state);
}

void ServiceNotifier::ready(std::string_view status) {
  must_send("READY=1\n" + status_line(status));
}

void ServiceNotifier::status(std::string_view status) {
  send(status_line(status));
}

void ServiceNotifier::reloading() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t now_us = std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000;
  must_send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(now_us));
}

void ServiceNotifier::stopping(std::string_view status) {
  must_send("STOPPING=1\n" + status_line(status));
}

void ServiceNotifier::watchdog() {
  send("WATCHDOG=1");
}

void ServiceNotifier::extend_timeout(std::int64_t time_us) {
  send("EXTEND_TIMEOUT_USEC=" + std::to_string(time_us));
}

std::int64_t ServiceNotifier::watchdog_interval_ms() {
  std::uint64_t limit_us = 0;
  if (sd_watchdog_enabled(0, &limit_us) <= 0) return 0;
  // Half of it, as sd_watchdog_enabled(3) advises.
  return static_cast<std::int64_t>(std::max<std::uint64_t>(limit_us / 2'000, 1));
}

}  // namespace seqd
