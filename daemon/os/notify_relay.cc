#include "daemon/os/notify_relay.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include "daemon/os/notify.h"

namespace seqd {
namespace {

constexpr const char* kVariable = "NOTIFY_SOCKET";
constexpr std::size_t kMaxReport = 4'096;  // bytes, as systemd takes; the daemon's have 600
// More than a queue holds (net.unix.max_dgram_qlen), so that who floods it stops nobody.
constexpr int kMostAtOnce = 1'024;

// Of the sender, as the kernel says; 0: not known here.
pid_t sender_of(msghdr& message) {
  for (cmsghdr* at = CMSG_FIRSTHDR(&message); at != nullptr; at = CMSG_NXTHDR(&message, at)) {
    if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_CREDENTIALS) continue;
    ucred sender{};
    std::memcpy(&sender, CMSG_DATA(at), sizeof sender);
    return sender.pid;
  }
  return 0;
}

}  // namespace

std::optional<NotifyRelay> NotifyRelay::make() {
  if (getenv(kVariable) == nullptr) return {};
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return {};
  NotifyRelay relay(fd, {});
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  const int on = 1;
  // Bound by its family alone, the kernel chooses a free name in the abstract name space.
  const bool bound = setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0 &&
                     bind(fd, generic, sizeof(sa_family_t)) == 0 &&
                     getsockname(fd, generic, &size) == 0;
  constexpr std::size_t kHead = offsetof(sockaddr_un, sun_path) + 1;
  if (!bound || size <= kHead) return {};
  relay.address_ = "@" + std::string(&address.sun_path[1], size - kHead);
  return relay;
}

NotifyRelay::NotifyRelay(NotifyRelay&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), address_(std::move(other.address_)) {}

NotifyRelay::~NotifyRelay() {
  if (fd_ >= 0) close(fd_);
}

bool NotifyRelay::pass_on(pid_t from) const {
  for (int count = 0; count < kMostAtOnce; ++count) {
    std::array<char, kMaxReport + 1> text{};
    // Room for the sender alone: descriptors that come along are closed by the kernel.
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> control{};
    iovec part{text.data(), kMaxReport};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    // It leaves the socket when it is told: the daemon does not tell it again.
    const ssize_t size = recvmsg(fd_, &message, MSG_CMSG_CLOEXEC | MSG_PEEK);
    if (size < 0) return true;
    const bool passes = size > 0 && sender_of(message) == from;
    if (passes && notify_at_once({text.data(), static_cast<std::size_t>(size)}) < 0) return false;
    recv(fd_, text.data(), 1, 0);
  }
  return true;
}

void NotifyRelay::use() const {
  setenv(kVariable, address_.c_str(), 1);
}

}  // namespace seqd
