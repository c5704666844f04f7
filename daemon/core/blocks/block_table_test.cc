#include "daemon/core/blocks/block_table.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tests/unit/blocks.h"

namespace seqd {
namespace {

TEST_CASE("ABlockIsTakenFromTheFrontAndReportedAfterItsRecord") {
  Blocks f;
  const std::int64_t next = *f.sequence().held().next_id();
  const std::int64_t available = f.sequence().available();
  const std::optional<Run> run = f.grant(1, 0, 10);
  REQUIRE(run);
  CHECK(run->first == next);
  CHECK(run->count == 10);
  CHECK(f.sequence().out() == 10);
  CHECK(f.sequence().available() == available - 10);
  CHECK(f.world.pages.slot(f.client, 0).block == 0);  // the record comes first
  f.world.turn();
  CHECK(f.world.pages.slot(f.client, 0).block == 1);
  CHECK(f.world.pages.slot(f.client, 0).limit == 10);
  CHECK(f.blocks().granted_to(f.client, 1)->granted.begin == next);
  CHECK(f.blocks().granted_to(f.client, 2) == nullptr);
  CHECK(f.blocks().with_id(f.sequence().id(), next + 9) != nullptr);
  CHECK(f.blocks().with_id(f.sequence().id(), next + 10) == nullptr);
}

TEST_CASE("WhatWasNotTakenIsIssuedNext") {
  Blocks f;
  const Run block = f.out(1, 0, 10);
  f.take(block, 0, 1, 4);
  const std::int64_t issued = f.sequence().totals().issued;
  f.blocks().end_client(f.client);
  f.world.turn();
  CHECK(f.sequence().out() == 0);
  CHECK(f.sequence().totals().issued == issued + 4);
  CHECK(f.sequence().held().next_id() == block.first + 4);
  CHECK(f.world.pages.pages.empty());
  CHECK(f.blocks().empty());
  f.use_the_rest();
}

TEST_CASE("ASlotThatIsUsedAgainEndsItsBlock") {
  Blocks f;
  const std::int64_t issued = f.sequence().totals().issued;
  const Run first = f.out(1, 0, 10);
  f.take(first, 0, 1, 10);
  const Run second = f.out(2, 0, 10);
  CHECK(second.first == first.first + 10);
  f.take(second, 0, 2, 3);
  const Run third = f.out(3, 0, 10);
  CHECK(third.first == second.first + 3);
  f.take(third, 0, 3, 2);
  CHECK(f.sequence().totals().issued == issued + 13);
  CHECK(f.sequence().out() == 10);
  f.blocks().end_client(f.client);
  f.use_the_rest();
}

TEST_CASE("ABlockWhosePageIsGoneIsAGap") {
  Blocks f;
  const Run block = f.out(1, 0, 10);
  f.take(block, 0, 1, 2);
  f.world.pages.pages.clear();
  const std::int64_t gaps = f.sequence().totals().gaps;
  f.blocks().end_client(f.client);
  f.world.turn();
  CHECK(f.sequence().totals().gaps == gaps + 10);
  CHECK(f.sequence().held().next_id() == block.first + 10);
  CHECK(f.world.events.count(EventKind::gap_block_lost) == 1);
  f.use_the_rest();
}

TEST_CASE("APageThatSaysWhatCannotBeMakesItsBlockAGap") {
  Blocks f;
  const Run block = f.out(1, 0, 10);
  f.world.pages.slot(f.client, 0).taken = 11;
  f.blocks().end_client(f.client);
  CHECK(f.sequence().totals().gaps == 10);
  CHECK(f.sequence().held().next_id() == block.first + 10);
}

TEST_CASE("ABlockThatCannotBeReportedEndsUntaken") {
  Blocks f;
  f.world.pages.cannot_write = true;
  REQUIRE(f.grant(1, 0, 10));
  f.world.turn();
  f.world.advance(1);
  CHECK(f.blocks().empty());
  CHECK(f.sequence().out() == 0);
  f.use_the_rest();
}

TEST_CASE("WhatComesBackOfSeveralBlocksIsIssuedFromTheLowestOn") {
  Blocks f;
  const Run low = f.out(1, 1, 10);
  const Run middle = f.out(2, 0, 10);
  const Run high = f.out(3, 2, 10);
  f.take(low, 1, 1, 4);
  f.take(middle, 0, 2, 5);
  f.take(high, 2, 3, 6);
  f.blocks().end_client(f.client);
  f.world.turn();
  std::vector<std::int64_t> issued;
  for (int at = 0; at < 15; ++at) issued.push_back(f.world.next("orders").value_or(-1));
  CHECK(issued.front() == low.first + 4);
  CHECK(std::is_sorted(issued.begin(), issued.end()));
  f.world.turn();
}

TEST_CASE("WithoutPagesThereAreNoBlocks") {
  Blocks f;
  f.world.pages.failing = Status(ErrorCode::UNAVAILABLE, "no memory");
  CHECK_FALSE(f.grant(1, 0, 10));
  CHECK(f.world.status.code() == ErrorCode::UNAVAILABLE);
  CHECK(f.sequence().out() == 0);
}

// The end of what was in the slot may be the entry that fills the log.
TEST_CASE("ALogThatWaitsForTheMediumRefusesABlock") {
  Blocks f;
  f.out(1, 0, 10);
  f.world.log.accepts = false;
  CHECK_FALSE(f.grant(2, 0, 10));
  CHECK(f.world.status.code() == ErrorCode::UNAVAILABLE);
  f.world.turn();
  f.world.log.accepts = true;
  f.world.settle();
  CHECK(f.grant(3, 0, 10));
  f.world.turn();
}

// One ID after another, from blocks and without them, with kills: none twice, and all are counted.
TEST_CASE("BlocksAndIssuesAndKillsAccountForEveryId") {
  Blocks f;
  std::uint32_t request = 0;
  std::map<std::uint32_t, std::pair<std::uint32_t, Run>> slots;  // of each: request, block
  for (int step = 0; step < 3'000; ++step) {
    const auto slot = static_cast<std::uint32_t>(f.world.random.next() % 4);
    switch (f.world.random.next() % 8) {
      case 0:
      case 1:
        if (const auto run = f.grant(++request, slot, 1 + f.world.random.next() % 20)) {
          slots[slot] = {request, *run};
        } else {
          slots.erase(slot);
        }
        f.world.turn();
        break;
      case 2:
        if (const auto id = f.world.next("orders")) f.use(*id);
        f.world.turn();
        break;
      case 3:
        f.world.settle();
        break;
      case 4:
        if (step % 40 == 0) {
          f.world.restart();
          f.world.settle();
          f.client = f.attach(1);
          f.blocks().client_back(f.client, 5);
        }
        break;
      default:
        if (slots.contains(slot))
          f.take(slots[slot].second, slot, slots[slot].first, f.world.random.next() % 8);
    }
    for (const Answer& answer : std::exchange(f.world.answers.sent, {})) {
      for (const Run& run : answer.runs) {
        for (std::int64_t id = run.first; id < run.first + run.count; ++id) f.use(id);
      }
    }
  }
  f.blocks().end_client(f.client);
  f.world.turn();
  CHECK(f.used.size() > 2'000);
}

}  // namespace
}  // namespace seqd
