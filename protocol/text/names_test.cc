#include "protocol/text/names.h"

#include <catch2/catch.hpp>
#include <string>

namespace seqd::protocol {

TEST_CASE("NamesOfEveryAllowedByteAreLegal", "[protocol][names]") {
  CHECK_FALSE(check_sequence_name("a"));
  CHECK_FALSE(
      check_sequence_name("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-"));
}

TEST_CASE("EveryOtherByteIsRefused", "[protocol][names]") {
  int allowed = 0;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string name = {'x', static_cast<char>(byte), 'y'};
    const auto problem = check_sequence_name(name);
    if (!problem) ++allowed;
    if (problem) CHECK(problem->code == ErrorCode::BAD_REQUEST);
  }
  CHECK(allowed == 26 + 26 + 10 + 4);
}

TEST_CASE("ANameIsAsLongAsItsLimitAllows", "[protocol][names]") {
  CHECK(check_sequence_name("")->code == ErrorCode::BAD_REQUEST);
  CHECK_FALSE(check_sequence_name(std::string(128, 'n')));
  CHECK(check_sequence_name(std::string(129, 'n'))->code == ErrorCode::TOO_LARGE);
  CHECK_FALSE(check_sequence_name("12345678", 8));
  const auto problem = check_sequence_name("123456789", 8);
  REQUIRE(problem.has_value());
  CHECK(problem->code == ErrorCode::TOO_LARGE);
  CHECK(problem->text.find("limit name") != std::string_view::npos);
}

}  // namespace seqd::protocol
