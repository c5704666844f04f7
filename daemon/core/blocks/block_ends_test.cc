// What ends blocks, and what happens to the IDs in them that were not taken.
#include "daemon/core/blocks/block_table.h"

#include <cstdint>
#include <optional>

#include "tests/unit/blocks.h"
#include "tests/unit/daily.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("BlocksEndBeforeADrainAPeriodsEndAndAStop") {
  Blocks f;
  const Run block = f.out(1, 0, 10);
  f.take(block, 0, 1, 2);
  const std::int64_t available = f.sequence().available();
  SECTION("a drain") {
    std::optional<DrainReport> report;
    REQUIRE(f.world.table->orders()
                .drain(f.sequence().id(), 1'000, [&](const DrainReport& is) { report = is; })
                .ok());
    f.world.settle();
    REQUIRE(report);
    CHECK(f.sequence().totals().gaps == available + 8);
  }
  SECTION("a stop") {
    f.world.table->begin_stop({ErrorCode::STOPPING, "stopping"});
    f.world.turn();
    CHECK(f.sequence().available() == available + 8);
    CHECK(f.sequence().held().next_id() == block.first + 2);
    CHECK_FALSE(f.grant(2, 1, 10));
  }
  SECTION("a change of the configuration") {
    f.world.settings.by_name.at("orders").blocks = false;
    f.world.table->apply_settings(f.world.limits);
    CHECK(f.sequence().available() == available + 8);
  }
  SECTION("the end of its period") {
    f.sequence().end_period();
    f.world.settle();
    CHECK(f.sequence().totals().gaps == available + 8);
  }
  SECTION("what is open is given up") {
    const DrainReport report =
        f.sequence().give_up("its database is not configured any more", GapCause::drained);
    REQUIRE_FALSE(report.gaps.empty());
    CHECK(report.gaps.front().begin == block.first + 2);
    CHECK(f.sequence().totals().gaps == available + 8);
  }
  SECTION("a sequence that is stopped") {
    f.sequence().set_stopped({StopCause::regressed, {ErrorCode::SEQ_REGRESSED, "set back"}});
    CHECK(f.sequence().available() == available + 8);
  }
  f.take(block, 0, 1, 1);
  CHECK(f.used.size() == 2);
  CHECK(f.sequence().out() == 0);
  f.world.turn();
}

// By a return of what is left of it: not below what its client took.
TEST_CASE("TheCounterIsLoweredToWhatWasTakenOfABlock") {
  Blocks f([](SequenceSettings& settings) { settings.reuse = Reuse::tail; });
  const Run block = f.out(1, 0, 10);
  f.take(block, 0, 1, 4);
  REQUIRE(f.world.table->orders().drain(f.sequence().id(), 1'000, [](const DrainReport&) {}).ok());
  f.world.settle();
  CHECK(f.sequence().available() == 0);
  CHECK(f.sequence().totals().gaps == 0);
  CHECK(f.sequence().definition().high_water() == block.first + 4);
}

// The sequence has no available ID, and after a start no request for one.
TEST_CASE("ABlockThatHasTheRestOfAPeriodEndsWithIt") {
  Daily here([](SequenceSettings& settings) {
    settings.blocks = true;
    settings.max_available = 10;
  });
  here.world.log.any_order = true;
  REQUIRE(here.one() == 1);
  const ClientId client = here.world.table->replays().attach(Token{1}, Blocks::kUser)->client;
  REQUIRE(here.world.table->blocks().prepare_grant(client, Blocks::kUser).ok());
  REQUIRE(here.of(kFirst)->grant_block({5, 1, client, Blocks::kUser}, 0, 9).ok());
  here.world.turn();
  here.world.restart();
  here.world.settle();
  REQUIRE(here.world.table->replays().attach(Token{1}, Blocks::kUser)->client == client);
  here.world.table->blocks().client_back(client, 9);
  here.wait(kHourMs);
  CHECK(here.of(kFirst)->out() == 9);
  CHECK(here.of(kFirst)->available() == 0);
  CHECK(MemoryPages::take(here.world.pages.slot(client, 0), 1, 4) == 4);
  here.wait(kHourMs);
  CHECK(here.world.pages.slot(client, 0).limit == 0);
  CHECK(here.of(kFirst)->out() == 0);
  CHECK(here.of(kFirst)->totals().issued == 5);
  CHECK(here.of(kFirst)->totals().gaps == 5);
}

TEST_CASE("BlocksOutsideTheBoundsEndAndLeave") {
  Blocks f;
  const Run low = f.out(1, 0, 10);
  const Run high = f.out(2, 1, 10);
  f.take(low, 0, 1, 2);
  f.world.settings.by_name.at("orders").max_value = high.first + 4;
  f.world.table->apply_settings(f.world.limits);
  CHECK(f.sequence().out() == 10);
  CHECK(f.sequence().held().next_id() == high.first);
  CHECK(f.sequence().available() == 5);
  f.world.turn();
  f.blocks().end_client(f.client);
  f.use_the_rest();
  CHECK(*f.used.rbegin() == high.first + 4);
}

// next is not answered either while what has to leave waits for the log.
TEST_CASE("BlocksOutsideTheBoundsEndThoughTheLogIsFull") {
  Blocks f;
  const Run block = f.out(1, 0, 10);
  f.take(block, 0, 1, 2);
  f.world.log.accepts = false;
  f.world.settings.by_name.at("orders").max_value = block.first + 4;
  f.world.table->apply_settings(f.world.limits);
  f.world.turn();
  CHECK(f.sequence().out() == 0);
  CHECK(f.world.pages.slot(f.client, 0).limit == 0);
  f.world.log.accepts = true;
  f.world.settle();
  f.use_the_rest();
  CHECK(*f.used.rbegin() == block.first + 4);
}

TEST_CASE("BlocksEndWhereFewerMayBeOut") {
  Blocks f;
  f.out(1, 0, 30);
  f.world.settings.by_name.at("orders").max_unsynced = 20;
  SECTION("now") {
    f.world.table->apply_settings(f.world.limits);
  }
  SECTION("after a start") {
    f.world.restart();
  }
  f.world.settle();
  CHECK(f.sequence().out() == 0);
  CHECK(f.world.pages.slot(f.client, 0).limit == 0);
}

TEST_CASE("BlocksEndIfTheyLeaveNoRoomForWaitingRequests") {
  Blocks f([](SequenceSettings& settings) { settings.max_available = 120; });
  const Run block = f.all_out();
  f.take(block, 0, 1, 3);
  CHECK_FALSE(f.world.range("orders", 100));
  f.world.settle();
  REQUIRE(f.sent().size() == 1);
  CHECK(f.sent().front().runs.front().first == block.first + 3);
  CHECK(f.sequence().out() == 0);
  f.take(block, 0, 1, 1);
  CHECK(f.used.size() == 3);
}

TEST_CASE("BlocksEndIfTheCounterHasNoMoreForWaitingRequests") {
  Blocks f([](SequenceSettings& settings) { settings.max_value = 100; });
  const Run block = f.all_out();
  f.take(block, 0, 1, 3);
  CHECK_FALSE(f.world.next("orders"));
  f.world.settle();
  REQUIRE(f.sent().size() == 1);
  REQUIRE(f.sent().front().runs.size() == 1);
  CHECK(f.sent().front().runs.front().first == block.first + 3);
}

TEST_CASE("TheEndOfABlockVisitsNoOtherBlocks") {
  Blocks f;
  for (std::uint32_t slot = 0; slot < 10; ++slot) f.out(slot + 1, slot, 2);
  const std::int64_t visits = f.blocks().visits();
  f.blocks().end_slot(f.client, 0);
  CHECK(f.blocks().visits() == visits);
  CHECK(f.blocks().size() == 9);
  f.world.turn();
}

}  // namespace
}  // namespace seqd
