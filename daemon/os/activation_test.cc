#include "daemon/os/activation.h"

// Last, so that CHECK is the one of the tests.
#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>

namespace seqd {
namespace {

// Systemd passes descriptors from 3 on, which belong to somebody else in this process: so the
// daemon's side runs in a child, and says in its exit code whether all was as expected.
int in_child(const std::function<bool()>& daemon) {
  const pid_t child = fork();
  if (child == 0) {
    closefrom(3);
    _exit(daemon() ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void announce(int count) {
  setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
  setenv("LISTEN_FDS", std::to_string(count).c_str(), 1);
  setenv("LISTEN_FDNAMES", "seqd.socket", 1);
}

// Bound to a name that the kernel chooses.
int unix_socket(int type, bool listening) {
  const int fd = socket(AF_UNIX, type, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(sa_family_t)) != 0) return -1;
  if (listening && listen(fd, 5) != 0) return -1;
  return fd;
}

bool closed(int fd) {
  return fcntl(fd, F_GETFD) < 0;
}

TEST_CASE("WithoutActivationThereAreNoSockets") {
  CHECK(in_child([] {
          const auto sockets = activated_sockets();
          return sockets.ok() && sockets->empty();
        }) == 0);
}

TEST_CASE("PassedSocketsAreCloseOnExecNonBlockingAndTheEnvironmentIsCleared") {
  CHECK(in_child([] {
          if (unix_socket(SOCK_STREAM, true) != 3 || unix_socket(SOCK_STREAM, true) != 4)
            return false;
          announce(2);
          const auto sockets = activated_sockets();
          return sockets.ok() && *sockets == std::vector<int>{3, 4} &&
                 (fcntl(3, F_GETFD) & FD_CLOEXEC) != 0 && (fcntl(4, F_GETFL) & O_NONBLOCK) != 0 &&
                 getenv("LISTEN_FDS") == nullptr && getenv("LISTEN_PID") == nullptr &&
                 getenv("LISTEN_FDNAMES") == nullptr;
        }) == 0);
}

TEST_CASE("SocketsMeantForAnotherProcessAreLeftAlone") {
  CHECK(in_child([] {
          if (unix_socket(SOCK_STREAM, true) != 3) return false;
          announce(1);
          setenv("LISTEN_PID", "1", 1);
          const auto sockets = activated_sockets();
          return sockets.ok() && sockets->empty() && !closed(3);
        }) == 0);
}

TEST_CASE("ASocketOfAnotherKindIsANamedErrorAndAllAreClosed") {
  const std::function<int()> makers[] = {
      [] { return unix_socket(SOCK_DGRAM, false); },
      [] { return unix_socket(SOCK_SEQPACKET, true); },
      [] { return unix_socket(SOCK_STREAM, false); },
      [] { return socket(AF_INET, SOCK_STREAM, 0); },
      [] { return open("/dev/null", O_RDWR); },
  };
  for (const auto& make : makers) {
    CHECK(in_child([&make] {
            if (unix_socket(SOCK_STREAM, true) != 3 || make() != 4) return false;
            announce(2);
            const auto sockets = activated_sockets();
            return sockets.status().code() == ErrorCode::CONFIG &&
                   sockets.status().text().starts_with(
                       "socket 2 passed by systemd is not a listening Unix stream socket") &&
                   closed(3) && closed(4);
          }) == 0);
  }
}

TEST_CASE("TooManySocketsAreRefused") {
  CHECK(in_child([] {
          for (int i = 0; i < 17; ++i)
            if (unix_socket(SOCK_STREAM, true) != 3 + i) return false;
          announce(17);
          const auto sockets = activated_sockets();
          return sockets.status().text() == "systemd passed 17 sockets; allowed: 16" && closed(19);
        }) == 0);
}

TEST_CASE("AnEnvironmentThatMakesNoSenseIsAnError") {
  CHECK(in_child([] {
          announce(1);
          setenv("LISTEN_FDS", "many", 1);
          return activated_sockets().status().code() == ErrorCode::CONFIG;
        }) == 0);
}

}  // namespace
}  // namespace seqd
