// hello, ack and repeated requests: what makes IDs exactly-once for a client.
#include <map>
#include <string>

#include "protocol/acknowledging.h"
#include "tests/unit/rpc_world.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace std::string_literals;
using Runs = std::vector<Run>;

struct Service {
  explicit Service(const TableLimits& limits = {}) {
    world.core.limits = limits;
    world.start();
    world.settle();
  }
  Line& hello(std::uint8_t who) {
    Line& line = world.connect();
    REQUIRE(world.ask(line, hello_request(0, who)).code == ErrorCode::OK);
    return line;
  }
  bool known(const Reply& reply) { return reply.frame.find("known\xc3") != std::string::npos; }
  void restart() {
    world.kill();
    world.start();
    world.settle();
  }
  RpcWorld world;
};

TEST_CASE("HelloNamesTheServerAndItsLimits", "[repeats]") {
  Service service;
  const Reply reply = service.world.ask(service.world.connect(), hello_request(3, 1));
  REQUIRE(reply.msgid == 3);
  REQUIRE_FALSE(service.known(reply));
  for (const char* word : {"seqd", "0.1.0", "protocol", "00112233445566778899aabbccddeeff", "frame",
                           "depth", "name", "count", "pipeline", "unacknowledged"}) {
    REQUIRE(reply.frame.find(word) != std::string::npos);
  }
}

TEST_CASE("HelloWithoutOptionsIsAnonymous", "[repeats]") {
  Service service;
  Line& line = service.world.connect();
  REQUIRE(service.world.ask(line, plain_request(1, "hello")).code == ErrorCode::OK);
  REQUIRE(line.session->client == 0);
  REQUIRE(service.world.ask(line, "\x94\x00\x01\xa5hello\x91\x80"s).code == ErrorCode::OK);
}

TEST_CASE("IdentityAsDigitsIsTheSameAsBytes", "[repeats]") {
  Service service;
  service.hello(0xab);
  Line& line = service.world.connect();
  const Reply reply = service.world.ask(line,
                                        "\x94\x00\x01\xa5hello\x91\x81\xa6"s
                                        "client\xd9\x20"s
                                        "aB" +
                                            std::string(30, '0'));
  REQUIRE(service.known(reply));
}

TEST_CASE("ClientNameIsLimited", "[repeats]") {
  Service service;
  Line& line = service.world.connect();
  const auto named = [](std::size_t size) {
    return "\x94\x00\x01\xa5hello\x91\x81\xa4name\xd9"s + static_cast<char>(size) +
           std::string(size, 'n');
  };
  REQUIRE(service.world.ask(line, named(64)).code == ErrorCode::OK);
  REQUIRE(line.session->client_name == std::string(64, 'n'));
  REQUIRE(service.world.ask(line, named(65)).code == ErrorCode::TOO_LARGE);
}

TEST_CASE("SecondIdentityOnOneConnectionIsRefusedAndLeavesNoTrace", "[repeats]") {
  Service service({.sequences = 10'000,
                   .replays = {.clients = 3, .unacknowledged = 100, .remember_ms = 1'000}});
  Line& one = service.hello(1);
  Line& two = service.hello(2);
  REQUIRE(service.world.ask(two, hello_request(9, 1)).code == ErrorCode::BAD_REQUEST);
  // The first one is still connected: it is neither closed nor forgotten.
  Line& three = service.world.connect();
  REQUIRE(service.world.ask(three, hello_request(9, 3)).code == ErrorCode::BUSY);
  REQUIRE(service.world.ask(one, next_request(1, "orders")).id() == 1);
  REQUIRE(service.world.ask(two, next_request(1, "orders")).id() == 2);
}

TEST_CASE("RepeatGetsTheSameIdsOnTheSameConnection", "[repeats]") {
  Service service;
  Line& line = service.hello(1);
  REQUIRE(service.world.ask(line, next_request(1, "orders")).id() == 1);
  REQUIRE(service.world.ask(line, range_request(2, "orders", 20)).runs() == Runs{{2, 20, 1}});
  REQUIRE(service.world.ask(line, next_request(1, "orders")).id() == 1);
  REQUIRE(service.world.ask(line, range_request(2, "orders", 20)).runs() == Runs{{2, 20, 1}});
  REQUIRE(service.world.ask(line, next_request(3, "orders")).id() == 22);
}

TEST_CASE("RepeatGetsTheSameIdsAfterAKill", "[repeats]") {
  Service service;
  Line& line = service.hello(1);
  REQUIRE(service.world.ask(line, next_request(1, "orders")).id() == 1);
  REQUIRE(service.world.ask(line, range_request(2, "orders", 20)).runs() == Runs{{2, 20, 1}});
  service.restart();
  Line& again = service.world.connect();
  REQUIRE(service.known(service.world.ask(again, hello_request(9, 1))));
  REQUIRE(service.world.ask(again, range_request(2, "orders", 20)).runs() == Runs{{2, 20, 1}});
  REQUIRE(service.world.ask(again, next_request(1, "orders")).id() == 1);
  REQUIRE(service.world.ask(again, next_request(3, "orders")).id() == 22);
}

TEST_CASE("RequestThatWasNotCommittedGetsItsIdAgain", "[repeats]") {
  Service service;
  Line& line = service.hello(1);
  REQUIRE(service.world.ask(line, next_request(1, "orders")).id() == 1);
  service.world.send(line, next_request(2, "orders"));
  service.restart();
  Line& again = service.hello(1);
  REQUIRE(service.world.ask(again, next_request(2, "orders")).id() == 2);
}

TEST_CASE("RepeatThatDiffersIsABadRequest", "[repeats]") {
  Service service;
  service.world.core.settings.add("bills");
  Line& line = service.hello(1);
  service.world.ask(line, next_request(1, "orders"));
  service.world.ask(line, range_request(2, "orders", 3));
  for (const std::string& other :
       {next_request(1, "bills"), range_request(1, "orders", 1), range_request(2, "orders", 2),
        range_request(2, "orders", 4), next_request(2, "orders"), range_request(2, "bills", 3)}) {
    REQUIRE(service.world.ask(line, other).code == ErrorCode::BAD_REQUEST);
  }
  REQUIRE(service.world.ask(line, range_request(2, "orders", 3)).runs() == Runs{{2, 3, 1}});
}

TEST_CASE("AcknowledgedNumbersAreDroppedAndRefused", "[repeats]") {
  Service service;
  Line& line = service.hello(1);
  for (std::uint32_t number = 1; number <= 5; ++number) {
    service.world.ask(line, next_request(number, "orders"));
  }
  REQUIRE(service.world.call(line, ack_notification(4)).empty());
  REQUIRE(service.world.ask(line, next_request(3, "orders")).code == ErrorCode::BAD_REQUEST);
  REQUIRE(service.world.ask(line, next_request(4, "orders")).id() == 4);
  REQUIRE(service.world
              .ask(line,
                   "\x94\x00\x08\xa3"s
                   "ack\x91\x06"s)
              .result()
              .read_nil());
  REQUIRE(service.world.core.table->replays().retained(line.session->client) == 0);
  service.restart();
  Line& again = service.hello(1);
  REQUIRE(service.world.ask(again, next_request(5, "orders")).code == ErrorCode::BAD_REQUEST);
}

TEST_CASE("AcknowledgementInTheTurnOfTheIssueIsRecordedBehindIt", "[repeats]") {
  Service service;
  Line& line = service.hello(1);
  service.world.ask(line, next_request(1, "orders"));
  const auto replies = service.world.call(
      line, next_request(2, "orders") + ack_notification(3) + next_request(3, "orders"));
  REQUIRE(replies.size() == 2);
  REQUIRE(service.world.ask(line, next_request(3, "orders")).id() == 3);
}

TEST_CASE("NumberZeroIsRefusedForClientsWithAnIdentity", "[repeats]") {
  Service service;
  Line& line = service.hello(1);
  REQUIRE(service.world.ask(line, next_request(0, "orders")).code == ErrorCode::BAD_REQUEST);
  REQUIRE(service.world.ask(service.world.connect(), next_request(0, "orders")).id() == 1);
}

// Otherwise one connection could have the loop walk past all that it touched, 8 bytes at a time.
TEST_CASE("AckLooksOnlyAtWhatWasIssuedSince", "[repeats]") {
  Service service;
  SequenceTable& table = *service.world.core.table;
  Line& line = service.world.connect();
  for (const char* name : {"a", "b", "c"}) {
    service.world.core.settings.add(name);
    REQUIRE(service.world.ask(line, next_request(1, name)).id() == 1);
  }
  std::string bytes;
  for (const char* name : {"a", "b", "a", "c"}) bytes += next_request(2, name);
  service.world.send(line, bytes);
  CHECK(table.append_issues() == 3);
  for (int times = 0; times < 10; ++times) CHECK(table.append_issues() == 0);
  service.world.send(line, next_request(3, "b"));
  CHECK(table.append_issues() == 1);
  // Issued at the end of the turn, to those that waited.
  service.world.settle();
  CHECK(table.append_issues() == 0);
}

TEST_CASE("UnacknowledgedNumbersAreLimited", "[repeats]") {
  Service service({.sequences = 10'000,
                   .replays = {.clients = 10, .unacknowledged = 2'000, .remember_ms = 1'000}});
  Line& line = service.hello(1);
  service.world.call(line, ack_notification(1));
  REQUIRE(service.world.ask(line, next_request(2'000, "orders")).id() == 1);
  REQUIRE(service.world.ask(line, next_request(2'001, "orders")).code == ErrorCode::BUSY);
  service.world.call(line, ack_notification(2));
  REQUIRE(service.world.ask(line, next_request(2'001, "orders")).id() == 2);
}

// Six hundred handles that acknowledged every 64 answers kept more than
// a user may have.
TEST_CASE("SixHundredClientsOfOneUserAreNeverBusy", "[repeats]") {
  constexpr std::uint32_t kClients = 600;
  Service service;
  std::vector<Line*> lines;
  for (std::uint32_t who = 0; who < kClients; ++who) {
    std::string hello = hello_request(0, static_cast<std::uint8_t>(who % 250));
    hello[hello.size() - 1] = static_cast<char>(who / 250);
    Line& line = service.world.connect();
    REQUIRE(service.world.ask(line, hello).code == ErrorCode::OK);
    lines.push_back(&line);
  }
  // The IDs of one client are never consecutive, so each is kept by itself.
  for (std::uint32_t number = 1; number <= 60; ++number) {
    for (std::uint32_t who = 0; who < kClients; ++who) {
      // All in step, so that what is kept of them is at its most together.
      const bool acknowledges = number % protocol::kAcknowledgeEvery == 0;
      service.world.send(*lines[who], (acknowledges ? ack_notification(number) : "") +
                                          next_request(number, "orders"));
    }
    service.world.settle();
    for (Line* const line : lines) {
      const auto replies = line->replies();
      INFO(number << ": " << replies.front().text);
      REQUIRE(replies.front().code == ErrorCode::OK);
    }
  }
  REQUIRE(service.world.core.table->replays().entries() <=
          static_cast<std::int64_t>(kClients * protocol::kAcknowledgeEvery));
}

// 330 processes that each took a stock of 100 IDs from two sequences in turn and then had nothing
// to ask for: 33,000 replies, more than a user may have, unless each burst is acknowledged.
TEST_CASE("IdleClientsThatAcknowledgedTheirBurstsLeaveTheRoomToOthers", "[repeats]") {
  Service service;
  service.world.core.settings.add("invoices");
  for (std::uint32_t who = 0; who < 331; ++who) {
    std::string hello = hello_request(0, static_cast<std::uint8_t>(who % 250));
    hello[hello.size() - 1] = static_cast<char>(who / 250);
    Line& line = service.world.connect();
    REQUIRE(service.world.ask(line, hello).code == ErrorCode::OK);
    std::string burst;
    for (std::uint32_t number = 1; number <= 100; ++number)
      burst += next_request(number, number % 2 == 0 ? "orders" : "invoices");
    service.world.send(line, burst);
    service.world.settle();
    const auto replies = line.replies();
    REQUIRE(replies.size() == 100);
    for (const Reply& reply : replies) {
      INFO(who << ": " << reply.text);
      REQUIRE(reply.code == ErrorCode::OK);
    }
    if (who == 0) REQUIRE(service.world.core.table->replays().entries() == 100);
    service.world.call(line, ack_notification(101));
    REQUIRE(service.world.core.table->replays().entries() == 0);
  }
}

TEST_CASE("AnonymousClientsAreNotRemembered", "[repeats]") {
  Service service;
  Line& line = service.world.connect();
  REQUIRE(service.world.ask(line, next_request(1, "orders")).id() == 1);
  REQUIRE(service.world.ask(line, next_request(1, "orders")).id() == 2);
  REQUIRE(service.world
              .ask(line,
                   "\x94\x00\x08\xa3"s
                   "ack\x91\x06"s)
              .code == ErrorCode::BAD_REQUEST);
}

TEST_CASE("NewerConnectionTakesTheIdentityOver", "[repeats]") {
  Service service;
  Line& old = service.hello(1);
  service.world.ask(old, next_request(1, "orders"));
  Line& fresh = service.world.connect();
  REQUIRE(service.known(service.world.ask(fresh, hello_request(0, 1))));
  REQUIRE(old.session == nullptr);
  REQUIRE(service.world.ask(fresh, next_request(1, "orders")).id() == 1);
  REQUIRE(service.world.ask(fresh, next_request(2, "orders")).id() == 2);
}

TEST_CASE("WhatTheOlderConnectionWaitsForIsAskedForAgain", "[repeats]") {
  Service service;
  Line& old = service.hello(1);
  service.world.send(old, next_request(1, "orders") + next_request(2, "orders"));
  Line& fresh = service.world.connect();
  service.world.send(fresh,
                     hello_request(0, 1) + next_request(2, "orders") + next_request(1, "orders"));
  service.world.settle();
  std::map<std::uint32_t, std::int64_t> ids;
  for (const Reply& reply : fresh.replies()) {
    if (reply.msgid > 0) ids[reply.msgid] = reply.id();
  }
  REQUIRE(ids == std::map<std::uint32_t, std::int64_t>{{2, 1}, {1, 2}});
  REQUIRE(old.session == nullptr);
  REQUIRE(old.replies().empty());
}

TEST_CASE("WhatWasIssuedInThisVeryTurnIsFoundByTheNewerConnection", "[repeats]") {
  Service service;
  Line& old = service.hello(1);
  service.world.ask(old, next_request(1, "orders"));
  service.world.send(old, next_request(2, "orders"));
  Line& fresh = service.world.connect();
  service.world.send(fresh, hello_request(0, 1) + next_request(2, "orders"));
  service.world.turn();
  const auto replies = fresh.replies();
  REQUIRE(replies.size() == 2);
  REQUIRE(replies[1].id() == 2);
}

TEST_CASE("ClosingTheOlderConnectionDoesNotDetachTheNewer", "[repeats]") {
  Service service(
      {.sequences = 10'000, .replays = {.clients = 1, .unacknowledged = 100, .remember_ms = 1}});
  Line& old = service.hello(1);
  Line& fresh = service.world.connect();
  service.world.send(fresh, hello_request(0, 1));
  service.world.hang_up(old);
  service.world.settle();
  REQUIRE(fresh.replies().size() == 1);
  service.world.core.time.advance(1'000);
  service.world.core.table->replays().expire(service.world.core.time.monotonic_ms());
  REQUIRE(service.world.ask(fresh, next_request(1, "orders")).code == ErrorCode::OK);
}

TEST_CASE("ClientThatLeavesInTheTurnOfItsIssueIsNotForgottenBeforeItIsRecorded", "[repeats]") {
  Service service({.sequences = 10'000, .replays = {.issues = 1}});
  service.world.core.settings.add("bills");
  service.world.core.settings.add("notes");
  Line& anonymous = service.world.connect();
  service.world.ask(anonymous, next_request(1, "orders"));
  service.world.ask(anonymous, next_request(1, "bills"));
  service.world.ask(anonymous, next_request(1, "notes"));
  Line& leaves = service.hello(1);
  Line& stays = service.hello(2);
  // The other's sequences come first at the end of the turn, and there is room for one issue.
  service.world.send(stays, next_request(1, "bills") + next_request(2, "notes"));
  service.world.send(leaves, next_request(1, "orders"));
  service.world.hang_up(leaves);
  service.world.settle();
  REQUIRE(stays.replies().front().id() == 2);
  REQUIRE(service.world.ask(service.hello(1), next_request(1, "orders")).id() == 2);
}

TEST_CASE("ForgottenClientIsNotKnown", "[repeats]") {
  Service service({.sequences = 10'000,
                   .replays = {.clients = 10, .unacknowledged = 100, .remember_ms = 1'000}});
  service.world.hang_up(service.hello(1));
  service.world.core.time.advance(1'000);
  service.world.core.table->replays().expire(service.world.core.time.monotonic_ms());
  Line& line = service.world.connect();
  REQUIRE_FALSE(service.known(service.world.ask(line, hello_request(0, 1))));
}

TEST_CASE("NumberReusedWithinOneTurnNeverCrashes", "[repeats]") {
  Service service;
  service.world.core.settings.add("bills");
  Line& line = service.hello(1);
  service.world.ask(line, next_request(1, "orders"));
  std::string bytes;
  for (int at = 0; at < 20; ++at) {
    bytes += next_request(2, "orders") + next_request(2, "bills") + range_request(2, "orders", 3);
  }
  REQUIRE(service.world.call(line, bytes).size() == 60);
  REQUIRE(service.world.call(line, bytes).size() == 60);
  service.restart();
  Line& again = service.hello(1);
  REQUIRE(service.world.call(again, bytes).size() == 60);
}

}  // namespace
}  // namespace seqd
