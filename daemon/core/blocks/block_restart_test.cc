// Blocks over a kill and a start.
#include "daemon/core/blocks/block_table.h"

#include <cstdint>
#include <memory>
#include <optional>

#include "tests/unit/blocks.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("AKillLeavesBlocksOutAndTheClientContinues") {
  Blocks f;
  const Run block = f.out(1, 3, 10);
  f.take(block, 3, 1, 2);
  f.world.restart();
  f.world.settle();
  CHECK(f.sequence().out() == 10);
  f.take(block, 3, 1, 3);
  const ClientId again = f.attach(1);
  REQUIRE(again == f.client);
  f.blocks().client_back(again, 9);
  f.world.advance(BlockTable::kReturnMs + 1);
  CHECK(f.sequence().out() == 10);
  f.take(block, 3, 1, 1);
  // The repeat of a request that was not answered finds its block.
  CHECK(f.blocks().granted_to(f.client, 1)->granted.begin == block.first);
  f.blocks().end_client(f.client);
  CHECK(f.sequence().held().next_id() == block.first + 6);
  f.use_the_rest();
}

TEST_CASE("BlocksOfAClientThatDoesNotComeBackEnd") {
  Blocks f;
  const Run block = f.out(1, 0, 10);
  f.take(block, 0, 1, 2);
  f.world.restart();
  f.world.settle();
  f.world.advance(BlockTable::kReturnMs - 1);
  f.take(block, 0, 1, 3);
  CHECK(f.sequence().out() == 10);
  f.world.advance(2);
  CHECK(f.sequence().out() == 0);
  CHECK(f.sequence().held().next_id() == block.first + 5);
  f.take(block, 0, 1, 3);  // it has ended
  f.use_the_rest();
}

TEST_CASE("AGrantThatDidNotReachThePageIsUntaken") {
  Blocks f;
  const Run former = f.out(1, 0, 10);
  f.take(former, 0, 1, 7);
  const std::optional<Run> lost = f.grant(2, 0, 10);
  REQUIRE(lost);
  REQUIRE(f.world.log.commit().ok());  // killed between the record and the slot
  f.world.restart();
  f.world.settle();
  CHECK(f.world.pages.slot(f.client, 0).taken == 7);
  CHECK(f.sequence().out() == 10);
  f.world.advance(BlockTable::kReturnMs + 1);
  CHECK(f.sequence().held().next_id() == former.first + 7);
  f.use_the_rest();
}

// Its slots would say that nothing was taken of the blocks, which a kill before this record leaves
// out.
TEST_CASE("APageIsNotMadeAgainBeforeTheEndOfItsBlocksIsRecorded") {
  Blocks f;
  const Run block = f.out(1, 0, 10);
  f.take(block, 0, 1, 4);
  f.blocks().end_client(f.client);
  const Status again = f.blocks().open_page(f.client, Blocks::kUser).status();
  SECTION("the daemon is killed there") {
    f.world.restart();
    f.world.settle();
    f.world.advance(BlockTable::kReturnMs + 1);
    CHECK(f.sequence().held().next_id() == block.first + 4);
    f.use_the_rest();
  }
  SECTION("it is asked for again") {
    CHECK(again.code() == ErrorCode::UNAVAILABLE);
    f.world.turn();
    CHECK(f.blocks().open_page(f.client, Blocks::kUser).ok());
    CHECK(f.sequence().held().next_id() == block.first + 4);
    f.use_the_rest();
  }
}

// What an earlier process knew of them is found before a sequence is restored.
TEST_CASE("BlocksOfASequenceThatIsNotConfiguredAnyMoreEndAtTheStart") {
  Blocks f;
  const Run block = f.out(1, 0, 10);
  f.take(block, 0, 1, 4);
  const SequenceTotals before = f.sequence().totals();
  f.world.kill();
  f.world.settings.by_name.erase("orders");
  f.world.start();
  const Sequence& stopped = f.world.table->at(f.world.table->find("orders"));
  CHECK(stopped.stop_error().code() == ErrorCode::NO_SEQUENCE);
  CHECK(stopped.out() == 0);
  CHECK(stopped.totals().issued == before.issued + 4);
  CHECK(stopped.totals().gaps == before.gaps);
  CHECK(f.world.pages.slot(f.client, 0).limit == 0);
  f.world.settle();
}

TEST_CASE("PagesOfOthersThanThoseWithBlocksGoAtAStart") {
  Blocks f;
  const Run block = f.out(1, 0, 10);
  f.world.pages.pages[77] = std::make_shared<MemoryPages::Page>();
  f.world.restart();
  CHECK_FALSE(f.world.pages.pages.contains(77));
  CHECK(f.world.pages.pages.contains(f.client));
  f.world.settle();
  f.take(block, 0, 1, 10);
}

// Its client may not take any more, and what it took is known.
TEST_CASE("BlocksThatTheConfigurationDoesNotAllowAnyMoreEndAtAStart") {
  Blocks f;
  const Run block = f.out(1, 0, 10);
  f.take(block, 0, 1, 4);
  const std::int64_t issued = f.sequence().totals().issued;
  const std::int64_t available = f.sequence().available();
  f.world.kill();
  SECTION("the sequence has none") {
    f.world.settings.by_name.at("orders").blocks = false;
  }
  SECTION("there is no such sequence") {
    f.world.settings.by_name.erase("orders");
  }
  SECTION("it has another counter") {
    f.world.settings.by_name.at("orders").binding.key = "other";
  }
  f.world.start();
  f.world.turn();
  f.take(block, 0, 1, 1);
  CHECK(f.used.size() == 4);
  CHECK(f.sequence().out() == 0);
  CHECK(f.sequence().totals().issued == issued + 4);
  CHECK(f.sequence().available() == available + 6);
  CHECK(f.sequence().totals().gaps == 0);
}

}  // namespace
}  // namespace seqd
