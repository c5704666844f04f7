#include "daemon/core/log/replay_table.h"

#include <vector>

#include "tests/unit/memory_log.h"
#include "tests/unit/world.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using Seen = ReplayTable::Seen;

constexpr UserId kUser = 1'000;
constexpr UserId kOther = 2'000;

Issued single(std::uint32_t request, std::int64_t begin, std::int64_t count = 1,
              SequenceId sequence = 1) {
  return {sequence, begin, begin + count, 1, request, IssueKind::single};
}
Issued batch(std::uint32_t request, std::int64_t begin, std::int64_t end) {
  return {1, begin, end, 1, request, IssueKind::batch};
}

struct Replays {
  explicit Replays(const ReplayTable::Limits& limits = {}) : table(log, limits) {}
  // The first identity of a table is client 1.
  ClientId attach(std::uint8_t who) { return table.attach(Token{who}, kUser)->client; }
  std::int64_t id_of(std::uint32_t request, ClientId client = 1) {
    const std::vector<Issued> found = table.find(client, request);
    return found.size() == 1 && found[0].end == found[0].begin + 1 ? found[0].begin : -1;
  }
  MemoryLog log;
  ReplayTable table;
};

TEST_CASE("UnknownIdentityGetsANumberAndIsKnownAfterwards", "[replay_table]") {
  Replays replays;
  const auto first = replays.table.attach(Token{9}, kUser);
  REQUIRE(first.ok());
  REQUIRE_FALSE(first->known);
  const auto again = replays.table.attach(Token{9}, kUser);
  REQUIRE(again->known);
  REQUIRE(again->client == first->client);
  REQUIRE(replays.table.attach(Token{8}, kUser)->client != first->client);
}

TEST_CASE("RepeatedRequestFindsItsId", "[replay_table]") {
  Replays replays;
  replays.attach(1);
  REQUIRE(replays.table.check(1, 5) == Seen::fresh);
  replays.table.record(single(5, 100));
  REQUIRE(replays.table.check(1, 5) == Seen::repeat);
  REQUIRE(replays.id_of(5) == 100);
  REQUIRE(replays.table.check(1, 4) == Seen::fresh);
  REQUIRE(replays.table.check(1, 6) == Seen::fresh);
}

TEST_CASE("ConsecutiveSinglesAreOneEntry", "[replay_table]") {
  Replays replays;
  replays.attach(1);
  for (std::uint32_t request = 1; request <= 1'000; ++request) {
    replays.table.record(single(request, 100 + request));
  }
  REQUIRE(replays.table.retained(1) == 1);
  REQUIRE(replays.id_of(1) == 101);
  REQUIRE(replays.id_of(777) == 877);
  REQUIRE(replays.id_of(1'000) == 1'100);
}

TEST_CASE("SinglesThatDoNotFollowStayApart", "[replay_table]") {
  Replays replays;
  replays.attach(1);
  replays.table.record(single(1, 10));
  replays.table.record(single(2, 12));        // an ID between went to another client
  replays.table.record(single(4, 13));        // a request between went to another sequence
  replays.table.record(single(5, 14, 1, 2));  // another sequence
  REQUIRE(replays.table.retained(1) == 4);
  REQUIRE(replays.id_of(2) == 12);
  REQUIRE(replays.id_of(4) == 13);
  REQUIRE(replays.table.check(1, 3) == Seen::fresh);
  REQUIRE(replays.table.find(1, 5).front().sequence == 2);
}

TEST_CASE("BatchOfSeveralRangesIsFoundWholeAndInOrder", "[replay_table]") {
  Replays replays;
  replays.attach(1);
  replays.table.record(single(1, 5));
  replays.table.record(batch(2, 10, 20));
  replays.table.record(batch(2, 50, 60));
  replays.table.record(single(3, 60));
  const std::vector<Issued> found = replays.table.find(1, 2);
  REQUIRE(found == std::vector<Issued>{batch(2, 10, 20), batch(2, 50, 60)});
  REQUIRE(replays.id_of(3) == 60);
}

TEST_CASE("OutOfOrderIssuesAreFoundByNumber", "[replay_table]") {
  Replays replays;
  replays.attach(1);
  replays.table.record(single(10, 100, 5));  // 10..14
  replays.table.record(single(3, 105));
  replays.table.record(batch(7, 106, 110));
  replays.table.record(single(4, 110, 2));  // 4, 5
  replays.table.record(single(15, 112));
  REQUIRE(replays.id_of(3) == 105);
  REQUIRE(replays.id_of(4) == 110);
  REQUIRE(replays.id_of(5) == 111);
  REQUIRE(replays.table.check(1, 6) == Seen::fresh);
  REQUIRE(replays.table.find(1, 7) == std::vector<Issued>{batch(7, 106, 110)});
  REQUIRE(replays.table.check(1, 8) == Seen::fresh);
  REQUIRE(replays.id_of(12) == 102);
  REQUIRE(replays.id_of(15) == 112);
}

TEST_CASE("TextsAreFoundWithTheTimeOfTheirIssue", "[replay_table]") {
  const auto text = [](std::uint32_t request, std::int64_t begin, std::int64_t wall_s) {
    return Issued{1, begin, begin + 1, 1, request, IssueKind::text, wall_s};
  };
  Replays replays;
  replays.attach(1);
  for (const Issued& issue : {text(1, 100, 7), text(2, 101, 7), text(3, 102, 8)})
    replays.table.record(issue);
  replays.table.record(single(4, 103));
  REQUIRE(replays.table.retained(1) == 3);
  REQUIRE(replays.table.find(1, 2) == std::vector<Issued>{text(2, 101, 7)});
  REQUIRE(replays.table.find(1, 3) == std::vector<Issued>{text(3, 102, 8)});
  REQUIRE(replays.table.find(1, 4) == std::vector<Issued>{single(4, 103)});
  replays.table.acknowledge(1, 2);
  REQUIRE(replays.table.find(1, 2) == std::vector<Issued>{text(2, 101, 7)});
  REQUIRE(replays.table.check(1, 1) == Seen::acknowledged);
}

TEST_CASE("AcknowledgementInTheMiddleOfARunKeepsItsRest", "[replay_table]") {
  Replays replays;
  replays.attach(1);
  replays.table.record(single(1, 101, 100));
  replays.table.record(batch(101, 300, 310));
  replays.table.acknowledge(1, 50);
  REQUIRE(replays.table.check(1, 49) == Seen::acknowledged);
  REQUIRE(replays.table.check(1, 50) == Seen::repeat);
  REQUIRE(replays.id_of(50) == 150);
  REQUIRE(replays.id_of(100) == 200);
  replays.table.acknowledge(1, 101);
  REQUIRE(replays.table.retained(1) == 1);
  replays.table.acknowledge(1, 102);
  REQUIRE(replays.table.retained(1) == 0);
}

TEST_CASE("FloorNeverGoesBack", "[replay_table]") {
  Replays replays;
  replays.attach(1);
  replays.table.acknowledge(1, 50);
  replays.table.acknowledge(1, 20);
  REQUIRE(replays.table.check(1, 49) == Seen::acknowledged);
  REQUIRE(replays.table.check(1, 50) == Seen::fresh);
}

TEST_CASE("NumbersTooFarAboveTheFloorAreRefused", "[replay_table]") {
  Replays replays({.clients = 10, .unacknowledged = 100, .remember_ms = 1'000});
  replays.attach(1);
  replays.table.acknowledge(1, 1);
  REQUIRE(replays.table.check(1, 100) == Seen::fresh);
  REQUIRE(replays.table.check(1, 101) == Seen::too_far);
  replays.table.acknowledge(1, 10);
  REQUIRE(replays.table.check(1, 109) == Seen::fresh);
  REQUIRE(replays.table.check(1, 110) == Seen::too_far);
  REQUIRE(replays.table.check(1, 0xffffffff) == Seen::too_far);
}

TEST_CASE("RepeatBeyondALoweredWindowHasItsIds", "[replay_table]") {
  Replays replays({.clients = 10, .unacknowledged = 100, .remember_ms = 1'000});
  replays.attach(1);
  replays.table.record(single(90, 700));
  replays.table.set_limits({.clients = 10, .unacknowledged = 50, .remember_ms = 1'000});
  REQUIRE(replays.table.check(1, 90) == Seen::repeat);
  REQUIRE(replays.id_of(90) == 700);
  REQUIRE(replays.table.check(1, 91) == Seen::too_far);
}

TEST_CASE("HighestNumbersDoNotWrap", "[replay_table]") {
  Replays replays({.clients = 10, .unacknowledged = 0xffffffff, .remember_ms = 1'000});
  replays.attach(1);
  replays.table.acknowledge(1, 0xfffffff0);
  replays.table.record(single(0xfffffffe, 7, 2));
  REQUIRE(replays.id_of(0xffffffff) == 8);
  replays.table.record(single(0xfffffff1, 9));
  REQUIRE(replays.id_of(0xfffffff1) == 9);
  replays.table.acknowledge(1, 0xffffffff);
  REQUIRE(replays.id_of(0xffffffff) == 8);
}

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

TEST_CASE("DetachingTwiceOrNobodyIsHarmless", "[replay_table]") {
  Replays replays({.clients = 10, .unacknowledged = 100, .remember_ms = 1'000});
  replays.attach(1);
  replays.table.detach(1, 0);
  replays.table.detach(1, 500);
  replays.table.detach(77, 500);
  replays.table.expire(1'000);
  REQUIRE(replays.table.size() == 0);
}

TEST_CASE("RestoredTableAnswersAsBefore", "[replay_table]") {
  Replays before;
  before.attach(1);
  before.table.record(single(10, 100, 5));
  before.table.record(single(3, 105));
  before.table.record(batch(7, 106, 110));
  before.table.record(batch(7, 200, 210));
  before.table.acknowledge(1, 4);
  StateImage image;
  before.table.snapshot([&](const LogEntry& entry) { REQUIRE(image.apply(entry).ok()); });

  Replays after;
  after.table.restore(image, 0);
  REQUIRE(after.table.size() == 1);
  REQUIRE(after.table.check(1, 3) == Seen::acknowledged);
  REQUIRE(after.id_of(12) == 102);
  REQUIRE(after.table.find(1, 7) == std::vector<Issued>{batch(7, 106, 110), batch(7, 200, 210)});
  REQUIRE(after.table.attach(Token{1}, kUser)->known);
  REQUIRE(after.attach(2) == 2);
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

TEST_CASE("ClientsOfTheProcessBeforeMakeRoom", "[replay_table]") {
  StateImage image;
  for (ClientId client = 1; client <= 4; ++client) {
    REQUIRE(image.apply(DefineClient{client, Token{static_cast<std::uint8_t>(client)}}).ok());
    for (std::uint32_t request = 1; request <= 3; ++request) {
      const std::int64_t id = static_cast<std::int64_t>(client) * 100 + 2 * request;
      REQUIRE(image.apply(RetainedIssue{Issued{1, id, id + 1, client, request, IssueKind::single}})
                  .ok());
    }
  }
  Replays replays({.clients = 10, .unacknowledged = 100, .remember_ms = 1'000, .issues = 8});
  replays.log.image = image;
  replays.table.restore(image, 0);
  // More than may be kept: the first ones go at once.
  REQUIRE(replays.table.entries() == 6);
  REQUIRE(replays.table.attach(Token{3}, kUser)->known);
  REQUIRE_FALSE(replays.table.attach(Token{1}, kUser)->known);
}

// After a start no client is connected: one user's new clients take room from its own ones first.
TEST_CASE("UserDoesNotEvictTheClientsOfOthersAfterARestart", "[replay_table]") {
  const ReplayTable::Limits limits{
      .clients = 8, .unacknowledged = 100, .remember_ms = 1'000, .issues = 100};
  Replays before(limits);
  for (std::uint8_t who = 1; who <= 3; ++who) {
    const ClientId client = before.table.attach(Token{who}, kUser)->client;
    before.table.record({1, 10 * who, 10 * who + 1, client, 5, IssueKind::single});
  }
  for (std::uint8_t who = 11; who <= 13; ++who)
    REQUIRE(before.table.attach(Token{who}, kOther).ok());
  REQUIRE(before.log.commit().ok());
  StateImage image;
  before.table.snapshot([&](const LogEntry& entry) { REQUIRE(image.apply(entry).ok()); });

  Replays after(limits);
  after.log.image = image;
  after.table.restore(image, 0);
  for (std::uint8_t who = 21; who <= 40; ++who)
    static_cast<void>(after.table.attach(Token{who}, kOther).ok());
  for (std::uint8_t who = 1; who <= 3; ++who) {
    CAPTURE(who);
    const auto attached = after.table.attach(Token{who}, kUser);
    REQUIRE(attached.ok());
    REQUIRE(attached->known);
    REQUIRE(after.id_of(5, attached->client) == 10 * who);
  }
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

// A batch over two leases whose ranges follow each other is one entry, as it is in the image.
TEST_CASE("PartsOfABatchThatFollowEachOtherAreOneEntry", "[replay_table]") {
  Replays replays;
  replays.attach(1);
  replays.table.record(batch(2, 10, 20));
  replays.table.record(batch(2, 20, 60));
  replays.table.record(batch(3, 60, 70));
  REQUIRE(replays.table.retained(1) == 2);
  REQUIRE(replays.table.find(1, 2) == std::vector<Issued>{batch(2, 10, 60)});
}

// A directory whose identities were 2^32 and more, one after the other.
TEST_CASE("ClientNumbersGoOnBeyond32Bits", "[replay_table]") {
  StateImage image;
  image.next_numbers.client = 0xffff'fffe;
  Replays replays;
  replays.log.image = image;
  replays.table.restore(image, 0);
  for (std::uint8_t who = 1; who <= 4; ++who) {
    const auto attached = replays.table.attach(Token{who}, kUser);
    REQUIRE(attached.ok());
    REQUIRE(attached->client == std::uint64_t{0xffff'fffe} + who - 1);
    replays.table.record({1, 10 * who, 10 * who + 1, attached->client, 5, IssueKind::single});
  }
  for (std::uint8_t who = 1; who <= 4; ++who) {
    const ClientId client = replays.table.attach(Token{who}, kUser)->client;
    REQUIRE(replays.id_of(5, client) == 10 * who);
  }
  REQUIRE(replays.log.commit().ok());
  REQUIRE(replays.log.image.clients.size() == 4);
}

// Not within the life of any disk; and yet no number comes twice.
TEST_CASE("LastClientNumberIsFollowedByAnError", "[replay_table]") {
  StateImage image;
  image.next_numbers.client = kLastClient;
  Replays replays;
  replays.log.image = image;
  replays.table.restore(image, 0);
  REQUIRE(replays.table.attach(Token{1}, kUser)->client == kLastClient);
  REQUIRE(replays.table.attach(Token{2}, kUser).status().code() == ErrorCode::EXHAUSTED);
  REQUIRE(replays.table.attach(Token{2}, kUser).status().code() == ErrorCode::EXHAUSTED);
  REQUIRE(replays.table.attach(Token{1}, kUser)->known);
  REQUIRE(replays.log.commit().ok());
  StateImage next;
  replays.table.snapshot([&](const LogEntry& entry) { REQUIRE(next.apply(entry).ok()); });
  REQUIRE(next.clients.size() == 1);
}

// Requests that are issued out of order are one entry as soon as they follow each other, so that a
// snapshot, read again, has the same entries.
TEST_CASE("EntryThatClosesAHoleJoinsBothSides", "[replay_table]") {
  Replays replays;
  replays.attach(1);
  replays.table.record(single(1, 10));
  replays.table.record(single(3, 12, 3));
  REQUIRE(replays.table.retained(1) == 2);
  replays.table.record(single(2, 11));
  REQUIRE(replays.table.retained(1) == 1);
  REQUIRE(replays.table.entries() == 1);
  for (std::uint32_t request = 1; request <= 5; ++request)
    REQUIRE(replays.id_of(request) == 9 + request);
  replays.table.acknowledge(1, 6);
  REQUIRE(replays.table.entries() == 0);
  REQUIRE_FALSE(replays.table.keeps(1));
}

// A hostile client gives a number twice, for another sequence, between two requests that follow
// each other but were issued out of order. The log's image kept the second sequence's entry after
// the table had dropped it, so that forgetting the sequence made the log unreadable.
TEST_CASE("ImageOfASnapshotDropsWhatTheTableDrops", "[replay_table]") {
  Replays replays;
  replays.attach(1);
  replays.table.record(single(3, 12, 3));  // 3..5
  replays.table.record(single(1, 10));
  replays.table.record(single(2, 11));
  StateImage image;
  REQUIRE(image.apply(DefineScope{1, "default", Token{1}, 2, ScopeState::owned, {}}).ok());
  for (const SequenceId sequence : {1U, 2U})
    REQUIRE(image.apply(DefineSequence{sequence, 1, "orders", "b", 0}).ok());
  replays.table.snapshot([&](const LogEntry& entry) { REQUIRE(image.apply(entry).ok()); });
  const Issued twice = single(2, 100, 1, 2);
  replays.table.record(twice);
  REQUIRE(image.apply(RetainedIssue{twice}).ok());
  replays.table.acknowledge(1, 3);
  REQUIRE(image.apply(Acknowledged{1, 3}).ok());
  std::vector<Issued> kept;
  for (const Issued& issue : image.clients.at(1).retained) kept.push_back(issue);
  CHECK(kept.size() == replays.table.retained(1));
  if (!replays.table.keeps(2)) CHECK(image.apply(ForgetSequence{2}).ok());
  replays.table.acknowledge(1, 6);
  REQUIRE(image.apply(Acknowledged{1, 6}).ok());
  REQUIRE_FALSE(replays.table.keeps(2));
  REQUIRE(image.apply(ForgetSequence{2}).ok());
}

// Whatever numbers a hostile client repeats, nothing breaks and honest lookups stay bounded.
TEST_CASE("ReusedNumbersNeverCrash", "[replay_table]") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    SeededRandom random(seed);
    Replays replays({.clients = 4, .unacknowledged = 0xffffffff, .remember_ms = 1'000});
    replays.attach(1);
    std::int64_t id = 1;
    for (int at = 0; at < 400; ++at) {
      const auto request = static_cast<std::uint32_t>(random.below(40));
      const std::int64_t count = 1 + random.below(5);
      Issued issue = single(request, id, count, 1 + static_cast<SequenceId>(random.below(2)));
      if (random.below(2) == 0) issue.kind = IssueKind::batch;
      replays.table.record(issue);
      id += count;
      static_cast<void>(replays.table.find(1, static_cast<std::uint32_t>(random.below(50))));
      static_cast<void>(replays.table.check(1, static_cast<std::uint32_t>(random.below(50))));
      if (random.below(50) == 0) {
        replays.table.acknowledge(1, static_cast<std::uint32_t>(random.below(40)));
      }
    }
    StateImage image;
    replays.table.snapshot([&](const LogEntry& entry) { REQUIRE(image.apply(entry).ok()); });
    REQUIRE(image.clients.at(1).retained.size() == replays.table.retained(1));
    Replays after;
    after.table.restore(image, 0);
    REQUIRE(after.table.size() == 1);
    REQUIRE(after.table.entries() == replays.table.entries());
  }
}

}  // namespace
}  // namespace seqd
