#include "daemon/rpc/server.h"

#include <string>

#include "tests/unit/rpc_world.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace std::string_literals;
using Runs = std::vector<Run>;

struct Service {
  explicit Service(const ServerLimits& limits = {}) {
    world.limits = limits;
    world.start();
    world.settle();
  }
  Line& line() { return world.connect(); }
  RpcWorld world;
};

// --- framing

TEST_CASE("PipelinedRequestsAreAllAnswered", "[server]") {
  Service service;
  Line& line = service.line();
  std::string bytes;
  for (std::uint32_t msgid = 1; msgid <= 50; ++msgid) bytes += next_request(msgid, "orders");
  const auto replies = service.world.call(line, bytes);
  REQUIRE(replies.size() == 50);
  for (std::uint32_t at = 0; at < 50; ++at) {
    REQUIRE(replies[at].msgid == at + 1);
    REQUIRE(replies[at].id() == at + 1);
  }
}

TEST_CASE("RequestsMayArriveInAnyPieces", "[server]") {
  const std::string bytes = next_request(1, "orders") + plain_request(2, "ping") +
                            next_request(3, "orders", 5'000) + range_request(4, "orders", 5) +
                            peek_request(5, "orders") + next_request(6, "orders") +
                            plain_request(7, "ping");
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    CAPTURE(piece);
    Service service;
    Line& line = service.line();
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      service.world.send(line, bytes.substr(at, piece));
    }
    service.world.settle();
    REQUIRE(line.replies().size() == 7);
    REQUIRE(line.session != nullptr);
  }
}

TEST_CASE("BreachIsAnsweredOnceAndEndsTheConnection", "[server]") {
  struct Case {
    std::string bytes;
    std::uint32_t msgid;
    ErrorCode code;
  };
  const Case cases[] = {
      {"\xc1", 0, ErrorCode::BAD_REQUEST},
      {"\x05", 0, ErrorCode::BAD_REQUEST},
      {"\x90", 0, ErrorCode::BAD_REQUEST},
      {"\xa4ping", 0, ErrorCode::BAD_REQUEST},
      {"\x94\x00\x07\x05\x90"s, 7, ErrorCode::BAD_REQUEST},
      {"\x94\x00\x07\xa4ping\x05"s, 7, ErrorCode::BAD_REQUEST},
      {"\x94\x00\xff\xa4ping\x90"s, 0, ErrorCode::BAD_REQUEST},
      {"\x94\x00\xcf\x00\x00\x00\x01\x00\x00\x00\x00\xa4ping\x90"s, 0, ErrorCode::BAD_REQUEST},
      {"\x93\x00\x07\xa4ping"s, 7, ErrorCode::BAD_REQUEST},
      {"\x94\x01\x07\xc0\x05"s, 7, ErrorCode::BAD_REQUEST},
      {"\x94\x03\x07\xa4ping\x90"s, 0, ErrorCode::BAD_REQUEST},
      {"\x94\x00\x07\xa4ping\xdc\xff\xff"s, 7, ErrorCode::TOO_LARGE},
      {"\x94\x00\x07\xa4ping\xc6\xff\xff\xff\xff"s, 7, ErrorCode::TOO_LARGE},
      {"\x94\x00\x07\xa4ping"s + std::string(12, '\x91') + "\x01", 7, ErrorCode::BAD_REQUEST},
  };
  for (const Case& one : cases) {
    CAPTURE(one.bytes);
    Service service;
    Line& line = service.line();
    const auto replies =
        service.world.call(line, plain_request(3, "ping") + one.bytes + plain_request(9, "ping"));
    REQUIRE(replies.size() == 2);
    REQUIRE(replies[0].msgid == 3);
    REQUIRE(replies[1].code == one.code);
    if (one.bytes.size() > 1 && one.bytes[1] != 1) REQUIRE(replies[1].msgid == one.msgid);
    REQUIRE(line.session == nullptr);
    REQUIRE(service.world.server->counts().connections == 0);
  }
}

TEST_CASE("BreachOfOneConnectionLeavesTheOthersAlone", "[server]") {
  Service service;
  Line& bad = service.line();
  Line& good = service.line();
  service.world.send(bad, "\xc1");
  REQUIRE(service.world.ask(good, next_request(1, "orders")).id() == 1);
  REQUIRE(bad.session == nullptr);
  REQUIRE(good.session != nullptr);
}

TEST_CASE("UnknownMethodNamesThoseThereAre", "[server]") {
  Service service;
  const Reply reply = service.world.ask(service.line(), plain_request(1, "nexd"));
  REQUIRE(reply.code == ErrorCode::NO_METHOD);
  for (const char* name :
       {"next", "range", "peek", "list", "status", "ping", "hello", "ack", "reload"}) {
    REQUIRE(reply.text.find(name) != std::string::npos);
    REQUIRE(find_method(name) != nullptr);
  }
}

TEST_CASE("NotificationsIssueAndAnswerNothing", "[server]") {
  Service service;
  Line& line = service.line();
  service.world.ask(line, next_request(1, "orders"));
  const std::size_t before = service.world.core.log.history.size();
  const auto replies =
      service.world.call(line,
                         "\x93\x02\xa4next\x91\xa6orders\x93\x02\xa5range\x92\xa6orders\x05"
                         "\x93\x02\xa5other\x90\x93\x02\xa3"
                         "ack\x91\x05\x93\x02\xa3"
                         "ack\x91\xa1x");
  REQUIRE(replies.empty());
  REQUIRE(service.world.core.log.history.size() == before);
  REQUIRE(service.world.server->counts().notifications_ignored == 3);
  REQUIRE(service.world.ask(line, next_request(2, "orders")).id() == 2);
}

// --- limits

TEST_CASE("FullLogStopsReading", "[server]") {
  Service service;
  Line& line = service.line();
  service.world.ask(line, next_request(1, "orders"));
  service.world.core.log.accepts = false;
  service.world.send(line, next_request(2, "orders"));
  service.world.turn();
  REQUIRE(line.replies().empty());
  REQUIRE(line.session->paused);
  service.world.core.log.accepts = true;
  service.world.turn();
  REQUIRE(line.replies().front().id() == 2);
}

TEST_CASE("NewLimitsHoldForRequestsThatFollow", "[server]") {
  Service service;
  Line& line = service.line();
  ServerLimits limits;
  limits.methods.count = 5;
  service.world.server->apply_settings(limits);
  REQUIRE(service.world.ask(line, range_request(1, "orders", 6)).code == ErrorCode::TOO_LARGE);
  REQUIRE(service.world.ask(line, range_request(2, "orders", 5)).runs() == Runs{{1, 5, 1}});
}

// --- sessions

TEST_CASE("ReplyToASessionThatIsGoneIsDropped", "[server]") {
  Service service;
  Line& line = service.line();
  service.world.send(line, next_request(1, "orders"));
  service.world.hang_up(line);
  REQUIRE(service.world.core.table->budgets().waiting() == 0);
  Line& other = service.line();
  REQUIRE(service.world.ask(other, next_request(1, "orders")).id() == 1);
  service.world.replies->issued({line.session != nullptr ? 1U : 99U, 1, 0}, 1, IssueKind::single,
                                Runs{{5, 1, 1}});
  service.world.replies->failed({99, 1, 0}, {ErrorCode::BUSY, "x"});
  REQUIRE(other.replies().empty());
}

TEST_CASE("SessionsAreCounted", "[server]") {
  Service service;
  Line& one = service.line();
  Line& two = service.line();
  REQUIRE(one.session->id != two.session->id);
  REQUIRE(service.world.server->counts().connections == 2);
  service.world.hang_up(one);
  REQUIRE(service.world.server->counts().connections == 1);
}

TEST_CASE("RepliesLeaveOnlyWithTheCommitOfTheirTurn", "[server]") {
  Service service;
  Line& line = service.line();
  service.world.ask(line, next_request(1, "orders"));
  service.world.send(line, next_request(2, "orders"));
  REQUIRE(line.received.empty());
  REQUIRE(line.attended > 0);
  const auto position = service.world.core.log.position();
  service.world.turn();
  REQUIRE(service.world.core.log.position() == position + 1);
  REQUIRE(line.replies().size() == 1);
}

// --- hostile bytes

std::string random_bytes(SeededRandom& random) {
  static const std::string kPieces[] = {next_request(1, "orders"),
                                        range_request(2, "orders", 3),
                                        peek_request(3, "orders"),
                                        plain_request(4, "list"),
                                        plain_request(5, "status"),
                                        plain_request(6, "ping"),
                                        hello_request(7, 1),
                                        ack_notification(3),
                                        plain_request(8, "reload"),
                                        plain_request(10, "clients"),
                                        next_request(9, "orders", 100),
                                        "\xc1",
                                        std::string("\x94\x00", 2),
                                        std::string(3, '\xff')};
  std::string out;
  for (std::int64_t at = random.below(12); at >= 0; --at) {
    std::string piece = kPieces[random.below(std::size(kPieces))];
    if (random.below(4) == 0) {
      for (std::int64_t change = random.below(3); change >= 0; --change) {
        const auto where =
            static_cast<std::size_t>(random.below(static_cast<std::int64_t>(piece.size())));
        piece[where] = static_cast<char>(random.below(256));
      }
    }
    if (random.below(10) == 0) piece.resize(static_cast<std::size_t>(random.below(9)));
    out += piece;
  }
  return out;
}

TEST_CASE("AnyBytesAreSurvivedAndTheOutputStaysBounded", "[server]") {
  Service service;
  SeededRandom random(4);
  std::uint64_t answered = 0;
  for (int round = 0; round < 3'000; ++round) {
    Line& line = service.line();
    line.takes_replies = random.below(4) != 0;
    for (int at = 0; at < 5 && line.session != nullptr; ++at) {
      service.world.send(line, random_bytes(random));
      if (random.below(2) == 0) service.world.turn();
      if (line.session != nullptr) REQUIRE(line.session->out.size() < 200'000);
    }
    service.world.settle();
    answered += line.replies().size();
    service.world.hang_up(line);
    service.world.lines.clear();
  }
  REQUIRE(answered > 3'000);
  REQUIRE(service.world.server->counts().connections == 0);
  REQUIRE(service.world.core.table->budgets().waiting() == 0);
}

}  // namespace
}  // namespace seqd
