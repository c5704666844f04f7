#include "protocol/values/value_reader.h"

#include <catch2/catch.hpp>
#include <limits>
#include <string>
#include <utility>

#include "protocol/hex_bytes.h"

namespace seqd::protocol {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

}  // namespace

TEST_CASE("EveryEncodingOfAnIntegerIsRead", "[protocol][value_reader]") {
  const std::vector<std::pair<std::string, std::int64_t>> cases = {
      {"00", 0},
      {"7f", 127},
      {"ff", -1},
      {"e0", -32},
      {"cc 00", 0},
      {"cc ff", 255},
      {"cd 00 05", 5},
      {"cd ff ff", 65'535},
      {"ce 00 00 00 07", 7},
      {"ce ff ff ff ff", 4'294'967'295},
      {"cf 00 00 00 00 00 00 00 01", 1},
      {"cf 7f ff ff ff ff ff ff ff", kMax},
      {"d0 7f", 127},
      {"d0 80", -128},
      {"d1 00 01", 1},
      {"d1 80 00", -32'768},
      {"d2 00 00 00 01", 1},
      {"d2 80 00 00 00", -2'147'483'648},
      {"d3 00 00 00 00 00 00 00 01", 1},
      {"d3 ff ff ff ff ff ff ff ff", -1},
      {"d3 7f ff ff ff ff ff ff ff", kMax},
      {"d3 80 00 00 00 00 00 00 00", kMin},
  };
  for (const auto& [hex, expected] : cases) {
    INFO(hex);
    const Bytes bytes = hex_bytes(hex);
    ValueReader reader{bytes};
    CHECK(reader.kind() == ValueKind::integer);
    CHECK(reader.read_integer() == expected);
    CHECK(reader.at_end());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      ValueReader cut{std::span(bytes).first(size)};
      CHECK_FALSE(cut.read_integer());
      CHECK_FALSE(cut.skip());
      CHECK(cut.remaining() == size);
    }
  }
}

TEST_CASE("AnIntegerAboveInt64IsAnIntegerThatCannotBeRead", "[protocol][value_reader]") {
  for (const char* hex : {"cf 80 00 00 00 00 00 00 00", "cf ff ff ff ff ff ff ff ff"}) {
    const Bytes bytes = hex_bytes(hex);
    ValueReader reader{bytes};
    CHECK(reader.kind() == ValueKind::integer);
    CHECK_FALSE(reader.read_integer());
    CHECK(reader.remaining() == bytes.size());
    CHECK(reader.skip());
    CHECK(reader.at_end());
  }
}

TEST_CASE("AFloatIsNotAnInteger", "[protocol][value_reader]") {
  for (const char* hex : {"ca 3f 80 00 00", "cb 3f f0 00 00 00 00 00 00"}) {
    const Bytes bytes = hex_bytes(hex);
    ValueReader reader{bytes};
    CHECK(reader.kind() == ValueKind::floating);
    CHECK_FALSE(reader.read_integer());
    CHECK(reader.skip());
    CHECK(reader.at_end());
  }
}

TEST_CASE("EveryEncodingOfATextIsRead", "[protocol][value_reader]") {
  const std::vector<std::pair<std::string, ValueKind>> headers = {
      {"a3", ValueKind::string},
      {"d9 03", ValueKind::string},
      {"da 00 03", ValueKind::string},
      {"db 00 00 00 03", ValueKind::string},
      {"c4 03", ValueKind::binary},
      {"c5 00 03", ValueKind::binary},
      {"c6 00 00 00 03", ValueKind::binary},
  };
  for (const auto& [header, kind] : headers) {
    INFO(header);
    const Bytes bytes = hex_bytes(header + "61 62 63");
    ValueReader reader{bytes};
    CHECK(reader.kind() == kind);
    CHECK(reader.read_text() == "abc");
    CHECK(reader.at_end());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      ValueReader cut{std::span(bytes).first(size)};
      CHECK_FALSE(cut.read_text());
      CHECK_FALSE(cut.skip());
      CHECK(cut.remaining() == size);
    }
  }
}

TEST_CASE("AnEmptyTextIsATextAndNotNothing", "[protocol][value_reader]") {
  for (const char* hex : {"a0", "d9 00", "c4 00", "db 00 00 00 00"}) {
    const Bytes bytes = hex_bytes(hex);
    ValueReader reader{bytes};
    const auto text = reader.read_text();
    REQUIRE(text.has_value());
    CHECK(text->empty());
    CHECK(reader.at_end());
  }
}

TEST_CASE("EveryEncodingOfAnArrayAndAMapIsRead", "[protocol][value_reader]") {
  for (const char* header : {"92", "dc 00 02", "dd 00 00 00 02"}) {
    const Bytes bytes = hex_bytes(std::string(header) + "01 02");
    ValueReader reader{bytes};
    CHECK(reader.kind() == ValueKind::array);
    CHECK_FALSE(reader.read_map());
    CHECK(reader.read_array() == 2U);
    CHECK(reader.read_integer() == 1);
    CHECK(reader.read_integer() == 2);
    CHECK(reader.kind() == ValueKind::end);
  }
  for (const char* header : {"82", "de 00 02", "df 00 00 00 02"}) {
    const Bytes bytes = hex_bytes(std::string(header) + "01 02 03 04");
    ValueReader reader{bytes};
    CHECK(reader.kind() == ValueKind::map);
    CHECK_FALSE(reader.read_array());
    CHECK(reader.read_map() == 2U);
    CHECK(reader.remaining() == 4);
    ValueReader whole{bytes};
    CHECK(whole.skip());
    CHECK(whole.at_end());
  }
  const Bytes most = hex_bytes("df ff ff ff ff");
  ValueReader reader{most};
  CHECK(reader.read_map() == 0xffff'ffffU);
}

TEST_CASE("NilAndBooleansAreReadAsWhatTheyAre", "[protocol][value_reader]") {
  const Bytes bytes = hex_bytes("c0 c2 c3");
  ValueReader reader{bytes};
  CHECK_FALSE(reader.read_bool());
  CHECK(reader.read_nil());
  CHECK_FALSE(reader.read_nil());
  CHECK(reader.read_bool() == false);
  CHECK(reader.read_bool() == true);
  CHECK_FALSE(reader.read_bool());
  CHECK_FALSE(reader.read_nil());
  CHECK_FALSE(reader.skip());
}

TEST_CASE("ExtensionsOfEveryFormAreSkippedWhole", "[protocol][value_reader]") {
  const std::vector<std::pair<std::string, std::size_t>> headers = {
      {"d4 01", 1},      {"d5 01", 2},         {"d6 ff", 4},
      {"d7 ff", 8},      {"d8 01", 16},        {"c7 00 01", 0},
      {"c7 ff 01", 255}, {"c8 01 00 01", 256}, {"c9 00 01 00 00 01", 65'536},
  };
  for (const auto& [header, payload] : headers) {
    INFO(header);
    Bytes bytes = hex_bytes(header);
    const std::size_t size = bytes.size() + payload;
    bytes.resize(size);
    bytes.push_back(0xc0);
    ValueReader reader{bytes};
    CHECK(reader.kind() == ValueKind::extension);
    CHECK_FALSE(reader.read_text());
    CHECK_FALSE(reader.read_integer());
    CHECK(reader.skip());
    CHECK(reader.remaining() == 1);
    ValueReader cut(std::span<const std::uint8_t>(bytes).first(size - 1));
    CHECK_FALSE(cut.skip());
  }
}

TEST_CASE("TheByteWithoutMeaningIsNeverReadOrSkipped", "[protocol][value_reader]") {
  const Bytes bytes = hex_bytes("91 c1");
  ValueReader reader{bytes};
  CHECK_FALSE(reader.skip());
  CHECK(reader.read_array() == 1U);
  CHECK(reader.kind() == ValueKind::invalid);
  CHECK_FALSE(reader.skip());
  CHECK_FALSE(reader.read_nil());
  CHECK(reader.remaining() == 1);
}

TEST_CASE("DeepNestingIsSkippedWithoutAStack", "[protocol][value_reader]") {
  Bytes bytes(1'000'000, 0x91);
  bytes.push_back(0x00);
  ValueReader reader{bytes};
  CHECK(reader.skip());
  CHECK(reader.at_end());
}

TEST_CASE("FloatsOfBothWidthsAreReadExactlyAndIntegersAreNone", "[protocol][value_reader]") {
  const Bytes bytes = hex_bytes("ca 3e 20 00 00 cb 3f b9 99 99 99 99 99 9a ca 7f 80 00 00 01");
  ValueReader reader{bytes};
  CHECK(reader.read_float() == 0.15625);
  CHECK(reader.read_float() == 0.1);
  CHECK(reader.read_float() == std::numeric_limits<double>::infinity());
  CHECK_FALSE(reader.read_float());
  CHECK(reader.remaining() == 1);
  const Bytes cut = hex_bytes("cb 3f b9 99 99 99 99 99");
  ValueReader short_reader{cut};
  CHECK_FALSE(short_reader.read_float());
  CHECK(short_reader.remaining() == 8);
}

TEST_CASE("ExtensionsOfEveryFormAreReadWithTypeAndBytes", "[protocol][value_reader]") {
  for (const auto& [text, size] : std::vector<std::pair<std::string, std::size_t>>{
           {"d4 05 aa", 1},
           {"d5 05 aa bb", 2},
           {"d6 05 aa bb cc dd", 4},
           {"d7 05 aa bb cc dd ee ff 00 11", 8},
           {"d8 05 aa bb cc dd ee ff 00 11 aa bb cc dd ee ff 00 11", 16},
           {"c7 03 05 aa bb cc", 3},
           {"c7 00 05", 0},
           {"c8 00 02 05 aa bb", 2},
           {"c9 00 00 00 01 05 aa", 1}}) {
    const Bytes bytes = hex_bytes(text);
    ValueReader reader{bytes};
    const auto found = reader.read_extension();
    REQUIRE(found);
    CHECK(found->type == 5);
    CHECK(found->bytes.size() == size);
    CHECK((size == 0 || found->bytes.front() == 0xaa));
    CHECK(reader.at_end());
    ValueReader cut{std::span(bytes).first(bytes.size() - 1)};
    CHECK_FALSE(cut.read_extension());
    CHECK(cut.remaining() == bytes.size() - 1);
  }
  const Bytes negative = hex_bytes("d4 ff 00");
  ValueReader reader{negative};
  CHECK(reader.read_extension()->type == -1);
}

TEST_CASE("ADefaultReaderIsAtItsEnd", "[protocol][value_reader]") {
  ValueReader reader;
  CHECK(reader.kind() == ValueKind::end);
  CHECK(reader.at_end());
  CHECK_FALSE(reader.read_integer());
  CHECK_FALSE(reader.read_text());
  CHECK_FALSE(reader.read_array());
  CHECK_FALSE(reader.skip());
}

}  // namespace seqd::protocol
