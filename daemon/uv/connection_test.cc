#include "daemon/uv/connection.h"

#include <string>
#include <vector>

#include "tests/adapters/loop_daemon.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using testing::LoopDaemon;
using testing::SocketClient;
using Client = std::unique_ptr<SocketClient>;

struct Running {
  explicit Running(const ListenerLimits& limits = {}, const ServerLimits& server_limits = {})
      : daemon(limits, server_limits) {
    REQUIRE(daemon.listener->listen_at(daemon.path(), 0600).ok());
  }
  void until_ended(SocketClient& client) {
    daemon.run_until([&] {
      client.read();
      return client.ended();
    });
  }
  LoopDaemon daemon;
};

std::string pings(std::uint32_t count) {
  std::string bytes;
  for (std::uint32_t at = 0; at < count; ++at) bytes += plain_request(1, "ping");
  return bytes;
}

TEST_CASE("TrickledBytesMakeARequest", "[connection]") {
  Running running;
  const Client client = running.daemon.connect();
  const std::string bytes =
      next_request(1, "orders") + plain_request(2, "ping") + next_request(3, "orders");
  for (const char byte : bytes) {
    REQUIRE(client->send({&byte, 1}) == 1);
    running.daemon.run_turns(2);
  }
  REQUIRE(running.daemon.receive(*client, 3).size() == 3);
}

TEST_CASE("BreachIsAnsweredAndThenTheConnectionCloses", "[connection]") {
  Running running;
  const Client client = running.daemon.connect();
  client->send("\xc1");
  running.until_ended(*client);
  const auto replies = client->replies();
  REQUIRE(replies.size() == 1);
  REQUIRE(replies[0].code == ErrorCode::BAD_REQUEST);
  REQUIRE(running.daemon.server->counts().connections == 0);
}

TEST_CASE("RequestsBeforeAHalfCloseAreAnswered", "[connection]") {
  Running running;
  running.daemon.store_answers = false;
  const Client client = running.daemon.connect();
  client->send(next_request(1, "orders") + next_request(2, "orders"));
  client->end_input();
  running.daemon.run_turns();
  REQUIRE_FALSE(client->ended());
  running.daemon.store_answers = true;
  REQUIRE(running.daemon.receive(*client, 2).size() == 2);
  running.until_ended(*client);
}

TEST_CASE("PutOffRequestsBeforeAHalfCloseAreAnswered", "[connection]") {
  ServerLimits limits;
  limits.methods.pipeline = 2;
  Running running({}, limits);
  const Client client = running.daemon.connect();
  std::string bytes;
  for (std::uint32_t msgid = 1; msgid <= 50; ++msgid) bytes += next_request(msgid, "orders");
  REQUIRE(client->send(bytes) == bytes.size());
  client->end_input();
  REQUIRE(running.daemon.receive(*client, 50).size() == 50);
  running.until_ended(*client);
}

TEST_CASE("PartOfARequestBeforeAHalfCloseEndsTheConnection", "[connection]") {
  Running running;
  const Client client = running.daemon.connect();
  client->send(next_request(1, "orders").substr(0, 5));
  client->end_input();
  running.until_ended(*client);
}

TEST_CASE("ClientThatLeavesTakesItsWaitingRequestsWithIt", "[connection]") {
  Running running;
  running.daemon.store_answers = false;
  Client client = running.daemon.connect();
  client->send(next_request(1, "orders"));
  running.daemon.run_until([&] { return running.daemon.table->budgets().waiting() == 1; });
  client.reset();
  running.daemon.run_until([&] { return running.daemon.listener->connections() == 0; });
  REQUIRE(running.daemon.table->budgets().waiting() == 0);
}

// Nothing is read from such a client, so its end went unnoticed.
TEST_CASE("HalfClosedClientThatLeavesDrawsNoId", "[connection]") {
  Running running;
  running.daemon.store_answers = false;
  Client client = running.daemon.connect();
  client->send(next_request(1, "orders"));
  client->end_input();
  running.daemon.run_until([&] { return running.daemon.table->budgets().waiting() == 1; });
  running.daemon.run_turns(5);
  REQUIRE(running.daemon.listener->connections() == 1);
  client.reset();
  running.daemon.store_answers = true;
  running.daemon.run_until([&] { return running.daemon.listener->connections() == 0; });
  REQUIRE(running.daemon.table->budgets().waiting() == 0);
  const Client next = running.daemon.connect();
  next->send(next_request(1, "orders"));
  REQUIRE(running.daemon.receive(*next, 1).front().id() == 1);
}

TEST_CASE("PausedClientThatLeavesDrawsNoId", "[connection]") {
  ServerLimits limits;
  limits.methods.pipeline = 2;
  Running running({}, limits);
  running.daemon.store_answers = false;
  Client client = running.daemon.connect();
  client->send(next_request(1, "orders") + next_request(2, "orders") + next_request(3, "orders"));
  running.daemon.run_until([&] { return running.daemon.table->budgets().waiting() == 2; });
  client.reset();
  running.daemon.run_until([&] { return running.daemon.listener->connections() == 0; });
  REQUIRE(running.daemon.table->budgets().waiting() == 0);
  running.daemon.store_answers = true;
  const Client next = running.daemon.connect();
  next->send(next_request(1, "orders"));
  REQUIRE(running.daemon.receive(*next, 1).front().id() == 1);
}

TEST_CASE("PartOfARequestTimesOut", "[connection]") {
  ListenerLimits limits;
  limits.times.frame_ms = 1;
  Running running(limits);
  const Client slow = running.daemon.connect();
  const Client idle = running.daemon.connect();
  slow->send(pings(1) + next_request(1, "orders").substr(0, 5));
  idle->send(pings(1));
  running.until_ended(*slow);
  REQUIRE(slow->replies().size() == 1);
  idle->read();
  REQUIRE_FALSE(idle->ended());
  REQUIRE(running.daemon.events.count(EventKind::client_dropped) == 1);
}

TEST_CASE("IdleConnectionTimesOutButNotOneThatWaits", "[connection]") {
  ListenerLimits limits;
  limits.times.idle_ms = 1;
  Running running(limits);
  running.daemon.store_answers = false;
  const Client waits = running.daemon.connect();
  waits->send(next_request(1, "orders", 3'600'000));
  const Client idle = running.daemon.connect();
  idle->send(pings(1));
  running.until_ended(*idle);
  waits->read();
  REQUIRE_FALSE(waits->ended());
}

// Without a limit nothing is due, so nothing would look at the connection again.
TEST_CASE("TimeLimitThatIsSetLaterEndsAConnectionThatIsOpen", "[connection]") {
  Running running;
  const Client idle = running.daemon.connect();
  idle->send(pings(1));
  running.daemon.receive(*idle, 1);
  ListenerLimits limits;
  limits.times.idle_ms = 1;
  running.daemon.listener->set_limits(limits);
  running.until_ended(*idle);
  REQUIRE(running.daemon.events.count(EventKind::client_dropped) == 1);
}

TEST_CASE("ClientThatNeverReadsIsPutOffAndNobodyElse", "[connection]") {
  ServerLimits limits;
  limits.output = 65'536;
  Running running({}, limits);
  const Client deaf = running.daemon.connect();
  const Client other = running.daemon.connect();
  const std::string bytes = pings(1'000);
  // Until the daemon takes no more: its socket is full, and stays so.
  std::size_t sent = 0;
  int refused = 0;
  while (refused < 100) {
    const std::size_t now = deaf->send(std::string_view(bytes).substr(sent % bytes.size()));
    refused = now == 0 ? refused + 1 : 0;
    sent += now;
    running.daemon.run_turns(1);
    // What the sockets, the input and the output of one connection hold, and no more.
    REQUIRE(sent < 2'000'000);
  }
  other->send(next_request(1, "orders"));
  REQUIRE(running.daemon.receive(*other, 1).size() == 1);
  // Once it reads, everything is answered.
  const std::size_t whole = sent / pings(1).size();
  REQUIRE(whole > 10'000);
  std::size_t received = 0;
  running.daemon.run_until([&] {
    received += deaf->replies().size();
    return received >= whole;
  });
  REQUIRE(received == whole);
}

TEST_CASE("CloseWhileAWriteIsInFlightIsClean", "[connection]") {
  Running running;
  const Client deaf = running.daemon.connect();
  const std::string bytes = pings(1'000);
  std::size_t sent = 0;
  for (int refused = 0; refused < 20;) {
    const std::size_t now = deaf->send(std::string_view(bytes).substr(sent % bytes.size()));
    refused = now == 0 ? refused + 1 : 0;
    sent += now;
    running.daemon.run_turns(1);
  }
  const bool by_client = GENERATE(false, true);
  if (by_client) {
    deaf->close();
  } else {
    running.daemon.listener->close_all();
  }
  running.daemon.run_until([&] { return running.daemon.listener->connections() == 0; });
  REQUIRE(running.daemon.server->counts().connections == 0);
}

TEST_CASE("DrainSendsWhatIsThereAndTakesNoMore", "[connection]") {
  Running running;
  const Client answered = running.daemon.connect();
  const Client idle = running.daemon.connect();
  answered->send(next_request(1, "orders"));
  running.daemon.run_until([&] { return running.daemon.table->budgets().waiting() == 1; });
  running.daemon.table->begin_stop({ErrorCode::STOPPING, "bye"});
  running.daemon.listener->drain();
  running.until_ended(*answered);
  running.until_ended(*idle);
  const auto replies = answered->replies();
  REQUIRE(replies.size() == 1);
  REQUIRE(replies[0].code == ErrorCode::STOPPING);
  REQUIRE(running.daemon.listener->connections() == 0);
}

TEST_CASE("NewerConnectionOfAClientClosesTheOlder", "[connection]") {
  Running running;
  const Client old = running.daemon.connect();
  old->send(hello_request(0, 1) + next_request(1, "orders"));
  const std::int64_t id = running.daemon.receive(*old, 2).back().id();
  const Client fresh = running.daemon.connect();
  fresh->send(hello_request(0, 1) + next_request(1, "orders"));
  REQUIRE(running.daemon.receive(*fresh, 2).back().id() == id);
  running.until_ended(*old);
}

TEST_CASE("RequestsWaitWhileTheLogIsFull", "[connection]") {
  Running running;
  const Client client = running.daemon.connect();
  client->send(next_request(1, "orders"));
  running.daemon.receive(*client, 1);
  running.daemon.log.accepts = false;
  client->send(next_request(2, "orders") + next_request(3, "orders"));
  running.daemon.run_turns();
  REQUIRE(client->replies().empty());
  running.daemon.log.accepts = true;
  REQUIRE(running.daemon.receive(*client, 2).size() == 2);
}

TEST_CASE("AnswerToWhatIsUnderWayIsSentBeforeADrainedConnectionCloses", "[connection]") {
  Running running;
  running.daemon.control.listed = UserList{true, {}, {}};
  const Client client = running.daemon.connect();
  client->send(next_request(1, "orders"));
  REQUIRE(running.daemon.receive(*client, 1).size() == 1);
  running.daemon.store_answers = false;
  const char advance[] =
      "\x94\x00\x02\xa7"
      "advance\x91\xa6orders";
  client->send({advance, sizeof(advance) - 1});
  running.daemon.run_turns();
  running.daemon.table->begin_stop({ErrorCode::STOPPING, "seqd is stopping"});
  running.daemon.listener->drain();
  running.daemon.run_turns();
  CHECK(client->replies().empty());
  CHECK_FALSE(client->ended());
  running.daemon.store_answers = true;
  running.until_ended(*client);
  CHECK(client->replies().size() == 1);
}

}  // namespace
}  // namespace seqd
