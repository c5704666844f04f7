#include "daemon/base/text/check_digits.h"

#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

namespace seqd {
namespace {

std::string random_digits() {
  return *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange('0', ':')));
}

// Whether the check digits at the end of `text` are those of the rest.
bool matches(CheckKind kind, const std::string& text) {
  const std::size_t length = text.size() - check_length(kind);
  return check_digits(kind, text.substr(0, length)) == text.substr(length);
}

TEST_CASE("CheckDigitsAreThoseOfTheStandards", "[check_digits]") {
  CHECK(check_digits(CheckKind::luhn, "7992739871") == "3");
  CHECK(check_digits(CheckKind::luhn, "411111111111111") == "1");  // a card's number for tests
  CHECK(check_digits(CheckKind::luhn, "0") == "0");
  CHECK(check_digits(CheckKind::damm, "572") == "4");
  CHECK(check_digits(CheckKind::mod97, "794") == "44");
  // GB82 WEST 1234 5698 7654 32: an IBAN is checked with its country behind.
  CHECK(check_digits(CheckKind::mod97, "WEST12345698765432GB") == "82");
  CHECK(check_digits(CheckKind::mod97, "west12345698765432gb") == "82");
  CHECK(check_digits(CheckKind::none, "42").empty());
}

TEST_CASE("OtherCharactersAreSkipped", "[check_digits]") {
  CHECK(check_digits(CheckKind::luhn, "INV-79927/39871") == "3");
  CHECK(check_digits(CheckKind::damm, "No. 57\x80 2") == "4");
  CHECK(check_digits(CheckKind::mod97, "7-9 4\xff") == "44");
  CHECK(check_digits(CheckKind::mod97, "A1") != check_digits(CheckKind::mod97, "1"));
}

TEST_CASE("CheckDigitsOfNothingAreThoseOfZero", "[check_digits]") {
  for (const CheckKind kind : {CheckKind::luhn, CheckKind::damm, CheckKind::mod97})
    CHECK(check_digits(kind, "") == check_digits(kind, "000"));
}

TEST_CASE("EveryWrongDigitIsFound", "[check_digits]") {
  CHECK(rc::check([] {
    const auto kind = *rc::gen::element(CheckKind::luhn, CheckKind::damm, CheckKind::mod97);
    std::string text = random_digits();
    text += check_digits(kind, text);
    RC_ASSERT(matches(kind, text));
    for (char& digit : text) {
      const char right = digit;
      for (digit = '0'; digit <= '9'; ++digit) RC_ASSERT(matches(kind, text) == (digit == right));
      digit = right;
    }
  }));
}

TEST_CASE("EverySwapOfNeighboursIsFoundAndLuhnMissesOnlyZeroNine", "[check_digits]") {
  CHECK(rc::check([] {
    const auto kind = *rc::gen::element(CheckKind::luhn, CheckKind::damm, CheckKind::mod97);
    std::string text = random_digits();
    text += check_digits(kind, text);
    for (std::size_t at = 0; at + 1 < text.size(); ++at) {
      const auto [low, high] = std::minmax(text[at], text[at + 1]);
      const bool unseen = low == high || (kind == CheckKind::luhn && low == '0' && high == '9');
      std::swap(text[at], text[at + 1]);
      RC_ASSERT(matches(kind, text) == unseen);
      std::swap(text[at], text[at + 1]);
    }
  }));
}

TEST_CASE("EveryWrongLetterIsFoundByMod97", "[check_digits]") {
  CHECK(rc::check([] {
    std::string text = random_digits() + "Q" + random_digits();
    const std::size_t at = text.find('Q');
    text[at] = *rc::gen::inRange('A', '[');
    text += check_digits(CheckKind::mod97, text);
    const char right = text[at];
    for (text[at] = 'A'; text[at] <= 'Z'; ++text[at])
      RC_ASSERT(matches(CheckKind::mod97, text) == (text[at] == right));
  }));
}

// The weakness that the header tells of.
TEST_CASE("SwapThatMod97CannotSeeIsTheDocumentedOne", "[check_digits]") {
  int unseen = 0;
  for (char letter = 'A'; letter <= 'Z'; ++letter) {
    for (char digit = '0'; digit <= '9'; ++digit) {
      const std::string one = {letter, digit};
      const std::string other = {digit, letter};
      if (check_digits(CheckKind::mod97, one) == check_digits(CheckKind::mod97, other)) ++unseen;
    }
  }
  CHECK(unseen == 3);
  CHECK(check_digits(CheckKind::mod97, "B1") == check_digits(CheckKind::mod97, "1B"));
  CHECK(check_digits(CheckKind::mod97, "M2") == check_digits(CheckKind::mod97, "2M"));
  CHECK(check_digits(CheckKind::mod97, "X3") == check_digits(CheckKind::mod97, "3X"));
}

}  // namespace
}  // namespace seqd
