#include "daemon/uv/peer_watch.h"

#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>

namespace seqd {
namespace {

// A loop of its own, that is closed when what it watches for is gone.
struct Loop {
  Loop() { REQUIRE(uv_loop_init(&loop) == 0); }
  ~Loop() {
    uv_run(&loop, UV_RUN_DEFAULT);
    CHECK(uv_loop_close(&loop) == 0);
  }
  uv_loop_t loop{};
};

TEST_CASE("PeerWatch: the end of a peer is told once", "[peer_watch]") {
  Loop loop;
  PeerWatch watch(&loop.loop);
  REQUIRE(watch.works());
  int pair[2] = {-1, -1};
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  int gone = 0;
  REQUIRE(watch.watch(pair[0], [&] { ++gone; }).ok());
  watch.look();
  REQUIRE(gone == 0);
  close(pair[1]);
  watch.look();
  watch.look();
  REQUIRE(gone == 1);
  close(pair[0]);
}

TEST_CASE("PeerWatch: a socket that the system does not watch is an error", "[peer_watch]") {
  Loop loop;
  PeerWatch watch(&loop.loop);
  REQUIRE(watch.works());
  int pair[2] = {-1, -1};
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  int gone = 0;
  REQUIRE(watch.watch(pair[0], [&] { ++gone; }).ok());
  // The system refuses what is watched already, and what is no socket.
  for (const int socket : {pair[0], -1}) {
    const Status status = watch.watch(socket, [&] { gone += 100; });
    INFO(status.to_string());
    REQUIRE_FALSE(status.ok());
    REQUIRE(status.text().find("epoll_ctl") != std::string::npos);
  }
  close(pair[1]);
  watch.look();
  REQUIRE(gone == 1);
  close(pair[0]);
}

}  // namespace
}  // namespace seqd
