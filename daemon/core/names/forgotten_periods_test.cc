#include "daemon/core/names/forgotten_periods.h"

#include <algorithm>

#include "tests/unit/seeded_random.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

Period period(std::int64_t begin_s, std::int64_t end_s) {
  return {"", "", begin_s, end_s};
}

TEST_CASE("PeriodsBesideEachOtherAreOneSpan", "[period]") {
  std::vector<PeriodSpan> spans;
  for (std::int64_t at = 0; at < 1'000; ++at) add_forgotten(spans, {at * 10, at * 10 + 10});
  CHECK(spans == std::vector<PeriodSpan>{{0, 10'000}});
  CHECK(high_water_of_forgotten(spans, period(9'990, 10'000)) > 0);
  CHECK(high_water_of_forgotten(spans, period(10'000, 10'010)) == 0);
}

TEST_CASE("OfTooManySpansTheNearestBecomeOne", "[period]") {
  std::vector<PeriodSpan> spans;
  for (const std::int64_t at : {900, 100, 130, 300, 500}) add_forgotten(spans, {at, at + 10});
  CHECK(spans == std::vector<PeriodSpan>{{100, 140}, {300, 310}, {500, 510}, {900, 910}});
  // What lies far ahead does not swallow what is to come.
  add_forgotten(spans, {510, 520});
  CHECK(high_water_of_forgotten(spans, period(520, 530)) == 0);
  CHECK(high_water_of_forgotten(spans, period(900, 905)) > 0);
}

TEST_CASE("PeriodsForgottenLastKeepTheirOwnGuardsAndOlderOnesTheHighest", "[period]") {
  std::vector<PeriodSpan> spans;
  const std::int64_t high_waters[] = {70, 900, 20, 30, 10, 40};
  for (std::int64_t at = 0; at < 6; ++at)
    add_forgotten(spans, {at * 10, at * 10 + 10, high_waters[at]});
  CHECK(spans == std::vector<PeriodSpan>{{0, 30, 900}, {30, 40, 30}, {40, 50, 10}, {50, 60, 40}});
  CHECK(high_water_of_forgotten(spans, period(40, 50)) == 10);
  CHECK(high_water_of_forgotten(spans, period(35, 55)) == 40);
  // Forgotten once more, it may have gone further.
  add_forgotten(spans, {40, 50, 15});
  CHECK(high_water_of_forgotten(spans, period(40, 50)) == 15);
  CHECK(high_water_of_forgotten(spans, period(60, 70)) == 0);
}

TEST_CASE("WhatWasForgottenStaysWithinASpanAndSpansStayInOrder", "[period][property]") {
  SeededRandom random(7);
  std::vector<PeriodSpan> spans;
  std::vector<PeriodSpan> added;
  for (int i = 0; i < 3'000; ++i) {
    if (i % 40 == 0) {
      spans.clear();
      added.clear();
    }
    const auto begin = static_cast<std::int64_t>(random.below(500)) * 10;
    added.push_back({begin, begin + 10, static_cast<std::int64_t>(random.below(100))});
    add_forgotten(spans, added.back());
    if (!are_spans(spans)) FAIL("spans");
    for (const PeriodSpan& one : added) {
      const std::int64_t high_water =
          high_water_of_forgotten(spans, period(one.begin_s, one.end_s));
      if (high_water < std::max<std::int64_t>(one.high_water, 1)) FAIL(one.begin_s);
    }
  }
}

}  // namespace
}  // namespace seqd
