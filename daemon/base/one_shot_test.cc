#include "daemon/base/one_shot.h"

#include <optional>

#include "tests/unit/virtual_time.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("OneCallIsDueAtMost", "[one_shot]") {
  VirtualTime time;
  OneShot timer(time);
  int first = 0;
  int second = 0;
  REQUIRE_FALSE(timer.running());
  timer.start(10, [&first] { ++first; });
  REQUIRE(timer.running());
  timer.start(20, [&second] { ++second; });
  time.advance(15);
  REQUIRE(timer.running());
  time.advance(5);
  REQUIRE_FALSE(timer.running());
  time.advance(100);
  REQUIRE((first == 0 && second == 1));
}

TEST_CASE("CallMayStartTheTimerAgain", "[one_shot]") {
  VirtualTime time;
  OneShot timer(time);
  int calls = 0;
  std::function<void()> again = [&] {
    if (++calls < 3) timer.start(-1, again);
  };
  timer.start(0, again);
  for (int turn = 0; turn < 5; ++turn) time.advance(1);
  REQUIRE(calls == 3);
}

TEST_CASE("NothingIsCalledAfterCancelOrTheEnd", "[one_shot]") {
  VirtualTime time;
  std::optional<OneShot> timer(time);
  timer->cancel();
  timer->start(10, [] { FAIL("it was cancelled"); });
  timer->cancel();
  time.advance(20);
  timer->start(10, [] { FAIL("its owner is gone"); });
  timer.reset();
  time.advance(20);
}

}  // namespace
}  // namespace seqd
