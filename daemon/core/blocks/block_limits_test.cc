// How many blocks, pages and IDs of blocks there may be.
#include "daemon/core/blocks/block_table.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "tests/unit/blocks.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

// A quarter of what is left each time, so that the next one gets some, too.
TEST_CASE("SoManyIdsAreOutAtMostAndOneBlockGetsAShare") {
  Blocks f([](SequenceSettings& settings) { settings.max_unsynced = 20; });
  std::vector<std::int64_t> counts;
  for (std::uint32_t slot = 0; f.sequence().out() < 15; ++slot) {
    counts.push_back(f.out(slot + 1, slot, 10).count);
    f.world.settle();
  }
  CHECK(counts == std::vector<std::int64_t>{4, 3, 2, 2, 1, 1, 1, 1});
  CHECK_FALSE(f.grant(50, 50, 10));
  CHECK(f.world.status.code() == ErrorCode::UNAVAILABLE);
  // The others have theirs of the last quarter.
  CHECK(f.world.next("orders"));
  f.world.settle();
}

// With blocks of some IDs it would send more requests than for single ones.
TEST_CASE("WhereManyBlocksRestABlockIsRefusedRatherThanTiny") {
  Blocks f([](SequenceSettings& settings) {
    settings.max_unsynced = 100'000;
    settings.lease_min = settings.lease_max = settings.max_available = 1'000'000;
  });
  for (int times = 0; times < 10; ++times) {  // reservations as large as they get
    static_cast<void>(f.world.range("orders", 100));
    f.world.settle();
  }
  std::int64_t smallest = 100'000;
  std::uint32_t parked = 0;
  while (parked < 30) {
    const std::optional<Run> run = f.grant(parked + 1, parked, 1'000'000);
    if (!run) break;
    smallest = std::min(smallest, run->count);
    f.world.turn();
    f.world.settle();
    ++parked;
  }
  CHECK(parked < 30);
  CHECK(parked > 20);
  CHECK(smallest >= 16);
  CHECK(f.world.status.code() == ErrorCode::UNAVAILABLE);
  CHECK(f.world.status.text().find("max_unsynced") != std::string::npos);
  CHECK_FALSE(f.grant(100, 50, 1));
  f.blocks().end_slot(f.client, 0);
  f.world.settle();
  CHECK(f.grant(101, 50, 1));
  f.world.turn();
}

// What a power loss costs where the log is resumed: blocks, and what is reserved.
TEST_CASE("BlocksAndReservationsTogetherAreBounded") {
  constexpr std::int64_t kMost = 40;
  Blocks f([](SequenceSettings& settings) { settings.max_unsynced = kMost; });
  const auto at_risk = [&] {
    const SequenceImage& image = f.world.log.image.sequences.at(f.sequence().id());
    std::int64_t ids = StateImage::out(image);
    for (const AvailableRange& range : image.ranges) ids += range.reserved_end - range.begin;
    return ids;
  };
  std::int64_t most = 0;
  std::uint32_t request = 0;
  for (int step = 0; step < 500; ++step) {
    const auto slot = static_cast<std::uint32_t>(f.world.random.next() % 8);
    switch (f.world.random.next() % 8) {
      case 0:
      case 1:
        static_cast<void>(f.world.next("orders"));
        f.world.settle();
        break;
      case 2:
        f.blocks().end_slot(f.client, slot);
        break;
      case 3:
        // It may wait beside the blocks, and hang up before it is served.
        if (f.sequence().waiters().size() == 0)
          static_cast<void>(f.world.range("orders", 1 + f.world.random.next() % kMost, {5}));
        break;
      case 4:
        f.sequence().cancel(5);
        break;
      default:
        static_cast<void>(f.grant(++request, slot, 1 + f.world.random.next() % 20));
    }
    most = std::max(most, at_risk());
    f.world.turn();
    f.world.flush();
    most = std::max(most, at_risk());
    CHECK(f.sequence().out() <= kMost / 4 * 3);
  }
  CHECK(most > kMost / 2);
  CHECK(most <= kMost);
}

// They wait, and more would be at risk if it were reserved beside the blocks.
TEST_CASE("BlocksEndWhereMoreIsWaitedForThanMayBeReservedBesideThem") {
  Blocks f([](SequenceSettings& settings) { settings.max_unsynced = 40; });
  const Run block = f.out(1, 0, 8);
  f.take(block, 0, 1, 3);
  f.world.settle();
  for (int ids = 0; ids < 20; ++ids) REQUIRE(f.world.next("orders"));  // not all 32 are reserved
  SECTION("as many as there is room for") {
    CHECK_FALSE(f.world.range("orders", 32));
    f.world.settle();
    CHECK(f.sequence().out() == 8);
  }
  SECTION("more") {
    CHECK_FALSE(f.world.range("orders", 33));
    f.world.settle();
    CHECK(f.sequence().out() == 0);
    CHECK(f.sent().at(0).runs.at(0).first == block.first + 3);
  }
}

TEST_CASE("NoBlockIsGrantedBeforeWaitingRequests") {
  Blocks f;
  CHECK_FALSE(f.world.range("orders", 150'000));
  CHECK_FALSE(f.grant(1, 0, 10));
  CHECK(f.world.status.code() == ErrorCode::UNAVAILABLE);
  f.world.settle();
}

TEST_CASE("BlocksAreBoundedAndOneUserGetsAShare") {
  Blocks f;
  f.world.kill();
  f.world.limits.blocks = 4;
  f.world.start();
  f.world.settle();
  f.client = f.attach(1);
  static_cast<void>(f.world.next("orders"));  // its floor is looked at
  f.world.settle();
  for (std::uint32_t at = 1; at <= 3; ++at) REQUIRE(f.grant(at, at, 1));
  CHECK_FALSE(f.grant(4, 4, 1));
  CHECK(f.world.status.code() == ErrorCode::BUSY);
  CHECK(f.blocks().prepare_grant(f.attach(2), Blocks::kUser + 1).ok());
  f.world.turn();
}

TEST_CASE("PagesAreBoundedAndOneUserGetsAShare") {
  Blocks f;
  constexpr std::int64_t kShare = BlockPages::kMost / 4 * 3;
  for (ClientId client = 1'001; client <= 1'000 + kShare; ++client)
    REQUIRE(f.blocks().open_page(client, Blocks::kUser).ok());
  CHECK(f.blocks().open_page(5'000, Blocks::kUser).status().code() == ErrorCode::BUSY);
  CHECK(f.blocks().open_page(1'001, Blocks::kUser).ok());
  CHECK(f.blocks().open_page(5'000, Blocks::kUser + 1).ok());
  f.blocks().end_client(1'001);
  f.blocks().end_client(5'000);
  f.world.turn();
  CHECK(f.blocks().open_page(5'000, Blocks::kUser).ok());
}

TEST_CASE("BlocksOfOneTurnLeaveRoomForTheSnapshot") {
  Blocks f;
  const SequenceBudgets& budgets = f.world.table->budgets();
  f.world.limits.state_bytes = budgets.state_bytes() + 5 * StateBounds::kRangeBytes;
  f.world.table->apply_settings(f.world.limits);
  std::uint32_t granted = 0;
  while (granted < 10 && f.grant(granted + 1, granted, 1)) ++granted;
  CHECK(granted == 3);
  CHECK(f.world.status.code() == ErrorCode::UNAVAILABLE);
  f.world.turn();
  CHECK(budgets.state_bytes() <= f.world.limits.state_bytes);
}

}  // namespace
}  // namespace seqd
