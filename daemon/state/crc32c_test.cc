#include "daemon/state/crc32c.h"

#include <catch2/catch.hpp>
#include <string_view>
#include <vector>

namespace seqd {
namespace {

std::vector<std::uint8_t> bytes_of(std::string_view text) {
  return {text.begin(), text.end()};
}

TEST_CASE("Crc32cOfTheStandardVectorIsTheStandardValue") {
  CHECK(crc32c(0, bytes_of("123456789")) == 0xe3069283);
  CHECK(crc32c_by_table(0, bytes_of("123456789")) == 0xe3069283);
  CHECK(crc32c(0, {}) == 0);
}

TEST_CASE("Crc32cByTableAndByInstructionAgreeAtEveryLengthAndSplit") {
  std::vector<std::uint8_t> bytes;
  for (unsigned i = 0; i < 70; ++i) bytes.push_back(static_cast<std::uint8_t>(i * 37 + 11));
  const std::span<const std::uint8_t> all(bytes);
  for (std::size_t length = 0; length <= bytes.size(); ++length) {
    const std::uint32_t whole = crc32c(5, all.first(length));
    REQUIRE(whole == crc32c_by_table(5, all.first(length)));
    for (std::size_t cut = 0; cut <= length; ++cut) {
      REQUIRE(whole == crc32c(crc32c(5, all.first(cut)), all.subspan(cut, length - cut)));
    }
  }
}

}  // namespace
}  // namespace seqd
