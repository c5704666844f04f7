#include "daemon/base/text/radix.h"

#include <rapidcheck.h>

#include <limits>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace seqd {
namespace {

constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();

std::string written(unsigned base, std::uint64_t number, std::size_t width) {
  const Radix& radix = *Radix::find(base);
  std::vector<std::uint8_t> digits(width);
  REQUIRE(radix.split(number, digits));
  std::string out;
  for (const std::uint8_t digit : digits) out += radix.digit(digit);
  return out;
}

TEST_CASE("BaseThatHasNoAlphabetIsNotFound", "[radix]") {
  for (const unsigned base : {0U, 2U, 9U, 33U, 64U, 1'000U}) CHECK(Radix::find(base) == nullptr);
}

TEST_CASE("NumberIsWrittenInEveryBase", "[radix]") {
  CHECK(written(10, 42, 6) == "000042");
  CHECK(written(16, 48'879, 4) == "BEEF");
  CHECK(written(32, 1'234, 4) == "016J");  // the example of Crockford's page
  CHECK(written(36, 46'655, 3) == "ZZZ");
  CHECK(written(58, 58, 3) == "121");
  CHECK(written(62, 61, 2) == "0z");
}

TEST_CASE("HighestNumberFillsTheLongestTextOfEveryBase", "[radix]") {
  for (const unsigned base : {10U, 16U, 32U, 36U, 58U, 62U}) {
    const Radix& radix = *Radix::find(base);
    CHECK(radix.length(static_cast<std::uint64_t>(kHighest)) == radix.longest());
    CHECK(radix.longest() <= Radix::kMostDigits);
    std::vector<std::uint8_t> digits(radix.longest());
    REQUIRE(radix.split(static_cast<std::uint64_t>(kHighest), digits));
    CHECK(radix.join(digits) == kHighest);
    // One more is above all numbers; so are digits that are all the highest.
    REQUIRE(radix.split(static_cast<std::uint64_t>(kHighest) + 1, digits));
    CHECK_FALSE(radix.join(digits));
    digits.assign(radix.longest(), static_cast<std::uint8_t>(base - 1));
    CHECK_FALSE(radix.join(digits));
  }
}

TEST_CASE("NumberThatNeedsMoreDigitsIsNotSplit", "[radix]") {
  std::vector<std::uint8_t> digits(3);
  CHECK_FALSE(Radix::find(10)->split(1'000, digits));
  CHECK(Radix::find(10)->split(999, digits));
}

TEST_CASE("LookalikesAreReadWhereTheAlphabetDefinesThem", "[radix]") {
  const Radix& crockford = *Radix::find(32);
  for (const char c : {'i', 'I', 'l', 'L'}) CHECK(crockford.value(c) == 1);
  for (const char c : {'o', 'O'}) CHECK(crockford.value(c) == 0);
  for (const char c : {'u', 'U', '-', '*'}) CHECK(crockford.value(c) == -1);
  CHECK(crockford.value('z') == 31);
  CHECK(Radix::find(16)->value('f') == 15);
  CHECK(Radix::find(16)->value('g') == -1);
  CHECK(Radix::find(36)->value('o') == 24);
  for (const char c : {'0', 'O', 'I', 'l'}) CHECK(Radix::find(58)->value(c) == -1);
  CHECK(Radix::find(62)->value('a') == 36);
  CHECK(Radix::find(62)->value('A') == 10);
  for (const unsigned base : {10U, 16U, 32U, 36U, 58U, 62U}) {
    for (const char c : {'\0', ' ', '\x80', '\xff', '_'}) CHECK(Radix::find(base)->value(c) == -1);
  }
}

TEST_CASE("SplitAndJoinAreInverse", "[radix]") {
  CHECK(rc::check([] {
    const Radix& radix = *Radix::find(*rc::gen::element(10U, 16U, 32U, 36U, 58U, 62U));
    const auto number = *rc::gen::inRange<std::int64_t>(0, kHighest);
    std::vector<std::uint8_t> digits(radix.length(static_cast<std::uint64_t>(number)));
    RC_ASSERT(radix.split(static_cast<std::uint64_t>(number), digits));
    RC_ASSERT(radix.join(digits) == number);
    for (const std::uint8_t digit : digits) RC_ASSERT(radix.value(radix.digit(digit)) == digit);
  }));
}

}  // namespace
}  // namespace seqd
