// How many requests may wait, of all and of a user, and how many IDs one may ask for.
#include <map>
#include <utility>

#include "tests/unit/orders.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using Runs = std::vector<Run>;
using LeaseScript = ScriptedStore::LeaseScript;

TEST_CASE("FullQueueIsBusy", "[sequence]") {
  Orders orders([](SequenceSettings& settings) { settings.max_waiters = 3; });
  const auto ask = [&](SessionId session, UserId user) {
    static_cast<void>(orders.world.next("orders", {session, 1, 0, user}));
    return orders.world.status.code();
  };
  for (UserId user = 1; user <= 3; ++user) REQUIRE(ask(user, user) == ErrorCode::OK);
  REQUIRE(ask(4, 4) == ErrorCode::BUSY);
  orders.world.settle();
  REQUIRE(orders.sent().size() == 3);
}

// Nobody else's request could wait for that sequence.
TEST_CASE("OneUserCannotTakeAllPlacesOfASequence", "[sequence]") {
  Orders orders([](SequenceSettings& settings) { settings.max_waiters = 16; });
  const auto ask = [&](SessionId session, UserId user) {
    static_cast<void>(orders.world.next("orders", {session, 1, 0, user}));
    return orders.world.status.code();
  };
  SessionId session = 0;
  while (ask(++session, 1'000) == ErrorCode::OK) REQUIRE(session < 100);
  CHECK(orders.world.status.text().find("sequence.max_waiters") != std::string::npos);
  CHECK(ask(200, 2'000) == ErrorCode::OK);
  CHECK(ask(300, 3'000) == ErrorCode::OK);
  CHECK(ask(201, 1'000) == ErrorCode::BUSY);
  orders.world.settle();
  // They have left: their places are there again.
  CHECK(orders.sent().size() == session + 1);
  CHECK(orders.world.table->budgets().waiting() == 0);
}

// Requests that wait, of all sequences together: one user gets a share of them.
TEST_CASE("OneUserCannotTakeAllPlacesOfRequestsThatWait", "[sequence]") {
  CoreWorld world;
  world.limits.waiting = 40;
  for (const char* name : {"a", "b", "c"}) world.settings.add(name);
  world.start();
  world.settle();
  const auto fill = [&](UserId user) {
    std::int64_t queued = 0;
    for (std::uint32_t at = 1; at <= 100; ++at) {
      const Caller caller{user, at, 0, user};
      static_cast<void>(world.next(std::string(1, static_cast<char>('a' + at % 3)), caller));
      if (world.status.ok()) ++queued;
      if (!world.status.ok()) REQUIRE(world.status.code() == ErrorCode::BUSY);
    }
    return queued;
  };
  REQUIRE(fill(1'000) == 30);
  REQUIRE(fill(2'000) > 0);
  REQUIRE(fill(3'000) > 0);
  REQUIRE(world.table->budgets().waiting() <= 40);
  world.settle();
  REQUIRE(world.table->budgets().waiting() == 0);
}

// Requests leave in every way there is: served, cancelled, too late, refused by the store, with a
// sequence that stops, and with the daemon's end.
TEST_CASE("PlacesOfRequestsThatWaitAreReturnedHoweverTheyLeave", "[sequence]") {
  std::map<ErrorCode, std::int64_t> left;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    CoreWorld world(seed);
    world.limits.waiting = 60;
    for (const char* name : {"a", "b", "c"}) world.settings.add(name);
    world.start();
    world.settle();
    std::map<UserId, std::int64_t> waiting;
    const auto count_answers = [&] {
      for (const Answer& answer : std::exchange(world.answers.sent, {})) {
        --waiting[answer.caller.user];
        ++left[answer.status.code()];
      }
      for (const auto& [user, requests] : waiting)
        REQUIRE(world.table->budgets().waiting_of(user) == requests);
    };
    for (std::uint32_t at = 1; at <= 400; ++at) {
      const auto user = static_cast<UserId>(world.random.below(3));
      const SessionId session = 1 + user * 10 + static_cast<SessionId>(world.random.below(3));
      const std::string name(1, static_cast<char>('a' + world.random.below(3)));
      switch (world.random.below(12)) {
        case 0:
          world.settle();
          break;
        case 1:
          world.advance(world.random.below(8'000));
          break;
        case 2:
          waiting[user] -= world.sequence(name).cancel(session);
          break;
        case 3:
          world.store.leases.push_back(
              {LeaseScript::Kind::refuse,
               {world.random.below(2) == 0 ? ErrorCode::STORE_REFUSED : ErrorCode::UNAVAILABLE,
                "scripted"}});
          break;
        case 4:
          if (world.random.below(40) == 0)
            world.sequence(name).set_stopped(
                {StopCause::elsewhere, {ErrorCode::SEQ_CHANGED, "scripted"}});
          break;
        default: {
          const Caller caller{session, at, 0, user};
          const std::int64_t count = 1 + world.random.below(40);
          if (!world.range(name, count, caller, 1 + world.random.below(9'000)) && world.status.ok())
            ++waiting[user];
        }
      }
      world.turn();
      count_answers();
    }
    world.table->begin_stop({ErrorCode::STOPPING, "scripted"});
    world.turn();
    count_answers();
    REQUIRE(world.table->budgets().waiting() == 0);
  }
  for (const ErrorCode code : {ErrorCode::OK, ErrorCode::UNAVAILABLE, ErrorCode::STORE_REFUSED,
                               ErrorCode::SEQ_CHANGED, ErrorCode::STOPPING}) {
    CAPTURE(error_name(code));
    CHECK(left[code] > 0);
  }
}

// A request that waits is counted as the entry that it will be: nobody can take that room.
TEST_CASE("RequestThatWaitsKeepsTheRoomOfItsRepeat", "[sequence]") {
  CoreWorld world;
  world.limits.replays.issues = 16;
  world.settings.add("orders");
  world.start();
  world.settle();
  ReplayTable& replays = world.table->replays();
  const ClientId one = replays.attach(Token{1}, 1'000)->client;
  for (int at = 0; at < 3; ++at) replays.set_aside(one);
  REQUIRE(replays.check(one, 1) == ReplayTable::Seen::fresh);
  REQUIRE_FALSE(world.next("orders", {1, 1, one, 1'000}));
  REQUIRE(world.status.ok());
  // Others take what they can while it waits.
  for (std::uint8_t who = 2; who <= 4; ++who) {
    const ClientId other = replays.attach(Token{who}, who * 1'000U)->client;
    while (replays.check(other, 1) == ReplayTable::Seen::fresh) replays.set_aside(other);
  }
  REQUIRE(replays.entries() == 14);
  REQUIRE_FALSE(replays.may_keep(one, 1));
  world.settle();
  REQUIRE(world.answers.sent.size() == 1);
  CAPTURE(world.answers.sent[0].status.to_string());
  REQUIRE(world.answers.sent[0].status.ok());
  REQUIRE(replays.entries() == 14);
}

TEST_CASE("CountAboveTheGapBudgetIsTooLarge", "[sequence]") {
  Orders orders([](SequenceSettings& settings) { settings.max_available = 100; });
  static_cast<void>(orders.world.range("orders", 101, caller(1)));
  REQUIRE(orders.world.status.code() == ErrorCode::TOO_LARGE);
  static_cast<void>(orders.world.range("orders", 100, caller(1)));
  REQUIRE(orders.world.status.ok());
  orders.world.settle();
  REQUIRE(orders.sent().size() == 1);
  REQUIRE(orders.sent()[0].runs == Runs{{1, 100, 1}});
}

}  // namespace
}  // namespace seqd
