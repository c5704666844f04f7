#include "daemon/base/backoff.h"

#include <algorithm>

#include "tests/unit/seeded_random.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("DelayLiesWithinTheStepAndTheStepDoublesToItsBound", "[backoff]") {
  SeededRandom random(7);
  for (int round = 0; round < 200; ++round) {
    Backoff backoff;
    std::int64_t step_ms = Backoff::kFirstMs;
    for (int at = 0; at < 20; ++at) {
      const std::int64_t delay_ms = backoff.next_ms(random);
      REQUIRE(delay_ms >= step_ms / 2);
      REQUIRE(delay_ms <= step_ms);
      step_ms = std::min(step_ms * 2, Backoff::kMostMs);
    }
  }
}

TEST_CASE("DelaysOfTwoHostsDiffer", "[backoff]") {
  SeededRandom one(1);
  SeededRandom other(2);
  Backoff mine;
  Backoff yours;
  int equal = 0;
  for (int at = 0; at < 20; ++at) equal += mine.next_ms(one) == yours.next_ms(other) ? 1 : 0;
  REQUIRE(equal < 5);
}

TEST_CASE("DelayAfterAConflictIsSpreadOverItsStepAndStaysShort", "[backoff]") {
  SeededRandom random(7);
  std::int64_t lowest_ms = Backoff::kMostConflictMs;
  std::int64_t highest_ms = 0;
  for (int round = 0; round < 200; ++round) {
    Backoff backoff;
    std::int64_t step_ms = Backoff::kFirstConflictMs;
    for (int at = 0; at < 20; ++at) {
      const std::int64_t delay_ms = backoff.next_after_conflict_ms(random);
      REQUIRE(delay_ms >= 0);
      REQUIRE(delay_ms <= step_ms);
      step_ms = std::min(step_ms * 2, Backoff::kMostConflictMs);
      if (at < 10) continue;
      lowest_ms = std::min(lowest_ms, delay_ms);
      highest_ms = std::max(highest_ms, delay_ms);
    }
    // A store that was away all the time is a matter of its own.
    REQUIRE(backoff.next_ms(random) <= Backoff::kFirstMs);
  }
  REQUIRE(lowest_ms < Backoff::kMostConflictMs / 10);
  REQUIRE(highest_ms > Backoff::kMostConflictMs / 10 * 9);
}

TEST_CASE("SuccessStartsOver", "[backoff]") {
  SeededRandom random(7);
  Backoff backoff;
  for (int at = 0; at < 20; ++at) static_cast<void>(backoff.next_ms(random));
  backoff.reset();
  REQUIRE(backoff.next_ms(random) <= Backoff::kFirstMs);
  for (int at = 0; at < 20; ++at) static_cast<void>(backoff.next_after_conflict_ms(random));
  backoff.reset();
  REQUIRE(backoff.next_after_conflict_ms(random) <= Backoff::kFirstConflictMs);
}

}  // namespace
}  // namespace seqd
