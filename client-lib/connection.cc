#include "client-lib/connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

namespace seqd::engine {

bool Connection::is_path_legal(std::string_view path) {
  return !path.empty() && path.size() < sizeof(sockaddr_un::sun_path) &&
         path.find('\0') == std::string_view::npos;
}

int Connection::open(const std::string& path) {
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return errno;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(),
              std::min(path.size(), sizeof(address.sun_path) - std::size_t{1}));
  // A Unix socket connects at once or not at all; EAGAIN means that the daemon's queue is full.
  int result = 0;
  do {
    result = ::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  } while (result < 0 && errno == EINTR);
  if (result < 0) {
    const int error = errno;
    ::close(descriptor);
    return error;
  }
  descriptor_ = descriptor;
  return 0;
}

void Connection::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

int Connection::send(protocol::Buffer& bytes) {
  while (!bytes.empty()) {
    const ssize_t sent =
        ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes.consume(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return 0;
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

Connection::Received Connection::receive() {
  received_.clear();
  char* room = received_.prepare(kReceiveBytes);
  ssize_t count = 0;
  do {
    count = ::recv(descriptor_, room, kReceiveBytes, MSG_DONTWAIT);
  } while (count < 0 && errno == EINTR);
  using Kind = Received::Kind;
  if (count > 0) return {Kind::bytes, {room, static_cast<std::size_t>(count)}, 0};
  if (count == 0) return {Kind::lost, {}, 0};
  if (errno == EAGAIN || errno == EWOULDBLOCK) return {Kind::nothing_yet, {}, 0};
  return {Kind::lost, {}, errno};
}

void Connection::wait(bool to_write, std::int64_t timeout_ms) const {
  pollfd watched = {};
  watched.fd = descriptor_;  // poll() passes over a negative one
  watched.events = static_cast<short>(to_write ? POLLIN | POLLOUT : POLLIN);
  const auto timeout = static_cast<int>(std::clamp<std::int64_t>(timeout_ms, 0, INT_MAX));
  // Interrupted by a signal or not: the caller looks at the clock and comes back.
  (void)::poll(&watched, 1, timeout);
}

}  // namespace seqd::engine
