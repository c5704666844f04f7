#include "daemon/os/notify_relay.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <utility>

#include "daemon/os/notify.h"

namespace seqd {
namespace {

constexpr std::size_t kMaxReport = 4'096;  // bytes, as systemd takes; the daemon's have 600
// More than a socket holds, so that signals are looked at in between.
constexpr int kMostAtOnce = 1'024;

}  // namespace

std::optional<NotifyRelay> NotifyRelay::make() {
  if (getenv("NOTIFY_SOCKET") == nullptr) return {};
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) != 0) return {};
  return NotifyRelay(ends[0], ends[1]);
}

NotifyRelay::NotifyRelay(NotifyRelay&& other) noexcept
    : from_daemon_(std::exchange(other.from_daemon_, -1)),
      to_init_(std::exchange(other.to_init_, -1)) {}

NotifyRelay::~NotifyRelay() {
  if (from_daemon_ >= 0) close(from_daemon_);
  if (to_init_ >= 0) close(to_init_);
}

bool NotifyRelay::pass_on() const {
  for (int count = 0; count < kMostAtOnce; ++count) {
    std::array<char, kMaxReport> text{};
    // It leaves the socket when it is told: the daemon does not tell it again.
    const ssize_t size = recv(from_daemon_, text.data(), text.size(), MSG_DONTWAIT | MSG_PEEK);
    if (size < 0) return true;
    if (size > 0 && notify_at_once({text.data(), static_cast<std::size_t>(size)}) < 0) return false;
    recv(from_daemon_, text.data(), 1, MSG_DONTWAIT);
  }
  return true;
}

void NotifyRelay::use() const {
  notify_through(to_init_);
}

}  // namespace seqd
