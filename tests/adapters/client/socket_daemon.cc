#include "tests/adapters/client/socket_daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>

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
      const ssize_t sent = ::send(descriptor, out.data(), out.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      out.consume(static_cast<std::size_t>(sent));
    }
  }
}

}  // namespace seqd::testing
