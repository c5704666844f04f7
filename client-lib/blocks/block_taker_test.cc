#include "client-lib/blocks/block_taker.h"

#include <catch2/catch.hpp>
#include <limits>
#include <vector>

#include "client-lib/blocks/block_size.h"

namespace seqd::engine {
namespace {

constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();

std::vector<std::int64_t> take_all(BlockTaker& taker) {
  std::vector<std::int64_t> ids;
  std::int64_t id = 0;
  while (taker.take(id)) ids.push_back(id);
  return ids;
}

}  // namespace

TEST_CASE("TakerWithoutABlockTakesNothing", "[blocks]") {
  BlockTaker taker;
  CHECK(take_all(taker).empty());
  CHECK_FALSE(taker.paused());
}

TEST_CASE("TakerGivesTheIdsOfItsBlock", "[blocks]") {
  protocol::BlockSlot slot{9, 3, 0};
  BlockTaker taker;
  SECTION("upward") {
    taker.begin(slot, {10, 5, 3}, 3);
    CHECK(take_all(taker) == std::vector<std::int64_t>{10, 15, 20});
  }
  SECTION("downward") {
    taker.begin(slot, {1, -1, 3}, 3);
    CHECK(take_all(taker) == std::vector<std::int64_t>{1, 0, -1});
  }
  SECTION("up to the end") {
    taker.begin(slot, {kHighest - 2, 1, 3}, 3);
    CHECK(take_all(taker) == std::vector<std::int64_t>{kHighest - 2, kHighest - 1, kHighest});
  }
  CHECK(slot.taken == 3);
  CHECK_FALSE(taker.ended());
}

TEST_CASE("TakerPauses", "[blocks]") {
  protocol::BlockSlot slot{9, 5, 0};
  BlockTaker taker;
  taker.begin(slot, {1, 1, 5}, 2);
  CHECK(take_all(taker) == std::vector<std::int64_t>{1, 2});
  CHECK(taker.paused());
  taker.go_on(4);
  CHECK(take_all(taker) == std::vector<std::int64_t>{3, 4});
  taker.go_on(99);
  CHECK(take_all(taker) == std::vector<std::int64_t>{5});
  CHECK_FALSE(taker.paused());
}

TEST_CASE("TakerPutsBackWhatItMayNotTakeAnyMore", "[blocks]") {
  protocol::BlockSlot slot{9, 5, 0};
  BlockTaker taker;
  taker.begin(slot, {1, 1, 5}, 5);
  std::int64_t id = 0;
  REQUIRE(taker.take(id));
  slot.limit = 0;
  id = 77;
  CHECK_FALSE(taker.take(id));
  CHECK(id == 77);
  CHECK(slot.taken == 1);
  CHECK(taker.ended());
  CHECK_FALSE(taker.paused());
  taker.go_on(5);
  CHECK(take_all(taker).empty());
}

TEST_CASE("BlocksFollowTheRateOfTheirThread", "[blocks]") {
  BlockSize size;
  CHECK(size.ids() == 64);
  size.lasted(99);
  CHECK(size.ids() == 128);
  size.lasted(100);
  size.lasted(10'000);
  CHECK(size.ids() == 128);
  size.lasted(10'001);
  CHECK(size.ids() == 64);
  for (int times = 0; times < 100; ++times) size.lasted(0);
  CHECK(size.ids() == 1'000'000);
  for (int times = 0; times < 100; ++times) size.lasted(kHighest);
  CHECK(size.ids() == 1);
}

TEST_CASE("BlocksAreNoLongerThanTheirBound", "[blocks]") {
  BlockSize size(100);
  CHECK(size.ids() == 64);
  for (int blocks = 0; blocks < 100; ++blocks) {
    size.granted();
    size.lasted(0);
    CHECK(size.ids() == 100);
  }
  size.refused();
  CHECK(size.ids() == 50);
  BlockSize small(10);
  CHECK(small.ids() == 10);
  small.refused();
  small.lasted(0);
  CHECK(small.ids() == 10);
}

TEST_CASE("BlocksLeaveRoomForEachOther", "[blocks]") {
  BlockSize size;
  for (int times = 0; times < 4; ++times) size.lasted(0);
  REQUIRE(size.ids() == 1'024);
  size.refused();
  CHECK(size.ids() == 512);
  for (int blocks = 1; blocks < 32; ++blocks) {
    size.granted();
    size.lasted(0);
    CHECK(size.ids() == 512);
  }
  size.granted();
  size.lasted(0);
  CHECK(size.ids() == 1'024);
  for (int times = 0; times < 100; ++times) size.refused();
  CHECK(size.ids() == 16);
  // A slow thread's blocks are smaller, and stay so.
  for (int times = 0; times < 3; ++times) size.lasted(kHighest);
  size.refused();
  CHECK(size.ids() == 2);
  for (int times = 0; times < 100; ++times) size.lasted(0);
  CHECK(size.ids() == 16);
}

}  // namespace seqd::engine
