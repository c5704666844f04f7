// What the requests and replies of a connection, of all connections and of a turn are bounded by.
#include <algorithm>
#include <map>
#include <string>

#include "daemon/rpc/server.h"
#include "tests/unit/rpc_world.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

struct Service {
  explicit Service(const ServerLimits& limits = {}) {
    world.limits = limits;
    world.start();
    world.settle();
  }
  Line& line() { return world.connect(); }
  RpcWorld world;
};

TEST_CASE("RequestsAbovePipelineAreReadOnceThereIsRoom", "[server]") {
  ServerLimits limits;
  limits.methods.pipeline = 4;
  Service service(limits);
  Line& line = service.line();
  std::string bytes;
  for (std::uint32_t msgid = 1; msgid <= 9; ++msgid) bytes += next_request(msgid, "orders");
  service.world.send(line, bytes);
  REQUIRE(line.session->waiting == 4);
  REQUIRE(line.session->paused);
  REQUIRE_FALSE(service.world.server->may_read(*line.session));
  REQUIRE(line.unread.size() == 5 * next_request(1, "orders").size());
  service.world.settle();
  REQUIRE(line.replies().size() == 9);
  REQUIRE(line.session->waiting == 0);
  REQUIRE(line.unread.empty());
}

TEST_CASE("ClientThatDoesNotReadIsHeldAtTheOutputLimit", "[server]") {
  ServerLimits limits;
  limits.output = 65'536;
  Service service(limits);
  Line& line = service.line();
  service.world.ask(line, next_request(1, "orders"));
  line.takes_replies = false;
  for (int round = 0; round < 50; ++round) {
    std::string bytes;
    for (std::uint32_t msgid = 1; msgid <= 500; ++msgid) bytes += plain_request(msgid, "ping");
    service.world.send(line, bytes);
    service.world.turn();
    REQUIRE(line.session->out.size() < 65'536 + 1'000);
  }
  REQUIRE(line.session->paused);
  line.takes_replies = true;
  std::size_t replies = 0;
  for (int round = 0; round < 100; ++round) {
    service.world.turn();
    replies += line.replies().size();
  }
  REQUIRE(replies == 25'000);
}

// What the transport took over and has not written yet is in no buffer of the session.
TEST_CASE("RepliesThatTheTransportIsSendingCountAsUnread", "[server]") {
  ServerLimits limits;
  Service service(limits);
  Line& line = service.line();
  line.session->sending = limits.output;
  service.world.send(line, plain_request(1, "ping"));
  service.world.turn();
  CHECK(line.replies().empty());
  line.session->sending = 0;
  service.world.turn();
  CHECK(line.replies().size() == 1);
}

// Twice `output` for each connection, and 10,240 of those.
TEST_CASE("UnreadRepliesAreBoundedInTotal", "[server]") {
  ServerLimits limits;
  limits.output_total = 4 << 20;
  Service service(limits);
  service.world.ask(service.line(), next_request(1, "orders"));
  std::string bytes;
  for (std::uint32_t msgid = 1; msgid <= 500; ++msgid) bytes += plain_request(msgid, "ping");
  std::vector<Line*> deaf;
  for (int at = 0; at < 50; ++at) {
    deaf.push_back(&service.world.connect(1'000));
    deaf.back()->takes_replies = false;
  }
  for (int round = 0; round < 100; ++round) {
    for (Line* line : deaf) service.world.send(*line, bytes);
    service.world.turn();
  }
  std::size_t waiting = 0;
  for (const Line* line : deaf) waiting += line->session->unsent();
  CHECK(waiting > std::size_t{1} << 20);
  CHECK(waiting < (std::size_t{2} << 20) + 50 * 17'000);
  // Another user is served, at length too; this one is where he takes what he asks for.
  Line& other = service.world.connect(2'000);
  CHECK(service.world.ask(other, plain_request(1, "list")).code == ErrorCode::OK);
  Line& same = service.world.connect(1'000);
  CHECK(service.world.ask(same, next_request(1, "orders")).code == ErrorCode::OK);
  CHECK(service.world.ask(same, plain_request(2, "list")).code == ErrorCode::BUSY);
  for (Line* line : deaf) service.world.hang_up(*line);
  service.world.turn();
  CHECK(service.world.ask(same, plain_request(3, "list")).code == ErrorCode::OK);
}

TEST_CASE("LongRepliesOfOneTurnAreBoundedInAll", "[server][large]") {
  ServerLimits limits;
  limits.output_total = 4 << 20;
  Service service(limits);
  std::uint32_t msgid = 0;
  for (int at = 0; at < 500; ++at) {
    const std::string name = "orders-" + std::to_string(at);
    service.world.core.settings.add(name);
    service.world.ask(service.line(), next_request(++msgid, name));
  }
  std::vector<Line*> deaf;
  for (int at = 0; at < 200; ++at) {
    deaf.push_back(&service.world.connect(1'000));
    deaf.back()->takes_replies = false;
    service.world.send(*deaf.back(), plain_request(1, "list"));
  }
  for (int at = 0; at < 200 / Server::kPagesATurn + 1; ++at) service.world.turn();
  std::size_t waiting = 0;
  std::size_t longest = 0;
  for (const Line* line : deaf) {
    waiting += line->session->unsent();
    longest = std::max(longest, line->session->unsent());
  }
  CHECK(longest > 20'000);
  CHECK(waiting < (std::size_t{2} << 20) + longest + 200 * 1'000);
  service.world.turn();
}

// A page of a list is a walk past a thousand sequences: so many are made in a turn, and whoever
// asks for something else is served at once.
TEST_CASE("ListsInAPipelineOnManyConnectionsDoNotHoldUpTheTurn", "[server]") {
  Service service;
  Line& other = service.line();
  service.world.ask(other, next_request(1, "orders"));
  std::string pipeline;
  for (std::uint32_t msgid = 1; msgid <= 3; ++msgid) pipeline += plain_request(msgid, "list");
  pipeline += plain_request(4, "ping");
  std::vector<Line*> lines;
  for (int at = 0; at < 40; ++at) {
    lines.push_back(&service.world.connect());
    service.world.send(*lines.back(), pipeline);
  }
  std::size_t answers = 0;
  std::map<Line*, std::vector<std::uint32_t>> heard;
  const auto listen = [&] {
    answers = 0;
    for (Line* line : lines) {
      for (const Reply& reply : line->replies()) {
        heard[line].push_back(reply.msgid);
        CHECK(reply.code == ErrorCode::OK);
        ++answers;
      }
    }
  };
  for (int turn = 0; turn < 16; ++turn) {
    CAPTURE(turn);
    service.world.send(other, plain_request(7, "ping"));
    service.world.turn();
    CHECK(other.replies().size() == 1);
    listen();
    CHECK(answers <= 2 * Server::kPagesATurn);
  }
  for (Line* line : lines) CHECK(heard[line] == std::vector<std::uint32_t>{1, 2, 3, 4});
}

TEST_CASE("PagesOfClientsCountAsThoseOfLists", "[server]") {
  Service service;
  std::vector<Line*> lines;
  for (int at = 0; at < 3 * Server::kPagesATurn; ++at) {
    lines.push_back(&service.world.connect());
    service.world.send(*lines.back(), plain_request(1, at % 2 == 0 ? "clients" : "list") +
                                          plain_request(2, "ping"));
  }
  for (int turn = 1; turn <= 3; ++turn) {
    service.world.turn();
    std::size_t answers = 0;
    for (Line* line : lines) answers += line->replies().size();
    CHECK(answers == std::size_t{2} * Server::kPagesATurn);
  }
}

}  // namespace
}  // namespace seqd
