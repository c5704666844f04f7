#include "daemon/base/fair_share.h"

#include <catch2/catch.hpp>
#include <vector>

namespace seqd {
namespace {

std::int64_t take_all(FairShare& share, UserId user) {
  while (share.allows(user, 1)) share.take(user, 1);
  return share.used_by(user);
}

TEST_CASE("OneUserLeavesAPartForTheNext", "[fair_share]") {
  FairShare half(1'000, 1);
  CHECK(take_all(half, 7) == 500);
  CHECK(take_all(half, 8) == 250);
  CHECK(take_all(half, 9) == 125);
  CHECK(half.used() == 875);
  FairShare seven_eighths(1'000, 7);
  CHECK(take_all(seven_eighths, 7) == 875);
  CHECK(take_all(seven_eighths, 8) == 109);
}

TEST_CASE("EachNewUserGetsSomethingUntilNothingIsLeft", "[fair_share]") {
  FairShare share(64, 1);
  std::int64_t sum = 0;
  UserId user = 0;
  while (share.used() < share.total()) {
    const std::int64_t got = take_all(share, ++user);
    REQUIRE(got > 0);
    sum += got;
  }
  CHECK(user == 7);
  CHECK(sum == 64);
  CHECK_FALSE(share.allows(100, 1));
}

TEST_CASE("WhatIsReturnedIsForEverybody", "[fair_share]") {
  FairShare share(100, 1);
  CHECK(take_all(share, 7) == 50);
  CHECK(take_all(share, 8) == 25);
  CHECK_FALSE(share.allows(8, 1));
  share.release(7, 50);
  CHECK(share.used_by(7) == 0);
  CHECK(share.allows(8, 1));
  CHECK(take_all(share, 8) == 50);
}

TEST_CASE("AUserWithNothingGetsTheLastOfIt", "[fair_share]") {
  FairShare one(1, 1);
  CHECK(one.allows(7, 1));
  one.take(7, 1);
  CHECK_FALSE(one.allows(8, 1));
  FairShare several(10, 1);
  CHECK(several.allows(7, 10));
  CHECK_FALSE(several.allows(7, 11));
}

TEST_CASE("ALowerTotalTakesNothingAway", "[fair_share]") {
  FairShare share(100, 7);
  share.take(7, 80);
  share.set_total(50);
  CHECK(share.used_by(7) == 80);
  CHECK_FALSE(share.allows(7, 1));
  CHECK_FALSE(share.allows(8, 1));
  share.release(7, 60);
  CHECK(share.allows(8, 1));
}

}  // namespace
}  // namespace seqd
