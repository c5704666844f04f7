#include "protocol/requests.h"

#include <catch2/catch.hpp>
#include <string>

#include "protocol/hex_bytes.h"
#include "protocol/messages.h"

namespace seqd::protocol {
namespace {

std::string hex(const Buffer& buffer) {
  return to_hex_digits(buffer.bytes());
}

Message parsed(const Buffer& buffer) {
  Message message;
  REQUIRE(parse_message(buffer.bytes(), message).ok());
  return message;
}

}  // namespace

TEST_CASE("RequestsAreWrittenInTheirShortestForm", "[protocol][requests]") {
  Buffer buffer;
  append_next(buffer, 1, "x");
  CHECK(hex(buffer) == "940001a46e65787491a178");
  buffer.clear();
  append_next(buffer, 1, "x", 0);
  CHECK(hex(buffer) == "940001a46e65787492a17881aa74696d656f75745f6d7300");
  buffer.clear();
  append_range(buffer, 256, "x", 1'000);
  CHECK(hex(buffer) == "9400cd0100a572616e676592a178cd03e8");
  buffer.clear();
  append_peek(buffer, 2, "x");
  CHECK(hex(buffer) == "940002a47065656b91a178");
  buffer.clear();
  append_call(buffer, 3, "ping");
  CHECK(hex(buffer) == "940003a470696e6790");
  buffer.clear();
  append_ack(buffer, 65'536);
  CHECK(hex(buffer) == "9302a361636b91ce00010000");
}

TEST_CASE("TheOptionsOfARangeStandBehindItsCount", "[protocol][requests]") {
  Buffer buffer;
  append_range(buffer, 4, "x", 10, 2'500);
  Message message = parsed(buffer);
  CHECK(message.method == "range");
  CHECK(message.param_count == 3);
  CHECK(message.params.read_text() == "x");
  CHECK(message.params.read_integer() == 10);
  CHECK(message.params.read_map() == 1U);
  CHECK(message.params.read_text() == "timeout_ms");
  CHECK(message.params.read_integer() == 2'500);
  CHECK(message.params.at_end());
}

TEST_CASE("HelloSaysOnlyWhatTheClientGave", "[protocol][requests]") {
  Buffer buffer;
  append_hello(buffer, 1, {});
  CHECK(hex(buffer) == "940001a568656c6c6f9180");

  Hello hello;
  hello.client.emplace();
  for (std::size_t at = 0; at < kIdentityBytes; ++at)
    (*hello.client)[at] = static_cast<std::uint8_t>(0xf0 + at);
  hello.name = "billing";
  buffer.clear();
  append_hello(buffer, 1, hello);
  Message message = parsed(buffer);
  CHECK(message.params.read_map() == 2U);
  CHECK(message.params.read_text() == "client");
  CHECK(message.params.kind() == ValueKind::binary);
  const auto identity = message.params.read_text();
  REQUIRE(identity.has_value());
  CHECK(to_hex_digits(bytes_of(*identity)) == "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");
  CHECK(message.params.read_text() == "name");
  CHECK(message.params.read_text() == "billing");
  CHECK(message.params.at_end());
}

TEST_CASE("AnInsertCarriesItsDocumentAndWhatIsSaidOfIt", "[protocol][requests]") {
  const std::string document(
      "\x81\xa1"
      "a\x07",
      4);
  Buffer buffer;
  append_insert(buffer, 3, "users", document, {});
  Message message = parsed(buffer);
  CHECK(message.method == "insert");
  CHECK(message.param_count == 2);
  CHECK(message.params.read_text() == "users");
  CHECK(message.params.read_map() == 1U);
  CHECK(message.params.read_text() == "a");
  CHECK(message.params.read_integer() == 7);
  CHECK(message.params.at_end());

  buffer.clear();
  append_insert(buffer, 3, "users", document, {.timeout_ms = 50, .connection = "here"});
  message = parsed(buffer);
  CHECK(message.param_count == 3);
  CHECK(message.params.skip());
  CHECK(message.params.skip());
  CHECK(message.params.read_map() == 2U);
  CHECK(message.params.read_text() == "timeout_ms");
  CHECK(message.params.read_integer() == 50);
  CHECK(message.params.read_text() == "connection");
  CHECK(message.params.read_text() == "here");
  CHECK(message.params.at_end());
}

}  // namespace seqd::protocol
