// page and block as clients ask for them: who may, what is wrong, repeats, and what becomes of the
// blocks when a connection ends, comes back, or loses its right.
#include <array>
#include <string>

#include "protocol/values/value_writer.h"
#include "tests/unit/service.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

constexpr UserId kStranger = 1'001;

std::string block_request(std::uint32_t msgid, std::string_view name, std::int64_t slot,
                          std::int64_t count) {
  protocol::Buffer out;
  protocol::append_array(out, 4);
  protocol::append_integer(out, 0);
  protocol::append_integer(out, msgid);
  protocol::append_text(out, "block");
  protocol::append_array(out, 3);
  protocol::append_text(out, name);
  protocol::append_integer(out, slot);
  protocol::append_integer(out, count);
  return std::string(out.data(), out.size());
}

std::vector<std::int64_t> numbers(const Reply& reply) {
  protocol::ValueReader reader = reply.result();
  std::vector<std::int64_t> out(reader.read_array().value_or(0));
  for (std::int64_t& number : out) number = reader.read_integer().value_or(-1);
  CHECK(reader.at_end());
  return out;
}

// A daemon with IDs of "orders" at hand, 1 of which was issued, and a client with an identity.
struct Blocks : Service {
  Blocks() {
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
  Line& hello(std::uint8_t who, UserId user = 1'000) {
    Line& from = world.connect(user);
    REQUIRE(world.ask(from, hello_request(0, who)).code == ErrorCode::OK);
    return from;
  }
  Reply block(std::uint32_t msgid, std::int64_t slot, std::int64_t count) {
    return ask(block_request(msgid, "orders", slot, count));
  }
  protocol::BlockSlot& slot(const Line& of, std::uint32_t number) {
    return world.core.pages.slot(of.session->client, number);
  }
  Sequence& orders() { return world.core.sequence("orders"); }
  BlockTable& table() { return world.core.table->blocks(); }
  void reload() {
    world.core.table->apply_settings({});
    world.server->apply_settings({});
  }
  void restart() {
    world.kill();
    world.start();
    world.settle();
  }
};

TEST_CASE("AClientIsGrantedIdsInASlotOfItsPage", "[blocks]") {
  Blocks f;
  CHECK(numbers(f.ask(plain_request(1, "page"))) == std::vector<std::int64_t>{64, 64, 1, 0});
  f.world.send(*f.line, block_request(2, "orders", 3, 10));
  CHECK(f.slot(*f.line, 3).block == 0);  // its record comes first
  f.world.turn();
  CHECK(f.slot(*f.line, 3).block == 2);
  CHECK(f.slot(*f.line, 3).limit == 10);
  CHECK(numbers(f.line->replies().at(0)) == std::vector<std::int64_t>{2, 1, 10});
  CHECK(f.orders().out() == 10);
  CHECK(f.orders().totals().issued == 1);
}

TEST_CASE("PagesAndBlocksAreForClientsThatSaidWhoTheyAre", "[blocks]") {
  Blocks f;
  Line& nobody = f.world.connect();
  for (const std::string& bytes : {plain_request(1, "page"), block_request(1, "orders", 0, 10)}) {
    const Reply reply = f.world.ask(nobody, bytes);
    CHECK(reply.code == ErrorCode::BAD_REQUEST);
    CHECK(reply.text.find("hello") != std::string::npos);
  }
  CHECK(f.orders().out() == 0);
}

TEST_CASE("AWrongRequestForABlockEndsNothing", "[blocks]") {
  Blocks f;
  REQUIRE(f.block(1, 0, 10).code == ErrorCode::OK);
  for (const std::string& wrong :
       {block_request(2, "orders", -1, 10), block_request(2, "orders", 64, 10),
        block_request(2, "orders", 0, 0), block_request(2, "orders", 0, -1),
        block_request(2, "orders", 0, 1'000'000'001), block_request(0, "orders", 0, 10),
        request("block", 0, ""), request("block", "orders"),
        request("block", "orders", 4, std::string("\x00\x01\x01", 3)),
        request("page", 1, "\xc0")}) {
    CHECK(f.code(wrong) == ErrorCode::BAD_REQUEST);
  }
  CHECK(f.code(block_request(2, "missing", 0, 10)) == ErrorCode::NO_SEQUENCE);
  CHECK(f.orders().out() == 10);
  CHECK(f.slot(*f.line, 0).limit == 10);
}

TEST_CASE("ARepeatFindsTheBlockThatIsOut", "[blocks]") {
  Blocks f;
  f.allow_blocks("other");
  f.fill("other");
  const std::vector<std::int64_t> first = numbers(f.block(1, 0, 10));
  CHECK(numbers(f.block(1, 0, 10)) == first);
  // It is not another request under its number.
  CHECK(f.block(1, 1, 10).code == ErrorCode::BAD_REQUEST);
  CHECK(f.code(block_request(1, "other", 0, 10)) == ErrorCode::BAD_REQUEST);
  CHECK(f.orders().out() == 10);

  // On the connection that comes after this one: the older one takes nothing away with it.
  Line& former = *f.line;
  f.line = &f.hello(1);
  CHECK(former.session == nullptr);
  CHECK(numbers(f.block(1, 0, 10)) == first);
  CHECK(f.orders().out() == 10);
  CHECK(f.slot(*f.line, 0).limit == 10);
}

TEST_CASE("TheBlockOfASlotIsOverBeforeTheNextIsRefused", "[blocks]") {
  Blocks f;
  REQUIRE(f.block(1, 0, 10).code == ErrorCode::OK);
  f.slot(*f.line, 0).taken = 4;
  f.world.core.settings.add("plain");
  const Reply reply = f.ask(block_request(2, "plain", 0, 10));
  CHECK(reply.code == ErrorCode::WRONG_MODE);
  CHECK(reply.text.find("sequence.blocks") != std::string::npos);
  CHECK(f.slot(*f.line, 0).limit == 0);
  CHECK(f.orders().out() == 0);
  CHECK(f.orders().totals().issued == 5);
}

TEST_CASE("WhereNoIdIsAvailableABlockIsNotWaitedFor", "[blocks]") {
  Blocks f;
  f.allow_blocks("other");
  f.world.send(*f.line, block_request(1, "other", 0, 10));
  f.world.turn();
  const std::vector<Reply> replies = f.line->replies();
  REQUIRE(replies.size() == 1);
  CHECK(replies[0].code == ErrorCode::UNAVAILABLE);
  CHECK(replies[0].text.find("next waits for one") != std::string::npos);
  f.world.settle();  // leased meanwhile
  CHECK(f.code(block_request(2, "other", 0, 10)) == ErrorCode::OK);
  f.world.core.pages.failing = Status(ErrorCode::UNAVAILABLE, "no place for pages");
  CHECK(f.code(plain_request(3, "page")) == ErrorCode::UNAVAILABLE);
  CHECK(f.code(block_request(4, "other", 1, 10)) == ErrorCode::UNAVAILABLE);
}

TEST_CASE("ABlockBeyondTheShareOfItsUserIsRefused", "[blocks]") {
  Blocks f;
  f.world.kill();
  f.world.core.limits.blocks = 4;
  f.world.start();
  f.world.settle();
  f.world.core.sequence("orders").looked(true);  // its floor
  f.world.settle();
  f.line = &f.hello(1);
  for (std::uint32_t at = 1; at <= 3; ++at) CHECK(f.block(at, at, 1).code == ErrorCode::OK);
  const Reply reply = f.block(4, 4, 1);
  CHECK(reply.code == ErrorCode::BUSY);
  CHECK(reply.text.find("next or range") != std::string::npos);
  CHECK(f.block(5, 1, 1).code == ErrorCode::OK);  // in the place of another one
  Line& other = f.hello(2, kStranger);
  CHECK(f.world.ask(other, block_request(1, "orders", 0, 1)).code == ErrorCode::OK);
}

TEST_CASE("BlocksEndWithTheConnectionOfTheirClient", "[blocks]") {
  Blocks f;
  Line& other = f.hello(2);
  REQUIRE(f.block(1, 0, 10).code == ErrorCode::OK);
  REQUIRE(f.block(2, 1, 10).code == ErrorCode::OK);
  REQUIRE(f.world.ask(other, block_request(1, "orders", 0, 10)).code == ErrorCode::OK);
  f.slot(*f.line, 1).taken = 3;
  const ClientId client = f.line->session->client;
  f.world.hang_up(*f.line);
  CHECK(f.orders().out() == 10);
  CHECK(f.orders().totals().issued == 4);
  CHECK(f.slot(other, 0).limit == 10);
  // Once that is recorded.
  CHECK(f.world.core.pages.pages.contains(client));
  f.world.turn();
  CHECK_FALSE(f.world.core.pages.pages.contains(client));
}

// The daemon was killed: who says hello goes on with its blocks, the others have some seconds.
TEST_CASE("AHelloKeepsTheBlocksOfAnEarlierProcess", "[blocks]") {
  Blocks f;
  Line& other = f.hello(2);
  REQUIRE(f.block(1, 0, 10).code == ErrorCode::OK);
  REQUIRE(f.world.ask(other, block_request(1, "orders", 0, 10)).code == ErrorCode::OK);
  f.restart();
  CHECK(f.orders().out() == 20);
  f.line = &f.hello(1);
  f.world.core.advance(BlockTable::kReturnMs + 1);
  f.world.settle();
  CHECK(f.orders().out() == 10);
  CHECK(f.slot(*f.line, 0).limit == 10);
  CHECK(f.table().granted_to(f.line->session->client, 1) != nullptr);
}

// Nobody knows what was taken there, so nothing of it is issued again; the client has another page.
TEST_CASE("APageThatIsLostAtARestartIsReplacedWhenItsClientIsBack", "[blocks]") {
  Blocks f;
  const std::vector<std::int64_t> lost = numbers(f.block(1, 0, 10));
  const ClientId client = f.line->session->client;
  const std::int64_t gaps = f.orders().totals().gaps;
  f.world.kill();
  const auto former = f.world.core.pages.pages.extract(client);
  f.world.start();
  f.world.settle();
  CHECK(f.orders().out() == 10);
  f.line = &f.hello(1);
  REQUIRE(f.line->session->client == client);
  CHECK(f.orders().out() == 0);
  CHECK(f.orders().totals().gaps == gaps + 10);
  CHECK(f.world.core.events.count(EventKind::gap_block_lost) == 1);
  CHECK(f.code(plain_request(2, "page")) == ErrorCode::OK);
  const std::vector<std::int64_t> next = numbers(f.block(3, 0, 10));
  CHECK(next.at(0) >= lost.at(0) + 10);
  CHECK(f.slot(*f.line, 0).block == 3);
  // The former one is used up.
  CHECK(former.mapped()->at(0).limit == 10);
}

// The page, as the client has it, still says that the block of this request may be taken from.
TEST_CASE("ABlockOfALostPageIsNotGrantedAgainToItsRequest", "[blocks]") {
  const bool late = GENERATE(false, true);
  Blocks f;
  REQUIRE(f.block(1, 0, 10).code == ErrorCode::OK);
  const ClientId client = f.line->session->client;
  f.world.kill();
  f.world.core.pages.pages.erase(client);
  f.world.start();
  f.world.settle();
  if (late) f.world.core.advance(BlockTable::kReturnMs);
  CHECK(f.orders().out() == (late ? 0 : 10));
  f.line = &f.hello(1);
  CHECK(f.orders().out() == 0);
  CHECK(f.code(plain_request(2, "page")) == ErrorCode::OK);
  CHECK(f.block(1, 0, 10).code == ErrorCode::UNAVAILABLE);
  CHECK(f.orders().out() == 0);
  CHECK(f.block(3, 0, 10).code == ErrorCode::OK);
}

// The protocol forbids that two of them have one identity. If they do, the older may still take.
TEST_CASE("AnotherProcessWithAnIdentityEndsTheBlocksOfTheOlder", "[blocks]") {
  struct Other {
    UserId user;
    std::int32_t pid;
    bool ends;
  };
  const Other other = GENERATE(Other{1'000, 1, false}, Other{1'000, 2, true}, Other{1'000, 0, true},
                               Other{kStranger, 1, true});
  Blocks f;
  REQUIRE(f.block(1, 0, 10).code == ErrorCode::OK);
  const ClientId client = f.line->session->client;
  const auto attached = f.world.core.pages.pages.at(client);
  attached->at(0).taken = 4;
  f.line = &f.world.connect(other.user, {}, other.pid);
  REQUIRE(f.ask(hello_request(0, 1)).code == ErrorCode::OK);
  REQUIRE(f.line->session->client == client);
  CHECK(f.orders().out() == (other.ends ? 0 : 10));
  CHECK(f.orders().totals().issued == (other.ends ? 5 : 1));
  CHECK(attached->at(0).limit == (other.ends ? 0 : 10));
  // Nor does the older see what the newer is granted.
  REQUIRE(f.block(2, 0, 10).code == ErrorCode::OK);
  CHECK((f.world.core.pages.pages.at(client) == attached) == !other.ends);
  CHECK(attached->at(0).block == (other.ends ? 1 : 2));
  CHECK(f.orders().out() == 10);
}

TEST_CASE("OnlyAllowedUsersHaveBlocksOfASequence", "[blocks]") {
  Blocks f;
  Line& other = f.hello(2, kStranger);
  REQUIRE(f.block(1, 0, 10).code == ErrorCode::OK);
  REQUIRE(f.world.ask(other, block_request(1, "orders", 0, 10)).code == ErrorCode::OK);
  f.slot(other, 0).taken = 2;
  f.reload();
  CHECK(f.orders().out() == 20);
  f.world.core.settings.by_name.at("orders").access.deny.compiled.users = {kStranger};
  f.reload();
  CHECK(f.slot(other, 0).limit == 0);
  CHECK(f.slot(*f.line, 0).limit == 10);
  CHECK(f.orders().out() == 10);
  CHECK(f.orders().totals().issued == 3);
  CHECK(f.world.ask(other, block_request(2, "orders", 0, 10)).code == ErrorCode::DENIED);
  CHECK(f.block(2, 1, 10).code == ErrorCode::OK);
}

TEST_CASE("IdsThatAreOutAreShown", "[blocks]") {
  Blocks f;
  REQUIRE(f.block(1, 0, 10).code == ErrorCode::OK);
  const auto out = [&] {
    const Reply list = f.ask(request("list", "orders"));
    protocol::ValueReader reader = list.result();
    REQUIRE(reader.read_array() == 1U);
    const std::string of_all = map_of(f.ask(request("status", 0, ""))).at("out");
    CHECK(read_map(reader).at("out") == of_all);
    return of_all;
  };
  CHECK(out() == "10");
  f.world.hang_up(*f.line);
  f.line = &f.world.connect();
  CHECK(out() == "0");
}

TEST_CASE("WhatAClientTookCountsWhenItsBlockEnds", "[blocks]") {
  Blocks f;
  const auto ids = [&] { return f.line->session->ids; };
  REQUIRE(f.block(1, 0, 10).code == ErrorCode::OK);
  f.slot(*f.line, 0).taken = 4;
  CHECK(ids() == 0);
  REQUIRE(f.block(2, 0, 10).code == ErrorCode::OK);
  CHECK(ids() == 4);
  f.slot(*f.line, 0).taken = 10;
  // Those of an earlier process are of the connection that has them now.
  f.restart();
  f.line = &f.hello(1);
  f.table().end_all();
  CHECK(ids() == 10);
}

TEST_CASE("AnIdOfABlockIsExplainedAndAuditedAsOut", "[blocks]") {
  Blocks f;
  REQUIRE(f.block(1, 0, 10).code == ErrorCode::OK);
  auto seen = map_of(f.ask(request("explain", "orders", 2, "\x04")));
  CHECK(seen.at("answer") == "block");
  CHECK(seen.at("text").find("process 1,") != std::string::npos);
  CHECK(seen.at("issued") == "nil");
  CHECK(seen.at("lease.lease").size() == 32);
  // Another user does not hear whose.
  Line& stranger = f.world.connect(kStranger);
  seen = map_of(f.world.ask(stranger, request("explain", "orders", 2, "\x04")));
  CHECK(seen.at("answer") == "block");
  CHECK(seen.at("text").find("process") == seen.at("text").rfind("process"));
  CHECK(seen.at("text").find("a client") != std::string::npos);

  seen = map_of(f.ask(request("audit", "orders")));
  CHECK(seen.at("good") == "true");
  CHECK(seen.at("out") == "10");
  CHECK(seen.at("issued") == "1");
  CHECK(seen.at("unaccounted") == "0");
  f.world.hang_up(*f.line);
  f.world.settle();
  seen = map_of(f.world.ask(f.world.connect(), request("explain", "orders", 2, "\x04")));
  CHECK(seen.at("answer") == "available");
}

}  // namespace
}  // namespace seqd
