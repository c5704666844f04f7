// Blocks without a page of a client that has lost its connection: how long they stay out for it,
// and what becomes of them when it stays away or another process comes with its identity.
#include "tests/unit/unpaged.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("AClientThatComesBackInTimeKeepsItsBlockWithoutAPage", "[blocks]") {
  enum class End { connection, kill, stop };
  const End how = GENERATE(End::connection, End::kill, End::stop);
  Unpaged f;
  const Run run = f.granted(1, 10);
  f.use(run, 0, 3);
  if (how == End::connection) {
    f.world.hang_up(*f.line);
  } else if (how == End::kill) {
    f.restart();
  } else {
    f.stop_and_start();
  }
  CHECK(f.orders().out() == 10);
  f.use(run, 3, 5);
  f.world.core.advance(BlockTable::kReturnMs - 1);
  f.line = &f.hello(1);
  f.world.core.advance(2 * BlockTable::kReturnMs);
  CHECK(f.orders().out() == 10);
  f.use(run, 5, 8);
  CHECK(f.end(1, 8).id() == 2);
  CHECK(f.orders().next_id() == run.first + 8);
  CHECK(f.gaps() == 0);
  f.use_the_rest();
}

// It goes on with its block, and what it says of it later has no effect.
TEST_CASE("ABlockWithoutAPageWhoseClientStaysAwayIsAGap", "[blocks]") {
  enum class End { connection, kill, stop };
  const End how = GENERATE(End::connection, End::kill, End::stop);
  Unpaged f;
  const Run run = f.granted(1, 10);
  if (how == End::connection) {
    f.world.hang_up(*f.line);
  } else if (how == End::kill) {
    f.restart();
  } else {
    f.stop_and_start();
  }
  f.world.core.advance(BlockTable::kReturnMs);
  CHECK(f.orders().out() == 0);
  CHECK(f.gaps() == 10);
  CHECK(f.untold() == 1);
  f.line = &f.hello(1);
  CHECK(f.end(1, 2).code == ErrorCode::NO_BLOCK);
  CHECK(f.gaps() == 10);
  f.use(run, 0, 10);
  f.use_the_rest();
}

// Under another number it could not say what it took.
TEST_CASE("AClientIsRememberedAsLongAsItMayComeBackToItsBlocks", "[blocks]") {
  const bool killed = GENERATE(false, true);
  Unpaged f;
  f.world.core.limits.replays.remember_ms = 1'000;
  f.world.core.table->apply_settings(f.world.core.limits);
  const auto expire = [&f] {
    f.world.core.table->replays().expire(f.world.core.time.monotonic_ms());
  };
  f.granted(1, 10);
  f.world.hang_up(*f.line);
  if (killed) f.restart();
  f.world.core.advance(4'000);
  expire();
  SECTION("it comes back") {
    f.line = &f.hello(1);
    CHECK(f.end(1, 4).id() == 6);
    CHECK(f.gaps() == 0);
  }
  SECTION("it does not") {
    f.world.core.advance(BlockTable::kReturnMs);
    CHECK(f.gaps() == 10);
    expire();
    f.world.core.advance(1'000);
    expire();
    CHECK(f.world.core.table->replays().size() == 0);
  }
}

// Of a daemon that stood still the timers come first, then what waits in the sockets.
TEST_CASE("NoBlockEndsBecauseTheDaemonStoodStill", "[blocks]") {
  Unpaged f;
  f.granted(1, 10);
  f.world.hang_up(*f.line);
  f.world.core.advance(BlockTable::kReturnMs - 1'000);
  f.world.core.time.stand_still(2'001);
  f.world.core.advance(999);
  CHECK(f.orders().out() == 10);
  SECTION("its client was back in time") {
    f.line = &f.hello(1);
    f.world.core.advance(BlockTable::kReturnMs);
    CHECK(f.end(1, 4).id() == 6);
    CHECK(f.gaps() == 0);
  }
  SECTION("it was not") {
    f.world.core.advance(1);
    CHECK(f.gaps() == 10);
  }
  SECTION("it stands still again: once more was enough") {
    f.world.core.time.stand_still(60'000);
    f.world.core.advance(0);
    CHECK(f.gaps() == 10);
  }
}

TEST_CASE("ATimerThatIsALittleLateEndsBlocks", "[blocks]") {
  Unpaged f;
  f.granted(1, 10);
  f.world.hang_up(*f.line);
  f.world.core.advance(BlockTable::kReturnMs - 1'000);
  f.world.core.time.stand_still(2'000);
  f.world.core.advance(0);
  CHECK(f.gaps() == 10);
}

// It keeps nothing, and so needs no room of those who are gone.
TEST_CASE("ABlockWithoutAPageForgetsNobody", "[blocks]") {
  Unpaged f;
  f.world.core.limits.replays.issues = 2;
  f.world.core.table->apply_settings(f.world.core.limits);
  Line& other = f.hello(2);
  REQUIRE(f.world.ask(other, next_request(1, "orders")).code == ErrorCode::OK);
  f.world.hang_up(other);
  REQUIRE(f.world.core.table->replays().entries() == 1);
  CHECK(f.block(1, 10).code == ErrorCode::OK);
  CHECK(f.world.core.table->replays().entries() == 1);
}

TEST_CASE("EachClientHasItsOwnTimeToComeBack", "[blocks]") {
  Unpaged f;
  Line& other = f.hello(2);
  f.granted(1, 10);
  REQUIRE(f.world.ask(other, call(1, "block", "orders", {}, 5)).code == ErrorCode::OK);
  f.world.hang_up(*f.line);
  f.world.core.advance(BlockTable::kReturnMs / 2);
  f.world.hang_up(other);
  f.world.core.advance(BlockTable::kReturnMs / 2);
  CHECK(f.orders().out() == 5);
  f.world.core.advance(BlockTable::kReturnMs / 2);
  CHECK(f.orders().out() == 0);
  CHECK(f.untold() == 2);
}

TEST_CASE("AnotherProcessWithTheIdentityEndsABlockWithoutAPage", "[blocks]") {
  struct Other {
    UserId user;
    std::int32_t pid;
    bool left;
    bool ends;
  };
  const Other other = GENERATE(Other{1'000, 1, false, false}, Other{1'000, 2, false, true},
                               Other{kStranger, 1, false, true}, Other{1'000, 1, true, false},
                               Other{1'000, 0, true, false}, Other{1'000, 2, true, true},
                               Other{kStranger, 1, true, true});
  Unpaged f;
  f.granted(1, 10);
  if (other.left) f.world.hang_up(*f.line);
  f.line = &f.hello(1, other.user, other.pid);
  CHECK(f.orders().out() == (other.ends ? 0 : 10));
  CHECK(f.untold() == (other.ends ? 1 : 0));
  CHECK(f.end(1, 2).code == (other.ends ? ErrorCode::NO_BLOCK : ErrorCode::OK));
}

// After a kill only the user is known.
TEST_CASE("AnotherUserWithTheIdentityEndsABlockOfAnEarlierProcess", "[blocks]") {
  Unpaged f;
  f.granted(1, 10);
  f.restart();
  f.line = &f.hello(1, kStranger);
  CHECK(f.orders().out() == 0);
  CHECK(f.end(1, 2).code == ErrorCode::NO_BLOCK);
}

}  // namespace
}  // namespace seqd
