#include "daemon/core/ranges/held_ranges.h"

#include <vector>

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using Ends = std::vector<std::int64_t>;

HeldRanges two_ranges() {
  HeldRanges held;
  held.add({10, 20}, Token{1});
  held.add({50, 60}, Token{2});
  return held;
}

// The first two may be issued whole, of the third five, and two more are asked for.
HeldRanges three_ranges() {
  HeldRanges held = two_ranges();
  held.add({30, 40}, Token{3});
  REQUIRE(held.ask(25) == (Ends{20, 60, 35}));
  held.reservation_durable();
  REQUIRE(held.ask(27) == Ends{37});
  return held;
}

TEST_CASE("NothingOfANewRangeMayBeIssued", "[held_ranges]") {
  HeldRanges held = two_ranges();
  std::int64_t id = 0;
  REQUIRE(held.available() == 20);
  REQUIRE(held.issuable() == 0);
  REQUIRE(held.next_id() == 10);
  REQUIRE_FALSE(held.take_one(&id));
}

TEST_CASE("RangeIsFoundByAnyOfItsIds", "[held_ranges]") {
  const HeldRanges held = two_ranges();
  for (const std::int64_t id : {10, 19, 50, 59}) CHECK(held.has_some_of(id, id + 1));
  for (const std::int64_t id : {9, 20, 49, 60}) CHECK_FALSE(held.has_some_of(id, id + 1));
  CHECK(held.has_some_of(1, 100));
  CHECK_FALSE(held.has_some_of(20, 50));
}

TEST_CASE("AskedForIdsCountOnlyOnceDurable", "[held_ranges]") {
  HeldRanges held = two_ranges();
  std::int64_t id = 0;
  REQUIRE(held.ask(4) == Ends{14});
  REQUIRE(held.asked() == 4);
  REQUIRE(held.issuable() == 0);
  REQUIRE_FALSE(held.take_one(&id));
  held.reservation_durable();
  for (const std::int64_t expected : {10, 11, 12, 13}) {
    REQUIRE(held.take_one(&id));
    REQUIRE(id == expected);
  }
  REQUIRE_FALSE(held.take_one(&id));
  REQUIRE(held.available() == 16);
}

TEST_CASE("IdsTakenWhileAReservationIsInFlightStayTaken", "[held_ranges]") {
  HeldRanges held = two_ranges();
  std::int64_t id = 0;
  REQUIRE(held.ask(2) == Ends{12});
  held.reservation_durable();
  REQUIRE(held.ask(15) == (Ends{20, 55}));
  REQUIRE(held.take_one(&id));
  REQUIRE(held.take_one(&id));
  REQUIRE_FALSE(held.take_one(&id));
  held.reservation_durable();
  REQUIRE(held.issuable() == 13);
  REQUIRE(held.take_one(&id));
  REQUIRE(id == 12);
}

TEST_CASE("WhatIsBelowAFloorLeavesTheHandWhereverItLies", "[held_ranges]") {
  HeldRanges held = three_ranges();
  const std::vector<HeldRanges::Held> taken = held.take_below(33);
  REQUIRE(taken.size() == 2);
  CHECK(taken[0].range.begin() == 10);
  CHECK(taken[0].range.end() == 20);
  CHECK(taken[1].range.begin() == 30);
  CHECK(taken[1].range.end() == 33);
  CHECK(taken[1].lease == Token{3});
  CHECK(held.available() == 17);
  CHECK(held.issuable() == 12);
  CHECK(held.asked() == 14);
  CHECK(held.next_id() == 50);
  held.reservation_durable();
  CHECK(held.issuable() == 14);
  std::int64_t last = 0;
  while (held.take_one(&last)) CHECK(last >= 33);
  CHECK(last == 36);
  CHECK(held.take_below(1'000).size() == 1);
  CHECK(held.available() == 0);
}

TEST_CASE("WhatIsAboveAMaximumLeavesTheHandWhereverItLies", "[held_ranges]") {
  HeldRanges held = three_ranges();
  const std::vector<HeldRanges::Held> taken = held.take_above(32);
  REQUIRE(taken.size() == 2);
  CHECK(taken[0].range.begin() == 50);
  CHECK(taken[0].range.end() == 60);
  CHECK(taken[1].range.begin() == 33);
  CHECK(taken[1].range.end() == 40);
  CHECK(taken[1].lease == Token{3});
  CHECK(held.available() == 13);
  CHECK(held.issuable() == 13);
  CHECK(held.asked() == 13);
  CHECK(held.take_above(32).empty());
  std::int64_t last = 0;
  while (held.take_one(&last)) CHECK(last <= 32);
  CHECK(last == 32);
  CHECK(held.available() == 0);
}

TEST_CASE("TakenRunEndsWithItsRange", "[held_ranges]") {
  HeldRanges held = two_ranges();
  static_cast<void>(held.ask(20));
  held.reservation_durable();
  const IdRange first = held.take(100);
  REQUIRE(first.begin() == 10);
  REQUIRE(first.end() == 20);
  const IdRange second = held.take(3);
  REQUIRE(second.begin() == 50);
  REQUIRE(second.end() == 53);
  REQUIRE(held.available() == 7);
  REQUIRE(held.ranges().size() == 1);
}

TEST_CASE("TakenRunEndsWithItsReservation", "[held_ranges]") {
  HeldRanges held = two_ranges();
  static_cast<void>(held.ask(5));
  held.reservation_durable();
  REQUIRE(held.take(100).end() == 15);
  REQUIRE(held.issuable() == 0);
  REQUIRE(held.next_id() == 15);
}

TEST_CASE("AskingForLessThanIsAskedChangesNothing", "[held_ranges]") {
  HeldRanges held = two_ranges();
  REQUIRE(held.ask(12) == (Ends{20, 52}));
  held.reservation_durable();
  REQUIRE(held.ask(12).empty());
  REQUIRE(held.ask(1'000) == Ends{60});
  held.reservation_durable();
  REQUIRE(held.ask(1'000).empty());
}

TEST_CASE("RangeAddedDuringAReservationIsNotPartOfIt", "[held_ranges]") {
  HeldRanges held;
  held.add({1, 3}, Token{1});
  static_cast<void>(held.ask(10));
  held.add({3, 9}, Token{2});
  held.reservation_durable();
  REQUIRE(held.issuable() == 2);
  REQUIRE(held.available() == 8);
}

TEST_CASE("SurrenderedRangesLeaveNothingAvailable", "[held_ranges]") {
  HeldRanges held = two_ranges();
  static_cast<void>(held.ask(3));
  held.reservation_durable();
  const auto given = held.surrender();
  REQUIRE(given.size() == 2);
  REQUIRE(given.front().range.size() == 10);
  REQUIRE(held.available() == 0);
  REQUIRE(held.issuable() == 0);
  REQUIRE(held.asked() == 0);
  REQUIRE_FALSE(held.next_id());
}

}  // namespace
}  // namespace seqd
