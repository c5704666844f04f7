#include "protocol/text/utf8.h"

#include <cstdint>
#include <string>

#include <catch2/catch.hpp>

namespace seqd::protocol {
namespace {

// The character's bytes by the definition, whatever the number.
std::string encoded(std::uint32_t number) {
  const auto byte = [](std::uint32_t value) { return static_cast<char>(value); };
  const auto tail = [&](unsigned shift) { return byte(0x80 | ((number >> shift) & 0x3f)); };
  if (number < 0x80) return {byte(number)};
  if (number < 0x800) return {byte(0xc0 | number >> 6), tail(0)};
  if (number < 0x10000) return {byte(0xe0 | number >> 12), tail(6), tail(0)};
  return {byte(0xf0 | number >> 18), tail(12), tail(6), tail(0)};
}

TEST_CASE("EveryCharacterOfUnicodeIsUtf8AndNoSurrogateAndNothingAbove", "[protocol]") {
  for (std::uint32_t number = 0; number < 0x120000; ++number) {
    const bool good = number <= 0x10ffff && (number < 0xd800 || number > 0xdfff);
    if (is_utf8(encoded(number)) != good) FAIL("U+" << std::hex << number);
  }
}

TEST_CASE("LongFormsCutCharactersAndLoneBytesAreNotUtf8", "[protocol]") {
  for (const std::string& wrong :
       {std::string("\x80"), std::string("\xc0\x80"), std::string("\xc1\xbf"),
        std::string("\xe0\x9f\xbf"), std::string("\xf0\x8f\xbf\xbf"), std::string("\xc3"),
        std::string("\xe2\x82"), std::string("a\xf0\x9f\x98"), std::string("\xff"),
        std::string("\xc3(")}) {
    CHECK_FALSE(is_utf8(wrong));
    CHECK_FALSE(is_utf8("before" + wrong + "behind"));
  }
}

TEST_CASE("TextsWithZeroBytesAndNoTextAtAllAreUtf8", "[protocol]") {
  CHECK(is_utf8(""));
  CHECK(is_utf8(std::string("a\0b", 3)));
  CHECK(is_utf8("\xf0\x9f\x98\x80 \xc3\xa9"));
}

}  // namespace
}  // namespace seqd::protocol
