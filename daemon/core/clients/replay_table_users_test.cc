// How clients and users share the room of the replay table, and who is forgotten when it is full.
#include "tests/unit/replays.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("FullTableForgetsTheLongestGone", "[replay_table]") {
  Replays replays({.clients = 4, .unacknowledged = 100, .remember_ms = 1'000'000});
  for (std::uint8_t who = 1; who <= 3; ++who) replays.attach(who);
  REQUIRE(replays.table.attach(Token{4}, kUser).status().code() == ErrorCode::BUSY);
  replays.table.detach(2, 10);
  replays.table.detach(1, 20);
  REQUIRE(replays.attach(4) == 4);
  REQUIRE(replays.table.size() == 3);
  REQUIRE(replays.table.attach(Token{1}, kUser)->known);
  REQUIRE_FALSE(replays.table.attach(Token{2}, kUser).ok());
  REQUIRE(replays.log.commit().ok());
  REQUIRE(replays.log.image.clients.size() == 3);
}

TEST_CASE("ClientsThatAreGoneMakeRoomForTheIssuesOfThoseThatAreThere", "[replay_table]") {
  // One user has room for six.
  Replays replays({.clients = 10, .unacknowledged = 100, .remember_ms = 1'000'000, .issues = 12});
  for (std::uint8_t who = 1; who <= 3; ++who) {
    const ClientId client = replays.attach(who);
    replays.table.record({1, 10 * who, 10 * who + 1, client, 1, IssueKind::single});
    replays.table.record({1, 10 * who + 5, 10 * who + 6, client, 2, IssueKind::single});
  }
  REQUIRE(replays.table.check(3, 3) == Seen::full);
  replays.table.detach(2, 10);
  replays.table.detach(1, 20);
  REQUIRE(replays.table.check(3, 2) == Seen::repeat);
  REQUIRE(replays.table.size() == 3);
  REQUIRE(replays.table.check(3, 3) == Seen::fresh);
  // The longest gone, and no more than was needed.
  REQUIRE(replays.table.attach(Token{1}, kUser)->known);
  REQUIRE_FALSE(replays.table.attach(Token{2}, kUser)->known);
}

TEST_CASE("ConnectedClientIsNeverForgotten", "[replay_table]") {
  Replays replays({.clients = 3, .unacknowledged = 100, .remember_ms = 1'000});
  replays.attach(1);
  replays.attach(2);
  replays.table.detach(1, 0);
  replays.attach(1);  // back again
  replays.table.expire(1'000'000);
  REQUIRE(replays.table.size() == 2);
  REQUIRE(replays.table.attach(Token{3}, kUser).status().code() == ErrorCode::BUSY);
}

TEST_CASE("GoneClientExpiresAtItsTime", "[replay_table]") {
  Replays replays({.clients = 10, .unacknowledged = 100, .remember_ms = 1'000});
  replays.attach(1);
  replays.attach(2);
  replays.table.detach(1, 0);
  replays.table.detach(2, 500);
  replays.table.expire(999);
  REQUIRE(replays.table.size() == 2);
  replays.table.expire(1'000);
  REQUIRE(replays.table.size() == 1);
  REQUIRE_FALSE(replays.table.attach(Token{1}, kUser)->known);
  REQUIRE(replays.table.attach(Token{2}, kUser)->known);
}

TEST_CASE("DetachingTwiceOrAnUnknownClientIsHarmless", "[replay_table]") {
  Replays replays({.clients = 10, .unacknowledged = 100, .remember_ms = 1'000});
  replays.attach(1);
  replays.table.detach(1, 0);
  replays.table.detach(1, 500);
  replays.table.detach(77, 500);
  replays.table.expire(1'000);
  REQUIRE(replays.table.size() == 0);
}

// 16 clients that did not acknowledge took all that is kept.
TEST_CASE("OneUserDoesNotTakeTheRoomOfAnother", "[replay_table]") {
  Replays replays({.clients = 100, .unacknowledged = 1'000, .issues = 1'600});
  const std::uint32_t window = replays.table.window();
  REQUIRE(window == 400);
  std::int64_t id = 1;
  const auto keep_on = [&](ClientId client) {
    std::uint32_t request = 1;
    while (replays.table.check(client, request) == Seen::fresh) {
      replays.table.record({1, id, id + 3, client, request++, IssueKind::batch});
      id += 3;
    }
    return request - 1;
  };
  for (std::uint8_t who = 1; who <= 16; ++who) keep_on(replays.attach(who));
  REQUIRE(replays.table.entries() == 800);
  const ClientId honest = replays.table.attach(Token{99}, kOther)->client;
  REQUIRE(keep_on(honest) == window);
  REQUIRE(replays.table.check(honest, window + 1) == Seen::too_far);
  replays.table.acknowledge(honest, window);
  REQUIRE(replays.table.check(honest, window + 1) == Seen::fresh);
}

TEST_CASE("OneUserDoesNotTakeTheIdentitiesOfAnother", "[replay_table]") {
  Replays replays({.clients = 80});
  for (std::uint8_t who = 1; who <= 200; ++who)
    static_cast<void>(replays.table.attach(Token{who}, kUser).ok());
  REQUIRE(replays.table.size() == 70);
  REQUIRE(replays.table.attach(Token{201}, kUser).status().code() == ErrorCode::BUSY);
  REQUIRE(replays.table.attach(Token{202}, kOther).ok());
}

TEST_CASE("GoneClientsOfAUserWithLessAreKept", "[replay_table]") {
  Replays replays({.clients = 16, .unacknowledged = 100, .remember_ms = 1'000});
  const ClientId careful = replays.table.attach(Token{200}, kOther)->client;
  replays.table.detach(careful, 0);
  for (std::uint8_t who = 1; who <= 100; ++who) {
    const auto attached = replays.table.attach(Token{who}, kUser);
    if (attached.ok() && who % 2 == 0) replays.table.detach(attached->client, who);
  }
  REQUIRE(replays.table.attach(Token{200}, kOther)->known);
}

TEST_CASE("RequestsThatWaitAreCounted", "[replay_table]") {
  Replays replays({.clients = 10, .unacknowledged = 100, .remember_ms = 1'000, .issues = 16});
  const ClientId one = replays.attach(1);
  const ClientId two = replays.attach(2);
  const ClientId three = replays.attach(3);
  for (std::uint32_t at = 0; at < 4; ++at) {
    REQUIRE(replays.table.check(one, 1 + at) == Seen::fresh);
    replays.table.set_aside(one);
    REQUIRE(replays.table.check(two, 1 + at) == Seen::fresh);
    replays.table.set_aside(two);
  }
  REQUIRE(replays.table.check(one, 9) == Seen::too_far);
  REQUIRE(replays.table.check(three, 1) == Seen::full);
  replays.table.release(two);
  REQUIRE(replays.table.check(three, 1) == Seen::fresh);
  REQUIRE_FALSE(replays.table.may_keep(three, 2));
  REQUIRE(replays.table.entries() == 7);
}

}  // namespace
}  // namespace seqd
