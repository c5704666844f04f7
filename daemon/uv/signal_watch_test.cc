#include "daemon/uv/signal_watch.h"

#include <unistd.h>

#include <csignal>
#include <memory>

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("SignalIsToldOnTheLoopUntilItsWatchEnds", "[signal_watch]") {
  EventLoop loop;
  int hung_up = 0;
  int others = 0;
  auto first = std::make_unique<SignalWatch>(loop, SIGHUP, [&hung_up] { ++hung_up; });
  const SignalWatch second(loop, SIGHUP, [&] {
    ++others;
    loop.stop();
  });
  const SignalWatch other(loop, SIGUSR1, [] { FAIL("this one was not sent"); });
  REQUIRE(kill(getpid(), SIGHUP) == 0);
  REQUIRE(hung_up == 0);
  loop.run();
  REQUIRE(hung_up == 1);
  REQUIRE(others == 1);
  first.reset();
  REQUIRE(kill(getpid(), SIGHUP) == 0);
  loop.run();
  REQUIRE(hung_up == 1);
  REQUIRE(others == 2);
}

}  // namespace
}  // namespace seqd
