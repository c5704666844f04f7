#include "daemon/os/journal/journal_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace seqd {
namespace {

// Bytes that may wait for journald: as many as libsystemd requests. The kernel grants what it
// allows (net.core.wmem_max), and all of it to root.
constexpr int kRoom = 8 << 20;
constexpr unsigned kPauseUs = 1'000;

int open_socket() {
  const int made = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made >= 0 && ::setsockopt(made, SOL_SOCKET, SO_SNDBUFFORCE, &kRoom, sizeof kRoom) != 0)
    static_cast<void>(::setsockopt(made, SOL_SOCKET, SO_SNDBUF, &kRoom, sizeof kRoom));
  return made;
}

// No room, or journald is being started again.
bool passes_by_itself(int error) {
  return error == EAGAIN || error == ENOBUFS || error == ECONNREFUSED || error == ENOENT;
}

}  // namespace

JournalSocket::JournalSocket(std::string path)
    : path_(std::move(path)), descriptor_(open_socket()) {}

JournalSocket::~JournalSocket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool JournalSocket::put(const std::string& message) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path_.data(),
              std::min(path_.size(), sizeof(address.sun_path) - std::size_t{1}));
  for (;;) {
    const ssize_t sent =
        ::sendto(descriptor_, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                 reinterpret_cast<const sockaddr*>(&address), sizeof address);
    if (sent >= 0) return true;
    if (errno != EINTR) return false;
  }
}

bool JournalSocket::send(const std::vector<std::string>& fields, int patience_ms) {
  std::string message;
  for (const std::string& field : fields) message.append(field).append("\n");
  const std::lock_guard<std::mutex> lock(mutex_);
  if (descriptor_ < 0) descriptor_ = open_socket();
  bool taken = put(message);
  for (int tries = 0; !taken && passes_by_itself(errno) && tries < patience_ms; ++tries) {
    ::usleep(kPauseUs);
    taken = put(message);
  }
  if (!taken) ++lost_;
  if (!taken || lost_ == 0) return taken;
  const bool reported = put("MESSAGE=" + std::to_string(lost_) +
                            " messages before the last one were lost: journald did not take them\n"
                            "PRIORITY=4\nSYSLOG_IDENTIFIER=seqd\n");
  if (reported) lost_ = 0;
  return true;
}

}  // namespace seqd
