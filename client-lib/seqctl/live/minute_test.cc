#include "client-lib/seqctl/live/minute.h"

#include <catch2/catch.hpp>

namespace seqd::seqctl {
namespace {

std::string blanks(std::size_t count) {
  return std::string(count, ' ');
}

}  // namespace

TEST_CASE("AMinuteIsDrawnRelativeToItsHighestRate", "[client]") {
  Minute minute;
  minute.add(0, 0, 2'999);
  minute.add(50, 3'000, 5'999);
  minute.add(100, 6'000, 8'999);
  CHECK(minute.text(8'999, false) == blanks(17) + "_=#");
  CHECK(minute.text(8'999, true) == blanks(17) + "▁▅█");
  CHECK(minute.text(11'000, false) == blanks(16) + "_=# ");
}

TEST_CASE("ALongIntervalFillsAllThatItIsAbout", "[client]") {
  Minute minute;
  minute.add(10, 0, 59'999);
  CHECK(minute.text(59'999, false) == std::string(20, '#'));
  minute.add(0, 59'999, 600'000);
  CHECK(minute.text(600'000, false) == std::string(20, '_'));
}

TEST_CASE("SamplesThatAreMissingOrOlderThanAMinuteAreBlank", "[client]") {
  Minute minute;
  minute.add(5, 0, 3'000);
  CHECK_FALSE(minute.is_over(59'999));
  CHECK(minute.is_over(66'000));
  CHECK(minute.text(66'000, false) == blanks(20));
  minute.add(5, 30'000, 33'000);
  CHECK(minute.text(33'000, false) == blanks(8) + "##" + blanks(8) + "##");
  CHECK(Minute().text(0, false) == blanks(20));
  CHECK(Minute().is_over(60'000));
}

TEST_CASE("TimesThatGoBackChangeNothing", "[client]") {
  Minute minute;
  minute.add(5, 30'000, 33'000);
  const std::string before = minute.text(33'000, false);
  minute.add(9, 3'000, 6'000);
  minute.add(9, -1, 6'000);
  minute.add(9, 36'000, 33'000);
  CHECK(minute.text(33'000, false) == before);
}

}  // namespace seqd::seqctl
