#include "daemon/uv/peer.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>

namespace seqd {
namespace {

TEST_CASE("TheKernelSaysWhoIsAtTheOtherEnd") {
  int ends[2] = {-1, -1};
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  const auto peer = peer_of(ends[0]);
  REQUIRE(peer.ok());
  CHECK(peer->pid == getpid());
  CHECK(peer->uid == geteuid());
  CHECK(std::find(peer->groups.begin(), peer->groups.end(), getegid()) != peer->groups.end());
  close(ends[0]);
  close(ends[1]);
}

TEST_CASE("SupplementaryGroupsAreThoseOfTheProcessThatConnected") {
  REQUIRE(geteuid() == 0);  // setgroups() is for root, and so are these tests
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::vector<gid_t> groups;
    for (gid_t group = 5'000; group < 5'200; ++group) groups.push_back(group);
    int ends[2] = {-1, -1};
    const bool made = setgroups(groups.size(), groups.data()) == 0 &&
                      socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0;
    const auto peer = made ? peer_of(ends[0]) : Result<Peer>(Status(ErrorCode::INTERNAL, ""));
    bool all = peer.ok() && peer->groups.size() == groups.size() + 1;
    for (const gid_t group : groups)
      all = all && std::find(peer->groups.begin(), peer->groups.end(), group) != peer->groups.end();
    _exit(all ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

bool write_file(const char* path, const char* text) {
  std::ofstream file(path);
  file << text << std::flush;
  return file.good();
}

// In a container of its own users, where the daemon is called 65534 ("nobody").
TEST_CASE("UsersWhomTheNamespaceCannotNameAreNotTheUserOfThatNumber") {
  REQUIRE(geteuid() == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int ends[2] = {-1, -1};
    const bool made = setgroups(0, nullptr) == 0 && setegid(4'711) == 0 && seteuid(12'345) == 0 &&
                      socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && seteuid(0) == 0 &&
                      setegid(0) == 0;
    if (!made) _exit(2);
    // Not unshare(), which a process with a second thread may not call: ThreadSanitizer has one.
    const auto inner = static_cast<pid_t>(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
    if (inner != 0) {
      int ended = 0;
      const bool over = waitpid(inner, &ended, 0) == inner && WIFEXITED(ended);
      _exit(over ? WEXITSTATUS(ended) : 4);
    }
    const bool mapped = write_file("/proc/self/uid_map", "65534 0 1\n") &&
                        write_file("/proc/self/setgroups", "deny") &&
                        write_file("/proc/self/gid_map", "65534 0 1\n");
    if (!mapped || geteuid() != 65'534) _exit(5);
    ucred credentials{};
    socklen_t size = sizeof credentials;
    getsockopt(ends[0], SOL_SOCKET, SO_PEERCRED, &credentials, &size);
    if (credentials.uid != 65'534 || credentials.gid != 65'534) _exit(3);  // as the kernel says it
    const auto peer = peer_of(ends[0]);
    _exit(peer.ok() && peer->uid == kNoUserOrGroup && peer->groups.empty() ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("WhatIsNoConnectedUnixSocketHasNoPeer") {
  const int network = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {network, null, -1})
    CHECK(peer_of(fd).status().code() == ErrorCode::INTERNAL);
  close(network);
  close(null);
}

}  // namespace
}  // namespace seqd
