// A replay table of a snapshot answers as the one that wrote it, whatever numbers were reused
// before and however high they are.
#include <vector>

#include "tests/unit/replays.h"
#include "tests/unit/seeded_random.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

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

// A directory whose identities were 2^32 and more, one after the other.
TEST_CASE("ClientNumbersContinueBeyond32Bits", "[replay_table]") {
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
