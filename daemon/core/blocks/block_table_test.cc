#include "daemon/core/blocks/block_table.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "tests/unit/daily.h"

namespace seqd {
namespace {

constexpr UserId kUser = 1'000;

// The sequence "orders" with blocks, and a client of it.
struct Blocks : Orders {
  explicit Blocks(const std::function<void(SequenceSettings&)>& change = [](SequenceSettings&) {})
      : Orders([&](SequenceSettings& settings) {
          settings.blocks = true;
          settings.lease_min = 100;
          change(settings);
        }) {
    world.log.any_order = true;  // what comes back from blocks lies below what was issued
    fill();
    client = attach(1);
  }
  ClientId attach(std::uint8_t who) {
    return world.table->replays().attach(Token{who}, kUser)->client;
  }
  Caller asking(std::uint32_t request) { return {5, request, client, kUser}; }
  BlockTable& blocks() { return world.table->blocks(); }
  std::optional<Run> grant(std::uint32_t request, std::uint32_t slot, std::int64_t count) {
    world.status = blocks().may_grant(client, kUser);
    if (!world.status.ok()) return std::nullopt;
    blocks().end_slot(client, slot);
    const Result<Run> run = sequence().grant_block(asking(request), slot, count);
    world.status = run.status();
    return run.ok() ? std::optional(*run) : std::nullopt;
  }
  // A block that its client knows of.
  Run out(std::uint32_t request, std::uint32_t slot, std::int64_t count) {
    const std::optional<Run> run = grant(request, slot, count);
    REQUIRE(run);
    world.turn();
    return *run;
  }
  // Every available ID is in a block; the first one, which is in slot 0.
  Run all_out() {
    std::optional<Run> first;
    for (std::uint32_t slot = 0; sequence().available() > 0; ++slot) {
      const Run run = out(slot + 1, slot, sequence().available());
      if (!first) first = run;
      world.settle();
    }
    return *first;
  }
  // The client takes; no ID may be anybody else's.
  void take(const Run& block, std::uint32_t slot, std::uint32_t request, std::int64_t count) {
    if (world.pages.pages.contains(client)) page = world.pages.pages.at(client);
    protocol::BlockSlot& from = page->at(slot);
    const auto had = static_cast<std::int64_t>(from.taken);
    const std::int64_t got = MemoryPages::take(from, request, count);
    for (std::int64_t at = had; at < had + got; ++at) use(block.first + at);
  }
  void use(std::int64_t id) { REQUIRE(used.insert(id).second); }
  // Everything that is available is issued, and is nobody else's.
  void use_the_rest() {
    while (sequence().available() > 0) {
      const auto id = world.next("orders");
      if (id) use(*id);
      world.turn();
      for (const Answer& answer : std::exchange(world.answers.sent, {})) {
        for (const Run& run : answer.runs) use(run.first);
      }
      world.flush();
      if (used.size() > 5'000) break;
    }
  }
  ClientId client = 0;
  std::shared_ptr<MemoryPages::Page> page;  // as the client has mapped it
  std::set<std::int64_t> used;
};

TEST_CASE("ABlockIsTakenFromTheFrontAndReportedAfterItsRecord") {
  Blocks f;
  const std::int64_t next = *f.sequence().next_id();
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
  const std::int64_t issued = f.sequence().issued();
  f.blocks().end_client(f.client);
  f.world.turn();
  CHECK(f.sequence().out() == 0);
  CHECK(f.sequence().issued() == issued + 4);
  CHECK(f.sequence().next_id() == block.first + 4);
  CHECK(f.world.pages.pages.empty());
  CHECK(f.blocks().empty());
  f.use_the_rest();
}

TEST_CASE("ASlotThatIsUsedAgainEndsItsBlock") {
  Blocks f;
  const std::int64_t issued = f.sequence().issued();
  const Run first = f.out(1, 0, 10);
  f.take(first, 0, 1, 10);
  const Run second = f.out(2, 0, 10);
  CHECK(second.first == first.first + 10);
  f.take(second, 0, 2, 3);
  const Run third = f.out(3, 0, 10);
  CHECK(third.first == second.first + 3);
  f.take(third, 0, 3, 2);
  CHECK(f.sequence().issued() == issued + 13);
  CHECK(f.sequence().out() == 10);
  f.blocks().end_client(f.client);
  f.use_the_rest();
}

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
  CHECK(f.sequence().next_id() == block.first + 6);
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
  CHECK(f.sequence().next_id() == block.first + 5);
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
  CHECK(f.sequence().next_id() == former.first + 7);
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
  CHECK(f.sequence().next_id() == block.first + 10);
  CHECK(f.world.events.count(EventKind::gap_block_lost) == 1);
  f.use_the_rest();
}

TEST_CASE("APageThatSaysWhatCannotBeMakesItsBlockAGap") {
  Blocks f;
  const Run block = f.out(1, 0, 10);
  f.world.pages.slot(f.client, 0).taken = 11;
  f.blocks().end_client(f.client);
  CHECK(f.sequence().totals().gaps == 10);
  CHECK(f.sequence().next_id() == block.first + 10);
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

TEST_CASE("BlocksEndBeforeADrainAPeriodsEndAndAStop") {
  Blocks f;
  const Run block = f.out(1, 0, 10);
  f.take(block, 0, 1, 2);
  const std::int64_t available = f.sequence().available();
  SECTION("a drain") {
    std::optional<DrainReport> report;
    REQUIRE(
        f.world.table->drain(f.sequence().id(), 1'000, [&](const DrainReport& is) { report = is; })
            .ok());
    f.world.settle();
    REQUIRE(report);
    CHECK(f.sequence().totals().gaps == available + 8);
  }
  SECTION("a stop") {
    f.world.table->begin_stop({ErrorCode::STOPPING, "stopping"});
    f.world.turn();
    CHECK(f.sequence().available() == available + 8);
    CHECK(f.sequence().next_id() == block.first + 2);
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
    const DrainReport report = f.sequence().give_up("its database is not configured any more");
    REQUIRE_FALSE(report.gaps.empty());
    CHECK(report.gaps.front().begin == block.first + 2);
    CHECK(f.sequence().totals().gaps == available + 8);
  }
  SECTION("a sequence that is stopped") {
    f.sequence().refuse({ErrorCode::SEQ_REGRESSED, "set back"});
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
  REQUIRE(f.world.table->drain(f.sequence().id(), 1'000, [](const DrainReport&) {}).ok());
  f.world.settle();
  CHECK(f.sequence().available() == 0);
  CHECK(f.sequence().totals().gaps == 0);
  CHECK(f.sequence().high_water() == block.first + 4);
}

// Nothing of it is available, and after a start nobody has asked for any.
TEST_CASE("ABlockThatHasTheRestOfAPeriodEndsWithIt") {
  Daily here([](SequenceSettings& settings) {
    settings.blocks = true;
    settings.max_available = 10;
  });
  here.world.log.any_order = true;
  REQUIRE(here.one() == 1);
  const ClientId client = here.world.table->replays().attach(Token{1}, kUser)->client;
  REQUIRE(here.world.table->blocks().may_grant(client, kUser).ok());
  REQUIRE(here.of(kFirst)->grant_block({5, 1, client, kUser}, 0, 9).ok());
  here.world.turn();
  here.world.restart();
  here.world.settle();
  REQUIRE(here.world.table->replays().attach(Token{1}, kUser)->client == client);
  here.world.table->blocks().client_back(client, 9);
  here.wait(kHourMs);
  CHECK(here.of(kFirst)->out() == 9);
  CHECK(here.of(kFirst)->available() == 0);
  CHECK(MemoryPages::take(here.world.pages.slot(client, 0), 1, 4) == 4);
  here.wait(kHourMs);
  CHECK(here.world.pages.slot(client, 0).limit == 0);
  CHECK(here.of(kFirst)->out() == 0);
  CHECK(here.of(kFirst)->issued() == 5);
  CHECK(here.of(kFirst)->totals().gaps == 5);
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
  CHECK(stopped.stopped().code() == ErrorCode::NO_SEQUENCE);
  CHECK(stopped.out() == 0);
  CHECK(stopped.totals().issued == before.issued + 4);
  CHECK(stopped.totals().gaps == before.gaps);
  CHECK(f.world.pages.slot(f.client, 0).limit == 0);
  f.world.settle();
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

TEST_CASE("BlocksOutsideTheBoundsEndAndLeave") {
  Blocks f;
  const Run low = f.out(1, 0, 10);
  const Run high = f.out(2, 1, 10);
  f.take(low, 0, 1, 2);
  f.world.settings.by_name.at("orders").max_value = high.first + 4;
  f.world.table->apply_settings(f.world.limits);
  CHECK(f.sequence().out() == 10);
  CHECK(f.sequence().next_id() == high.first);
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
    switch (f.world.random.next() % 4) {
      case 0:
        static_cast<void>(f.world.next("orders"));
        break;
      case 1:
        f.blocks().end_slot(f.client, slot);
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
  for (std::uint32_t at = 1; at <= 3; ++at) REQUIRE(f.grant(at, at, 1));
  CHECK_FALSE(f.grant(4, 4, 1));
  CHECK(f.world.status.code() == ErrorCode::BUSY);
  CHECK(f.blocks().may_grant(f.attach(2), kUser + 1).ok());
  f.world.turn();
}

TEST_CASE("PagesAreBoundedAndOneUserGetsAShare") {
  Blocks f;
  constexpr std::int64_t kShare = BlockPages::kMost / 4 * 3;
  for (ClientId client = 1'001; client <= 1'000 + kShare; ++client)
    REQUIRE(f.blocks().open_page(client, kUser).ok());
  CHECK(f.blocks().open_page(5'000, kUser).status().code() == ErrorCode::BUSY);
  CHECK(f.blocks().open_page(1'001, kUser).ok());
  CHECK(f.blocks().open_page(5'000, kUser + 1).ok());
  f.blocks().end_client(1'001);
  f.blocks().end_client(5'000);
  CHECK(f.blocks().open_page(5'000, kUser).ok());
}

TEST_CASE("BlocksOfOneTurnLeaveRoomForTheSnapshot") {
  Blocks f;
  const SequenceAccounts& accounts = f.world.table->accounts();
  f.world.limits.state_bytes = accounts.state_bytes() + 5 * StateBounds::kRangeBytes;
  f.world.table->apply_settings(f.world.limits);
  std::uint32_t granted = 0;
  while (granted < 10 && f.grant(granted + 1, granted, 1)) ++granted;
  CHECK(granted == 3);
  CHECK(f.world.status.code() == ErrorCode::UNAVAILABLE);
  f.world.turn();
  CHECK(accounts.state_bytes() <= f.world.limits.state_bytes);
}

TEST_CASE("WithoutPagesThereAreNoBlocks") {
  Blocks f;
  f.world.pages.failing = Status(ErrorCode::UNAVAILABLE, "no memory");
  CHECK_FALSE(f.grant(1, 0, 10));
  CHECK(f.world.status.code() == ErrorCode::UNAVAILABLE);
  CHECK(f.sequence().out() == 0);
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
  const std::int64_t issued = f.sequence().issued();
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
  CHECK(f.sequence().issued() == issued + 4);
  CHECK(f.sequence().available() == available + 6);
  CHECK(f.sequence().totals().gaps == 0);
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
