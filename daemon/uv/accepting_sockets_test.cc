#include "daemon/uv/accepting_sockets.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "daemon/base/one_shot.h"
#include "daemon/uv/unix_socket.h"
#include "tests/adapters/in_time.h"
#include "tests/unit/world.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

constexpr std::int64_t kLongestMs = 20'000;

// Accepts and counts.
class Counting {
 public:
  Counting() {
    std::string pattern = std::filesystem::temp_directory_path() / "seqd-test-XXXXXX";
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    directory_ = pattern;
    const Result<UnixSocket> made = bind_unix_socket(directory_ + "/s", 0600);
    REQUIRE(made.ok());
    REQUIRE(sockets.add(made->fd, 16) == 0);
    // UBSan looks at a class by a pipe when it meets it first: not while no descriptor is left.
    EventSink& sink = events;
    sink.raise({EventKind::state_warning, "", {}});
    OneShot timer(loop);
    timer.start(kLongestMs, [] {});
    timer.cancel();
  }
  ~Counting() {
    for (const int one : clients_) ::close(one);
    std::filesystem::remove_all(directory_);
  }
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;

  void connect() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = directory_ + "/s";
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    clients_.push_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(clients_.back(), reinterpret_cast<const sockaddr*>(&address),
                      sizeof address) == 0);
  }
  // Turns of the loop, none of which waits for anything.
  void look() {
    for (int turn = 0; turn < 10; ++turn) uv_run(loop.raw(), UV_RUN_NOWAIT);
  }
  bool run_until_accepted(int wanted) {
    const std::int64_t began_ms = loop.now_ms();
    while (accepted < wanted) {
      if (loop.now_ms() - began_ms > kLongestMs) return false;
      uv_run(loop.raw(), UV_RUN_ONCE);
    }
    return true;
  }

  EventLoop loop;
  RecordedEvents events;
  int accepted = 0;
  int asked = 0;
  AcceptingSockets sockets{loop, events, "nobody is accepted", [this](int listening) {
                             ++asked;
                             const int fd = sockets.accept(listening);
                             if (fd < 0) return;
                             ++accepted;
                             ::close(fd);
                           }};

 private:
  std::string directory_;
  std::vector<int> clients_;
};

// No descriptor is left while this lives.
class NoDescriptor {
 public:
  NoDescriptor() {
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before_) == 0);
    const rlimit none{0, before_.rlim_max};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  }
  ~NoDescriptor() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptor(const NoDescriptor&) = delete;
  NoDescriptor& operator=(const NoDescriptor&) = delete;

 private:
  rlimit before_{};
};

TEST_CASE("AcceptingSockets: without a descriptor they rest, and go on by themselves",
          "[accepting_sockets]") {
  Counting here;
  here.connect();
  here.connect();
  // Looked at when there are descriptors again: UBSan needs some for what CHECK makes.
  int asked = 0;
  int accepted = 0;
  auto told = here.events.count(EventKind::limit_reached);
  auto told_later = told;
  std::string text;
  {
    const NoDescriptor none;
    here.look();
    asked = here.asked;
    accepted = here.accepted;
    told = here.events.count(EventKind::limit_reached);
    text = here.events.newest.text;
    // The next try fails as well, and is no news.
    uv_run(here.loop.raw(), UV_RUN_ONCE);
    here.look();
    told_later = here.events.count(EventKind::limit_reached);
  }
  CHECK(asked == 1);  // not in every turn
  CHECK(accepted == 0);
  CHECK(told == 1);
  CHECK(text.find("nobody is accepted: Too many open files") == 0);
  CHECK(told_later == 1);
  REQUIRE_IN_TIME(here.run_until_accepted(2));
}

TEST_CASE("AcceptingSockets: while paused nobody is accepted, also behind a rest",
          "[accepting_sockets]") {
  Counting here;
  here.sockets.set_paused(true);
  here.connect();
  here.look();
  CHECK(here.asked == 0);
  here.sockets.set_paused(false);
  {
    const NoDescriptor none;
    here.look();
  }
  REQUIRE(here.asked == 1);
  here.sockets.set_paused(true);
  here.sockets.set_paused(false);
  here.look();
  CHECK(here.asked == 1);  // it rests
  here.sockets.set_paused(true);
  uv_run(here.loop.raw(), UV_RUN_ONCE);  // the rest is over
  here.look();
  CHECK(here.asked == 1);
  here.sockets.set_paused(false);
  REQUIRE_IN_TIME(here.run_until_accepted(1));
}

}  // namespace
}  // namespace seqd
