// The entries of the replay table: what was issued is found by the number of its request until it
// is acknowledged. Who is forgotten when it is full is in replay_table_users_test.cc, what the next
// process knows in replay_table_restart_test.cc.
#include "daemon/core/clients/replay_table.h"

#include <vector>

#include "tests/unit/replays.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

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
    return Issued{1, begin, begin + 1, 1, request, IssueKind::text, 0, wall_s};
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

TEST_CASE("TextsOfTwoFormsAreTwoEntries", "[replay_table]") {
  const auto text = [](std::uint32_t request, TextForm form) {
    return Issued{1, 99 + request, 100 + request, 1, request, IssueKind::text, form, 7};
  };
  Replays replays;
  replays.attach(1);
  for (const Issued& issue : {text(1, 0), text(2, 0), text(4, 1), text(3, 1)})
    replays.table.record(issue);
  REQUIRE(replays.table.retained(1) == 2);
  REQUIRE(replays.table.find(1, 2) == std::vector<Issued>{text(2, 0)});
  REQUIRE(replays.table.find(1, 3) == std::vector<Issued>{text(3, 1)});
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

}  // namespace
}  // namespace seqd
