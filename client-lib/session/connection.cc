#include "client-lib/session/connection.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <utility>

namespace seqd::engine {
namespace {

// Of a recv(). Shorter ones are coarse: the kernel counts them in ticks of up to 10 ms.
constexpr std::int64_t kShortestWaitMs = 100;
constexpr std::int64_t kLongestWaitMs = 3'600'000;

}  // namespace

bool Connection::is_path_legal(std::string_view path) {
  return !path.empty() && path.size() < sizeof(sockaddr_un::sun_path) &&
         path.find('\0') == std::string_view::npos;
}

int Connection::open(const std::string& path) {
  // Known before it is connected: another thread may fork meanwhile, and its child then finds what
  // it has to close. Only a child of the moment between the two does not.
  descriptor_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor_ < 0) return errno;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(),
              std::min(path.size(), sizeof(address.sun_path) - std::size_t{1}));
  // A Unix socket connects at once or not at all; EAGAIN means that the daemon's queue is full.
  int result = 0;
  do {
    result = ::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  } while (result < 0 && errno == EINTR);
  // From here on each call says whether it waits.
  if (result < 0 || ::fcntl(descriptor_, F_SETFL, 0) != 0) {
    const int error = errno;
    close();
    return error;
  }
  wait_ms_ = 0;
  recv_gave_nothing_ = false;
  return 0;
}

void Connection::close() {
  // A copy of this process by fork() must not find a number that is another file's by now.
  const int descriptor = std::exchange(descriptor_, -1);
  if (descriptor >= 0) ::close(descriptor);
}

void Connection::end_for_all() {
  (void)::shutdown(descriptor_, SHUT_RDWR);
}

int Connection::send(protocol::Buffer& bytes) {
  while (!bytes.empty()) {
    const ssize_t sent =
        ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes.consume(static_cast<std::size_t>(sent));
      poll_on();
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return 0;
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

Connection::Received Connection::receive() {
  Received received = receive(MSG_DONTWAIT);
  while (received.kind == Received::Kind::nothing_yet && received.error == EINTR)
    received = receive(MSG_DONTWAIT);
  return received;
}

// A recv() that waits ends late by up to an eighth of its time, and at once where the program made
// the socket non-blocking. So it waits for a part of the time, and the rest is poll()'s.
Connection::Received Connection::receive_within(std::int64_t timeout_ms) {
  if (busy_poll_us_ > 0) {
    const Clock::time_point begin = Clock::now();
    Received received = receive_busily(begin + std::chrono::milliseconds(timeout_ms));
    if (received.kind != Received::Kind::nothing_yet || received.error == EINTR) return received;
    const auto polled = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
    timeout_ms -= polled.count();
    if (timeout_ms <= 0) return received;
  }
  if (timeout_ms < kShortestWaitMs || recv_gave_nothing_) {
    wait(false, timeout_ms);
    Received received = receive();
    if (received.kind == Received::Kind::bytes) recv_gave_nothing_ = false;
    return received;
  }
  // The socket is set seldom: most requests have about the same time left.
  const std::int64_t longest_ms = timeout_ms - timeout_ms / 8;
  if (wait_ms_ == 0 || wait_ms_ > longest_ms || wait_ms_ < timeout_ms / 4) {
    const std::int64_t wait_ms = std::min(timeout_ms - timeout_ms / 4, kLongestWaitMs);
    if (wait_ms != wait_ms_) {
      timeval wait = {};
      wait.tv_sec = static_cast<time_t>(wait_ms / 1'000);
      wait.tv_usec = static_cast<suseconds_t>(wait_ms % 1'000 * 1'000);
      if (::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) != 0)
        return {Received::Kind::lost, {}, errno};
      wait_ms_ = wait_ms;
    }
  }
  Received received = receive(0);
  recv_gave_nothing_ = received.kind == Received::Kind::nothing_yet && received.error == 0;
  return received;
}

// The time does not begin again with each call: a signal or a late answer does not extend it.
Connection::Received Connection::receive_busily(Clock::time_point end) {
  end = std::min(end, poll_until_);
  Received received;
  do {
    received = receive(MSG_DONTWAIT);
  } while (received.kind == Received::Kind::nothing_yet && received.error == 0 &&
           Clock::now() < end);
  return received;
}

Connection::Received Connection::receive(int flags) {
  received_.clear();
  char* room = received_.prepare(kReceiveBytes);
  const ssize_t count = ::recv(descriptor_, room, kReceiveBytes, flags);
  using Kind = Received::Kind;
  if (count > 0) {
    poll_on();
    return {Kind::bytes, {room, static_cast<std::size_t>(count)}, 0};
  }
  if (count == 0) return {Kind::lost, {}, 0};
  // Interrupted by a signal: the caller checks the clock and calls again.
  if (errno == EINTR) return {Kind::nothing_yet, {}, EINTR};
  if (errno == EAGAIN || errno == EWOULDBLOCK) return {Kind::nothing_yet, {}, 0};
  return {Kind::lost, {}, errno};
}

std::optional<uid_t> Connection::peer_user() const {
  ucred peer = {};
  socklen_t size = sizeof(peer);
  if (::getsockopt(descriptor_, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer.uid;
}

void Connection::wait(bool to_write, std::int64_t timeout_ms) const {
  pollfd watched = {};
  watched.fd = descriptor_;  // poll() passes over a negative one
  watched.events = static_cast<short>(to_write ? POLLIN | POLLOUT : POLLIN);
  const auto timeout = static_cast<int>(std::clamp<std::int64_t>(timeout_ms, 0, INT_MAX));
  // Interrupted by a signal or not: the caller checks the clock and calls again.
  (void)::poll(&watched, 1, timeout);
}

}  // namespace seqd::engine
