// block without a page, and end_block: who says how many IDs were taken, what is refused, repeats,
// and what becomes of a block whose client does not say it.
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "protocol/values/value_writer.h"
#include "tests/unit/service.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

constexpr UserId kStranger = 1'001;

std::string call(std::uint32_t msgid, std::string_view method, std::string_view name,
                 std::optional<std::int64_t> second, std::int64_t third) {
  protocol::Buffer out;
  protocol::append_array(out, 4);
  protocol::append_integer(out, 0);
  protocol::append_integer(out, msgid);
  protocol::append_text(out, method);
  protocol::append_array(out, 3);
  protocol::append_text(out, name);
  std::string bytes(out.data(), out.size());
  out.clear();
  if (second) {
    protocol::append_integer(out, *second);
    bytes.append(out.data(), out.size());
    out.clear();
  } else {
    bytes += '\xc0';
  }
  protocol::append_integer(out, third);
  return bytes.append(out.data(), out.size());
}

// A daemon with IDs of "orders" at hand, 1 of which was issued, and a client with an identity.
struct Unpaged : Service {
  Unpaged() {
    allow_blocks("orders");
    world.core.log.any_order = true;
    fill("orders");
    line = &hello(1);
  }
  void allow_blocks(const std::string& name) {
    SequenceSettings& settings = world.core.settings.by_name[name];
    settings.blocks = true;
    settings.lease_min = 100;
  }
  void fill(const std::string& name) {
    REQUIRE(world.ask(world.connect(), next_request(1, name)).id() == 1);
  }
  Line& hello(std::uint8_t who, UserId user = 1'000, std::int32_t pid = 1) {
    Line& from = world.connect(user, {}, pid);
    REQUIRE(world.ask(from, hello_request(0, who)).code == ErrorCode::OK);
    return from;
  }
  Reply block(std::uint32_t msgid, std::int64_t count, std::string_view name = "orders") {
    return ask(call(msgid, "block", name, {}, count));
  }
  Run granted(std::uint32_t msgid, std::int64_t count) {
    const Reply reply = block(msgid, count);
    REQUIRE(reply.code == ErrorCode::OK);
    protocol::ValueReader reader = reply.result();
    REQUIRE(reader.read_array() == 3U);
    const std::int64_t first = reader.read_integer().value();
    CHECK(reader.read_integer() == 1);
    const std::int64_t size = reader.read_integer().value();
    CHECK(reader.at_end());
    return {first, size, 1};
  }
  Reply end(std::int64_t block, std::int64_t taken, std::string_view name = "orders") {
    return ask(call(900, "end_block", name, block, taken));
  }
  // The client takes; no ID may be anybody else's.
  void use(const Run& block, std::int64_t from, std::int64_t to) {
    for (std::int64_t at = from; at < to; ++at) REQUIRE(used.insert(block.first + at).second);
  }
  // What is issued next is nobody else's; more than was ever out.
  void use_the_rest() {
    Line& other = world.connect();
    for (std::uint32_t at = 1; at <= 150; ++at)
      REQUIRE(used.insert(world.ask(other, next_request(at, "orders")).id()).second);
  }
  Sequence& orders() { return world.core.sequence("orders"); }
  BlockTable& table() { return world.core.table->blocks(); }
  std::int64_t gaps() { return orders().totals().gaps; }
  std::int64_t untold() { return world.core.events.count(EventKind::gap_block_untold); }
  void restart() {
    world.kill();
    world.start();
    world.settle();
  }
  void stop_and_start() {
    world.core.table->begin_stop({ErrorCode::STOPPING, "stop"});
    for (const auto& each : world.lines) world.hang_up(*each);
    world.settle();
    world.core.table->leave_clean();
    world.settle();
    restart();
  }
  std::set<std::int64_t> used;
};

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
