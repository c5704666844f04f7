#include "daemon/core/leasing/lease_sizer.h"

#include "daemon/base/assertion.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("FirstLeaseHasTheSmallestSize", "[lease_sizer]") {
  constexpr LeaseSizer::Bounds kBounds{10, 1'000, 10'000};
  LeaseSizer sizer(kBounds);
  REQUIRE(sizer.next_size(kBounds, 0, 0, true) == 10);
}

TEST_CASE("SteadyRateGetsLeasesOfTheTargetTime", "[lease_sizer]") {
  constexpr LeaseSizer::Bounds kBounds{10, 100'000, 10'000};
  LeaseSizer sizer(kBounds);
  std::int64_t issued = 0;
  std::int64_t size = sizer.next_size(kBounds, 0, issued, false);
  // 100 IDs a second for 10 s are 1,000.
  for (std::int64_t now_ms = 1'000; now_ms <= 10'000; now_ms += 1'000) {
    size = sizer.next_size(kBounds, now_ms, issued += 100, false);
  }
  REQUIRE(size == 1'000);
}

TEST_CASE("OneStepGrowsEightfoldAtMost", "[lease_sizer]") {
  constexpr LeaseSizer::Bounds kBounds{10, 100'000, 10'000};
  LeaseSizer sizer(kBounds);
  REQUIRE(sizer.next_size(kBounds, 0, 0, true) == 10);
  REQUIRE(sizer.next_size(kBounds, 1, 1'000'000, true) == 80);
  REQUIRE(sizer.next_size(kBounds, 2, 2'000'000, true) == 640);
}

TEST_CASE("OneStepHalvesAtMost", "[lease_sizer]") {
  constexpr LeaseSizer::Bounds kBounds{10, 100'000, 10'000};
  LeaseSizer sizer(kBounds);
  static_cast<void>(sizer.next_size(kBounds, 0, 0, true));
  static_cast<void>(sizer.next_size(kBounds, 1, 1'000'000, true));
  REQUIRE(sizer.next_size(kBounds, 2, 2'000'000, true) == 640);
  REQUIRE(sizer.next_size(kBounds, 1'000'000, 2'000'001, false) == 320);
}

TEST_CASE("SizeDoesNotShrinkWhileRequestsWait", "[lease_sizer]") {
  constexpr LeaseSizer::Bounds kBounds{10, 100'000, 10'000};
  LeaseSizer sizer(kBounds);
  static_cast<void>(sizer.next_size(kBounds, 0, 0, true));
  REQUIRE(sizer.next_size(kBounds, 1, 1'000'000, true) == 80);
  REQUIRE(sizer.next_size(kBounds, 1'000'000, 1'000'001, true) == 80);
}

TEST_CASE("SizeStaysWithinItsBounds", "[lease_sizer]") {
  constexpr LeaseSizer::Bounds kBounds{10, 100, 10'000};
  LeaseSizer sizer(kBounds);
  std::int64_t issued = 0;
  for (std::int64_t now_ms = 0; now_ms < 10; ++now_ms) {
    REQUIRE(sizer.next_size(kBounds, now_ms, issued += 1'000'000, true) <= 100);
  }
  REQUIRE(sizer.size() == 100);
  for (std::int64_t now_ms = 1'000'000; now_ms < 100'000'000; now_ms += 1'000'000) {
    REQUIRE(sizer.next_size(kBounds, now_ms, issued, false) >= 10);
  }
  REQUIRE(sizer.size() == 10);
}

TEST_CASE("NewBoundsApplyToThePresentSize", "[lease_sizer]") {
  constexpr LeaseSizer::Bounds kBounds{10, 100, 10'000};
  LeaseSizer sizer(kBounds);
  sizer.keep_within({50, 100, 10'000});
  REQUIRE(sizer.size() == 50);
  sizer.keep_within({1, 20, 10'000});
  REQUIRE(sizer.size() == 20);
}

TEST_CASE("SizeSurvivesTheLargestNumbers", "[lease_sizer]") {
  constexpr std::int64_t most = (std::int64_t{1} << 53) - 1;
  constexpr LeaseSizer::Bounds kBounds{1, most, most};
  LeaseSizer sizer(kBounds);
  static_cast<void>(sizer.next_size(kBounds, 0, 0, true));
  for (int at = 1; at < 40; ++at) {
    const std::int64_t size = sizer.next_size(kBounds, at, most / 40 * at, true);
    REQUIRE(size >= 1);
    REQUIRE(size <= most);
  }
}

}  // namespace
}  // namespace seqd
