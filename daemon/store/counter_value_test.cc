#include "daemon/store/counter_value.h"

#include <limits>

#include <catch2/catch.hpp>

namespace seqd {
namespace {

constexpr std::int64_t kTop = std::numeric_limits<std::int64_t>::max();

LeaseRequest request_of(std::int64_t count, std::int64_t high_water, std::int64_t max_value) {
  LeaseRequest request;
  request.binding.key = "orders";
  request.count = count;
  request.high_water = high_water;
  request.max_value = max_value;
  return request;
}

TEST_CASE("CounterValue: the number and the last issued ID are each other's inverse", "[store]") {
  for (const Meaning meaning : {Meaning::last, Meaning::next}) {
    for (const std::int64_t last :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{999}, kHighestId}) {
      REQUIRE(last_issued_of(value_of(last, meaning), meaning) == last);
    }
    REQUIRE(value_of(0, meaning) == lowest_value(meaning));
  }
  REQUIRE(value_of(999, Meaning::next) == 1000);
  REQUIRE(last_issued_of(kTop, Meaning::last) == kTop);
}

TEST_CASE("CounterValue: a span is what was asked, shortened at the end, and nothing beyond it",
          "[store]") {
  const auto span = [](std::int64_t last, const LeaseRequest& request) {
    return span_after(last, request, "here");
  };
  REQUIRE(span(0, request_of(10, 0, 100))->begin == 1);
  REQUIRE(span(0, request_of(10, 0, 100))->end == 11);
  REQUIRE(span(95, request_of(10, 0, 100))->end == 101);
  REQUIRE(span(100, request_of(10, 0, 100)).status().code() == ErrorCode::EXHAUSTED);
  REQUIRE(span(200, request_of(10, 0, 100)).status().code() == ErrorCode::EXHAUSTED);
  REQUIRE(span(0, request_of(kTop, 0, kTop))->end == kTop);
  REQUIRE(span(kTop - 2, request_of(kTop, 0, kTop))->end == kTop);
  REQUIRE(span(kTop - 1, request_of(1, 0, kTop)).status().code() == ErrorCode::EXHAUSTED);
  REQUIRE(span(kTop, request_of(1, 0, kTop)).status().code() == ErrorCode::EXHAUSTED);
}

TEST_CASE(
    "CounterValue: a next ID below the high-water mark is a regression, at the high-water mark it "
    "is not",
    "[store]") {
  REQUIRE(span_after(9, request_of(10, 11, 100), "here").status().code() ==
          ErrorCode::SEQ_REGRESSED);
  REQUIRE(span_after(10, request_of(10, 11, 100), "here")->begin == 11);
  REQUIRE(span_after(50, request_of(10, 11, 100), "here")->begin == 51);
}

TEST_CASE(
    "CounterValue: the meaning is what both sides say, and contradiction or silence is an error",
    "[store]") {
  const auto agreed = [](Meaning configured, Meaning marked) {
    return agreed_meaning(configured, marked, "here");
  };
  REQUIRE(*agreed(Meaning::last, Meaning::unset) == Meaning::last);
  REQUIRE(*agreed(Meaning::unset, Meaning::next) == Meaning::next);
  REQUIRE(*agreed(Meaning::next, Meaning::next) == Meaning::next);
  REQUIRE(agreed(Meaning::unset, Meaning::unset).status().code() == ErrorCode::SEQ_MEANING);
  REQUIRE(agreed(Meaning::next, Meaning::last).status().code() == ErrorCode::SEQ_MEANING);
  REQUIRE(agreed(Meaning::last, Meaning::next).status().code() == ErrorCode::SEQ_MEANING);
}

}  // namespace
}  // namespace seqd
