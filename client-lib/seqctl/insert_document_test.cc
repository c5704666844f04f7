#include "client-lib/seqctl/insert_document.h"

#include <string>

#include <catch2/catch.hpp>

namespace seqd::seqctl {
namespace {

std::string packed(const std::string& json) {
  std::string error;
  const auto bytes = message_pack_of_json(json, error);
  INFO(error);
  REQUIRE(bytes);
  return *bytes;
}

std::string refusal(const std::string& json) {
  std::string error;
  CHECK_FALSE(message_pack_of_json(json, error));
  return error;
}

TEST_CASE("FieldsStayInTheirOrderAndIntegersIntegers", "[seqctl]") {
  CHECK(packed(R"({"b": 1, "a": -1, "c": [true, null, "x"]})") == std::string("\x83\xa1"
                                                                              "b\x01\xa1"
                                                                              "a\xff\xa1"
                                                                              "c\x93\xc3\xc0\xa1"
                                                                              "x",
                                                                              14));
  CHECK(packed(R"({"n": 9223372036854775807})") ==
        std::string("\x81\xa1n\xcf\x7f\xff\xff\xff\xff\xff\xff\xff", 12));
  CHECK(packed(R"({"n": -9223372036854775808})") ==
        std::string("\x81\xa1n\xd3\x80\x00\x00\x00\x00\x00\x00\x00", 12));
}

TEST_CASE("NumbersWithAFractionOrAnExponentAreDoubles", "[seqctl]") {
  CHECK(packed(R"({"n": 0.1})") ==
        std::string("\x81\xa1n\xcb\x3f\xb9\x99\x99\x99\x99\x99\x9a", 12));
  CHECK(static_cast<unsigned char>(packed(R"({"n": 1.0})")[3]) == 0xca);
  CHECK(static_cast<unsigned char>(packed(R"({"n": 1e3})")[3]) == 0xca);
}

TEST_CASE("WhatWouldBeRoundedDroppedOrIsNoObjectIsRefused", "[seqctl]") {
  CHECK(refusal(R"({"n": 9223372036854775808})").find("above 2^63-1") != std::string::npos);
  CHECK(refusal(R"({"n": 18446744073709551616})").find("64 bits") != std::string::npos);
  CHECK(refusal(R"({"n": -9223372036854775809})").find("64 bits") != std::string::npos);
  CHECK(refusal(R"({"a": 1, "b": {"c": 1, "c": 2}})").find("\"c\" comes twice") !=
        std::string::npos);
  CHECK(refusal("[1]").find("not a JSON object") != std::string::npos);
  CHECK(refusal("7").find("not a JSON object") != std::string::npos);
  CHECK(refusal(R"({"a": 1} x)").find("byte 10") != std::string::npos);
  CHECK(refusal(R"({"a": 1)").find("not JSON") != std::string::npos);
  CHECK(refusal("").find("not JSON") != std::string::npos);
  CHECK(refusal(R"({"n": 1e999})").find("not JSON") != std::string::npos);
  CHECK(refusal("{\"a\":" + std::string(200, '[') + std::string(200, ']') + "}").find("deeper") !=
        std::string::npos);
}

}  // namespace
}  // namespace seqd::seqctl
