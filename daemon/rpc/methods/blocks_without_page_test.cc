// block without a page, and end_block: who says how many IDs were taken, what is refused, repeats,
// limits, and where the daemon ends one.
#include "tests/unit/unpaged.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("ABlockWithoutAPageEndsWhenItsClientSaysHowManyItTook", "[blocks]") {
  const std::int64_t taken = GENERATE(0, 4, 10);
  Unpaged f;
  const Run run = f.granted(1, 10);
  CHECK(run == Run{2, 10, 1});
  CHECK(f.orders().out() == 10);
  CHECK(f.world.core.pages.pages.empty());
  f.use(run, 0, taken);
  CHECK(f.end(1, taken).id() == 10 - taken);
  CHECK(f.orders().out() == 0);
  CHECK(f.orders().issued() == 1 + taken);
  CHECK(f.orders().next_id() == 2 + taken);
  CHECK(f.line->session->ids == static_cast<std::uint64_t>(taken));
  CHECK(f.gaps() == 0);
  f.world.hang_up(*f.line);
  f.use_the_rest();
}

// The reply may be lost, and the request comes again; or its client is in error.
TEST_CASE("WhatIsToldOfABlockCountsOnce", "[blocks]") {
  const bool killed = GENERATE(false, true);
  Unpaged f;
  const Run run = f.granted(1, 10);
  f.use(run, 0, 6);
  CHECK(f.end(1, 6).id() == 4);
  if (killed) {
    f.restart();
    f.line = &f.hello(1);
  }
  for (const std::int64_t taken : {6, 2, 0, 10}) {
    const Reply again = f.end(1, taken);
    CHECK(again.code == ErrorCode::NO_BLOCK);
    CHECK(again.text.find("ended before") != std::string::npos);
  }
  CHECK(f.orders().issued() == 7);
  CHECK(f.orders().next_id() == 8);
  f.use_the_rest();
}

TEST_CASE("WhatCannotBeOfABlockEndsNothing", "[blocks]") {
  Unpaged f;
  f.allow_blocks("other");
  f.fill("other");
  const Run run = f.granted(1, 10);
  REQUIRE(f.ask(call(2, "block", "orders", 0, 10)).code == ErrorCode::OK);  // in a page
  CHECK(f.end(1, 11).code == ErrorCode::BAD_REQUEST);
  CHECK(f.end(1, -1).code == ErrorCode::BAD_REQUEST);
  CHECK(f.end(0, 1).code == ErrorCode::BAD_REQUEST);
  CHECK(f.end(1LL << 32, 1).code == ErrorCode::BAD_REQUEST);
  CHECK(f.end(1, 1, "other").code == ErrorCode::BAD_REQUEST);
  CHECK(f.end(2, 1).code == ErrorCode::BAD_REQUEST);
  CHECK(f.end(3, 1).code == ErrorCode::NO_BLOCK);
  CHECK(f.ask(call(900, "end_block", "orders", {}, 1)).code == ErrorCode::BAD_REQUEST);
  CHECK(f.code(request("end_block", 0, "")) == ErrorCode::BAD_REQUEST);
  Line& other = f.hello(2);
  CHECK(f.world.ask(other, call(900, "end_block", "orders", 1, 1)).code == ErrorCode::NO_BLOCK);
  Line& nobody = f.world.connect();
  CHECK(f.world.ask(nobody, call(1, "end_block", "orders", 1, 1)).code == ErrorCode::BAD_REQUEST);
  CHECK(f.orders().out() == 20);
  f.use(run, 0, 10);
  CHECK(f.end(1, 10).id() == 0);
  f.world.hang_up(*f.line);
  f.use_the_rest();
}

TEST_CASE("ARepeatFindsTheBlockWithoutAPage", "[blocks]") {
  Unpaged f;
  const Run run = f.granted(1, 10);
  CHECK(f.granted(1, 10) == run);
  CHECK(f.ask(call(1, "block", "orders", 0, 10)).code == ErrorCode::BAD_REQUEST);
  f.line = &f.hello(1);
  CHECK(f.granted(1, 10) == run);
  f.restart();
  f.line = &f.hello(1);
  CHECK(f.granted(1, 10) == run);
  CHECK(f.orders().out() == 10);
  // When it is acknowledged and has ended, its number names no other one.
  f.world.send(*f.line, ack_notification(2));
  f.world.turn();
  CHECK(f.end(1, 3).id() == 7);
  CHECK(f.block(1, 10).code == ErrorCode::BAD_REQUEST);
  CHECK(f.orders().out() == 0);
}

TEST_CASE("TheDaemonEndsABlockWithoutAPageAsAGap", "[blocks]") {
  Unpaged f;
  const Run run = f.granted(1, 10);
  SECTION("its user may not take any more") {
    f.world.core.settings.by_name.at("orders").access.deny.compiled.users = {1'000};
    f.world.core.table->apply_settings({});
    f.world.server->apply_settings({});
  }
  SECTION("a drain") {
    f.world.core.sequence("orders").drain(1'000, [](const DrainReport&) {});
  }
  CHECK(f.orders().out() == 0);
  CHECK(f.untold() == 1);
  CHECK(f.end(1, 2).code == ErrorCode::NO_BLOCK);
  f.world.settle();
  f.use(run, 0, 10);
}

TEST_CASE("BlocksWithoutAPageAreBounded", "[blocks]") {
  Unpaged f;
  f.world.core.settings.by_name.at("orders").lease_min = 10'000;
  std::uint32_t msgid = 0;
  while (f.table().size() < BlockTable::kMostWithoutPage) {
    REQUIRE(msgid < 1'000);
    static_cast<void>(f.block(++msgid, 1));
    f.world.settle();
  }
  const Reply reply = f.block(++msgid, 1);
  CHECK(reply.code == ErrorCode::BUSY);
  CHECK(reply.text.find("end_block") != std::string::npos);
  // In its page there is room, and for another client, and where one has ended.
  CHECK(f.ask(call(++msgid, "block", "orders", 63, 1)).code == ErrorCode::OK);
  Line& other = f.hello(2);
  CHECK(f.world.ask(other, call(1, "block", "orders", {}, 1)).code == ErrorCode::OK);
  CHECK(f.end(5, 0).id() == 1);
  CHECK(f.block(++msgid, 1).code == ErrorCode::OK);
  CHECK(f.block(++msgid, 1).code == ErrorCode::BUSY);
}

TEST_CASE("BlocksWithoutAPageCountForTheirUser", "[blocks]") {
  Unpaged f;
  f.world.kill();
  f.world.core.limits.blocks = 4;
  f.world.start();
  f.world.settle();
  f.world.core.sequence("orders").looked(true);  // its floor
  f.world.settle();
  f.line = &f.hello(1);
  for (std::uint32_t at = 1; at <= 3; ++at) CHECK(f.block(at, 1).code == ErrorCode::OK);
  CHECK(f.block(4, 1).code == ErrorCode::BUSY);
  CHECK(f.ask(call(5, "block", "orders", 0, 1)).code == ErrorCode::BUSY);
}

TEST_CASE("ABlockWithoutAPageNeedsASequenceWithBlocksAndWithoutPeriods", "[blocks]") {
  Unpaged f;
  f.world.core.settings.add("plain");
  CHECK(f.block(1, 10, "plain").code == ErrorCode::WRONG_MODE);
  SequenceSettings daily;
  daily.blocks = true;
  daily.periods.period = "day";
  daily.periods.rule = PeriodRule::make("day", nullptr).value();
  f.world.core.settings.by_name["daily"] = daily;
  CHECK(f.block(2, 10, "daily").code == ErrorCode::WRONG_MODE);
}

// Pages are not needed, where this host has no place for them.
TEST_CASE("BlocksWithoutAPageNeedNoPages", "[blocks]") {
  Unpaged f;
  f.world.core.pages.failing = Status(ErrorCode::UNAVAILABLE, "no place for pages");
  CHECK(f.ask(call(1, "block", "orders", 0, 10)).code == ErrorCode::UNAVAILABLE);
  CHECK(f.block(2, 10).code == ErrorCode::OK);
  CHECK(f.end(2, 4).id() == 6);
}

// What comes back would be nothing, so it does not end for one who waits for a few IDs.
TEST_CASE("ABlockWithoutAPageStaysOutWhereOthersWait", "[blocks]") {
  Unpaged f;
  f.granted(1, 10);
  REQUIRE(f.ask(call(2, "block", "orders", 0, 10)).code == ErrorCode::OK);
  const std::int64_t all = 150;
  f.world.core.settings.by_name.at("orders").max_available = all;
  f.world.core.table->apply_settings({});
  f.world.send(f.world.connect(), range_request(1, "orders", all - 15));
  f.world.settle();
  CHECK(f.orders().out() == 10);
  CHECK(f.gaps() == 0);
  f.world.send(f.world.connect(), range_request(1, "orders", all));
  f.world.settle();
  CHECK(f.orders().out() == 0);
  CHECK(f.gaps() == 10);
}

TEST_CASE("AnIdOfABlockWithoutAPageIsExplained", "[blocks]") {
  Unpaged f;
  f.granted(1, 10);
  auto seen = map_of(f.ask(request("explain", "orders", 2, "\x04")));
  CHECK(seen.at("answer") == "block");
  seen = map_of(f.ask(request("audit", "orders")));
  CHECK(seen.at("good") == "true");
  CHECK(seen.at("out") == "10");
  f.world.hang_up(*f.line);
  f.world.core.advance(BlockTable::kReturnMs);
  f.world.settle();
  f.line = &f.world.connect();
  seen = map_of(f.ask(request("audit", "orders")));
  CHECK(seen.at("good") == "true");
  CHECK(seen.at("out") == "0");
  CHECK(seen.at("gaps") == "10");
}

}  // namespace
}  // namespace seqd
