#include "daemon/core/replay_table.h"

#include <vector>

#include "tests/unit/memory_log.h"
#include "tests/unit/world.h"

// After the project's headers: both define CHECK, and here Catch's is meant.
#include <catch2/catch.hpp>

namespace seqd {
namespace {

using Seen = ReplayTable::Seen;

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
  ClientId attach(std::uint8_t who) { return table.attach(Token{who})->client; }
  std::int64_t id_of(std::uint32_t request, ClientId client = 1) {
    const std::vector<Issued> found = table.find(client, request);
    return found.size() == 1 && found[0].end == found[0].begin + 1 ? found[0].begin : -1;
  }
  MemoryLog log;
  ReplayTable table;
};

TEST_CASE("UnknownIdentityGetsANumberAndIsKnownAfterwards", "[replay_table]") {
  Replays replays;
  const auto first = replays.table.attach(Token{9});
  REQUIRE(first.ok());
  REQUIRE_FALSE(first->known);
  const auto again = replays.table.attach(Token{9});
  REQUIRE(again->known);
  REQUIRE(again->client == first->client);
  REQUIRE(replays.table.attach(Token{8})->client != first->client);
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
  Replays replays({.clients = 3, .unacknowledged = 100, .remember_ms = 1'000'000});
  for (std::uint8_t who = 1; who <= 3; ++who) replays.attach(who);
  REQUIRE(replays.table.attach(Token{4}).status().code() == ErrorCode::BUSY);
  replays.table.detach(2, 10);
  replays.table.detach(1, 20);
  REQUIRE(replays.attach(4) == 4);
  REQUIRE(replays.table.size() == 3);
  REQUIRE(replays.table.attach(Token{1})->known);
  REQUIRE_FALSE(replays.table.attach(Token{2}).ok());
  REQUIRE(replays.log.commit().ok());
  REQUIRE(replays.log.image.clients.size() == 3);
}

TEST_CASE("ClientsThatAreGoneMakeRoomForTheIssuesOfThoseThatAreThere", "[replay_table]") {
  Replays replays({.clients = 10, .unacknowledged = 100, .remember_ms = 1'000'000, .issues = 3});
  for (std::uint8_t who = 1; who <= 3; ++who) replays.attach(who);
  replays.table.record({1, 10, 11, 1, 5, IssueKind::single});
  replays.table.record({1, 11, 12, 2, 5, IssueKind::single});
  replays.table.record({1, 12, 13, 3, 5, IssueKind::single});
  REQUIRE(replays.table.check(3, 6) == Seen::too_far);
  replays.table.detach(2, 10);
  replays.table.detach(1, 20);
  REQUIRE(replays.table.check(3, 5) == Seen::repeat);
  REQUIRE(replays.table.size() == 3);
  REQUIRE(replays.table.check(3, 6) == Seen::fresh);
  // The longest gone, and no more than was needed.
  REQUIRE(replays.table.attach(Token{1})->known);
  REQUIRE_FALSE(replays.table.attach(Token{2})->known);
}

TEST_CASE("ConnectedClientIsNeverForgotten", "[replay_table]") {
  Replays replays({.clients = 2, .unacknowledged = 100, .remember_ms = 1'000});
  replays.attach(1);
  replays.attach(2);
  replays.table.detach(1, 0);
  replays.attach(1);  // back again
  replays.table.expire(1'000'000);
  REQUIRE(replays.table.size() == 2);
  REQUIRE(replays.table.attach(Token{3}).status().code() == ErrorCode::BUSY);
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
  REQUIRE_FALSE(replays.table.attach(Token{1})->known);
  REQUIRE(replays.table.attach(Token{2})->known);
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
  REQUIRE(after.table.attach(Token{1})->known);
  REQUIRE(after.attach(2) == 2);
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
    Replays after;
    after.table.restore(image, 0);
    REQUIRE(after.table.size() == 1);
  }
}

}  // namespace
}  // namespace seqd
