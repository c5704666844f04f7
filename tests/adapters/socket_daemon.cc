#include "tests/adapters/socket_daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace seqd::testing {

SocketDaemon::SocketDaemon() {
  std::string pattern = "/tmp/seqd-client-test-XXXXXX";
  REQUIRE(::mkdtemp(pattern.data()) != nullptr);
  directory_ = pattern;
  path_ = directory_ + "/seqd.sock";
}

SocketDaemon::~SocketDaemon() {
  stop();
  ::unlink(path_.c_str());
  ::rmdir(directory_.c_str());
}

void SocketDaemon::start() {
  REQUIRE(::pipe2(wake_, O_CLOEXEC) == 0);
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
  ::unlink(path_.c_str());
  REQUIRE(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  REQUIRE(::listen(listener_, 16) == 0);
  thread_ = std::thread([this] { run(); });
}

void SocketDaemon::stop() {
  if (!thread_.joinable()) return;
  ::close(wake_[1]);
  thread_.join();
  ::close(wake_[0]);
  ::close(listener_);
  ::unlink(path_.c_str());
}

// Whether `descriptor` can be read; false: the test wants an end. What was sent before that is
// read.
static bool wait_for(int descriptor, int wake) {
  pollfd watched[2] = {{descriptor, POLLIN, 0}, {wake, POLLIN, 0}};
  while (::poll(watched, 2, -1) < 0) {
  }
  return watched[1].revents == 0 || (watched[0].revents & POLLIN) != 0;
}

void SocketDaemon::run() {
  while (wait_for(listener_, wake_[0])) {
    const int descriptor = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (descriptor < 0) continue;
    if (instead)
      instead(descriptor);
    else
      serve(descriptor);
    ::close(descriptor);
    if (ended) ended();
  }
}

// The first of the bytes, with a descriptor.
static ssize_t send_with(int descriptor, const protocol::Buffer& out, int passing) {
  iovec bytes = {const_cast<char*>(out.data()), out.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* const rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(rights), &passing, sizeof(passing));
  return ::sendmsg(descriptor, &message, MSG_NOSIGNAL);
}

void SocketDaemon::serve(int descriptor) {
  WireDaemon::Connection connection;
  bool open = true;
  while (open && wait_for(descriptor, wake_[0])) {
    char bytes[65536];
    const ssize_t count = ::recv(descriptor, bytes, sizeof(bytes), 0);
    if (count <= 0) return;
    protocol::Buffer out;
    open = wire_.receive(connection, {bytes, static_cast<std::size_t>(count)}, out);
    while (!out.empty()) {
      const int passing = std::exchange(connection.passing, -1);
      const ssize_t sent = passing < 0 ? ::send(descriptor, out.data(), out.size(), MSG_NOSIGNAL)
                                       : send_with(descriptor, out, passing);
      if (sent <= 0) return;
      out.consume(static_cast<std::size_t>(sent));
    }
  }
}

}  // namespace seqd::testing
