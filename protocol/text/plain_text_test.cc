#include "protocol/text/plain_text.h"

#include <catch2/catch.hpp>
#include <random>
#include <string>

#include "protocol/hex_bytes.h"

namespace seqd::protocol {
namespace {

std::string plain(std::string_view text, std::size_t room = 100) {
  std::string out(room, '#');
  const std::size_t written = write_plain_text(text, out.data(), room);
  REQUIRE(written <= room);
  CHECK(out.find_first_not_of('#', written) == std::string::npos);
  out.resize(written);
  return out;
}

}  // namespace

TEST_CASE("PrintableTextStaysAsItIs", "[protocol][plain_text]") {
  const std::string text = "abc ~ \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf";
  CHECK(plain(text) == text);
  CHECK(plain("").empty());
}

TEST_CASE("ControlCharactersBecomeQuestionMarks", "[protocol][plain_text]") {
  CHECK(plain(std::string_view("a\0b\n\t\x1b\x7f", 7)) == "a?b????");
  CHECK(plain("\xc2\x9b") == "??");  // CSI of C1: a terminal would obey it
  CHECK(plain("\xc2\xa0") == "\xc2\xa0");
}

TEST_CASE("WhatIsNotUtf8BecomesQuestionMarks", "[protocol][plain_text]") {
  for (const char* hex : {"ff", "80", "c0 80", "c1 bf", "e0 80 80", "ed a0 80", "f0 80 80 80",
                          "f4 90 80 80", "f5 80 80 80", "c3", "e2 82", "f0 9f 98"}) {
    const Bytes bytes = hex_bytes(hex);
    INFO(hex);
    CHECK(plain({reinterpret_cast<const char*>(bytes.data()), bytes.size()}) ==
          std::string(bytes.size(), '?'));
  }
  CHECK(plain("\xe2\x41") == "?A");
}

TEST_CASE("TextIsCutBetweenCharacters", "[protocol][plain_text]") {
  const std::string text =
      "ab\xe2\x82\xac"
      "c";
  CHECK(plain(text, 2) == "ab");
  CHECK(plain(text, 3) == "ab");
  CHECK(plain(text, 4) == "ab");
  CHECK(plain(text, 5) == "ab\xe2\x82\xac");
  CHECK(plain(text, 0).empty());
}

TEST_CASE("PlainTextOfRandomBytesIsPlain", "[protocol][plain_text]") {
  INFO("seed " << Catch::rngSeed());
  std::mt19937_64 random(Catch::rngSeed());
  for (int round = 0; round < 50'000; ++round) {
    std::string text(random() % 24, ' ');
    for (char& c : text) c = static_cast<char>(random() % 3 == 0 ? random() : 0x80 | random());
    const std::string once = plain(text, 24);
    REQUIRE(plain(once, 24) == once);
  }
}

}  // namespace seqd::protocol
