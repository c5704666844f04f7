#include "daemon/store/mongo/driver/bson_conversion.h"

#include <rapidcheck.h>

#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "protocol/hex_bytes.h"
#include "protocol/values/value_writer.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

std::string bytes_of(const std::string& hex) {
  const protocol::Bytes bytes = protocol::hex_bytes(hex);
  return {bytes.begin(), bytes.end()};
}

// {"a": VALUE} of the value's bytes.
std::string with_value(const std::string& hex) {
  return bytes_of("81 a1 61 " + hex);
}

std::string json_of(const std::string& bytes) {
  const Result<Document> document = bson_of_map(bytes);
  INFO(document.status().to_string());
  REQUIRE(document.ok());
  std::size_t length = 0;
  char* json = bson_as_canonical_extended_json(document->get(), &length);
  std::string out(json, length);
  bson_free(json);
  return out;
}

std::string refusal(const std::string& bytes) {
  const Result<Document> document = bson_of_map(bytes);
  REQUIRE_FALSE(document.ok());
  CHECK(document.status().code() == ErrorCode::DOCUMENT_REFUSED);
  return document.status().text();
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("EveryValueThatBsonHasBecomesItsCounterpart", "[store]") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"c0", "null"},
      {"c3", "true"},
      {"c2", "false"},
      {"07", R"({ "$numberInt" : "7" })"},
      {"ff", R"({ "$numberInt" : "-1" })"},
      {"ce 7f ff ff ff", R"({ "$numberInt" : "2147483647" })"},
      {"ce 80 00 00 00", R"({ "$numberLong" : "2147483648" })"},
      {"d2 80 00 00 00", R"({ "$numberInt" : "-2147483648" })"},
      {"d3 ff ff ff ff 7f ff ff ff", R"({ "$numberLong" : "-2147483649" })"},
      {"cf 7f ff ff ff ff ff ff ff", R"({ "$numberLong" : "9223372036854775807" })"},
      {"d3 80 00 00 00 00 00 00 00", R"({ "$numberLong" : "-9223372036854775808" })"},
      {"cb 3f e0 00 00 00 00 00 00", R"({ "$numberDouble" : "0.5" })"},
      {"ca 3e 20 00 00", R"({ "$numberDouble" : "0.15625" })"},
      {"a2 c3 a9", "\"\xc3\xa9\""},
      {"a0", "\"\""},
      {"a3 61 00 62", R"("a\u0000b")"},
      {"c4 02 00 ff", R"({ "$binary" : { "base64" : "AP8=", "subType" : "00" } })"},
      {"d6 ff 00 00 00 01", R"({ "$date" : { "$numberLong" : "1000" } })"},
      {"d7 ff 00 7a 12 00 00 00 00 02", R"({ "$date" : { "$numberLong" : "2002" } })"},
      {"c7 0c ff 00 00 00 00 ff ff ff ff ff ff ff ff",
       R"({ "$date" : { "$numberLong" : "-1000" } })"},
      {"92 01 c0", R"([ { "$numberInt" : "1" }, null ])"},
      {"82 a1 62 01 a1 61 80", R"({ "b" : { "$numberInt" : "1" }, "a" : {  } })"},
  };
  for (const auto& [hex, json] : cases) {
    INFO(hex);
    CHECK(json_of(with_value(hex)) == "{ \"a\" : " + json + " }");
  }
  CHECK(json_of(bytes_of("80")) == "{ }");
}

TEST_CASE("WhatBsonCannotHoldIsRefusedWithTheFieldAndTheReason", "[store]") {
  CHECK(mentions(refusal(with_value("cf 80 00 00 00 00 00 00 00")), "\"a\" is an integer above"));
  CHECK(mentions(refusal(with_value("d4 05 00")), "extension type 5"));
  CHECK(mentions(refusal(with_value("d5 ff 00 00")), "not a timestamp"));
  CHECK(mentions(refusal(with_value("d7 ff 00 00 00 04 00 00 00 00")), "finer than milliseconds"));
  CHECK(mentions(refusal(with_value("c7 0c ff 3b 9a ca 00 00 00 00 00 00 00 00 00")),
                 "not a timestamp"));
  CHECK(mentions(refusal(with_value("c7 0c ff 00 00 00 00 7f ff ff ff ff ff ff ff")), "beyond"));
  CHECK(mentions(refusal(with_value("a2 c3 28")), "not UTF-8"));
  CHECK(mentions(refusal(with_value("a3 ed a0 80")), "not UTF-8"));
  CHECK(mentions(refusal(with_value("c1")), "not a value of MessagePack"));
  CHECK(mentions(refusal(bytes_of("81 01 01")), "key that is not a text"));
  CHECK(mentions(refusal(bytes_of("81 c4 01 61 01")), "key that is not a text"));
  CHECK(mentions(refusal(bytes_of("81 a2 61 00 01")), "zero byte"));
  CHECK(mentions(refusal(bytes_of("81 a1 ff 01")), "name that is not UTF-8"));
  CHECK(mentions(refusal(bytes_of("82 a1 61 01 a1 61 02")), "\"a\" comes twice"));
  CHECK(mentions(refusal(bytes_of("81 a3 5f 69 64 01")), "\"_id\""));
  CHECK(mentions(refusal(bytes_of("91 80")), "not a map"));
  CHECK(mentions(refusal(bytes_of("80 80")), "behind its end"));
  CHECK(mentions(refusal(""), "not a map"));
}

TEST_CASE("TheFieldOfARefusalIsNamedByItsWholePath", "[store]") {
  // {"a": [1, {"b": 2^63}]}
  CHECK(mentions(refusal(with_value("92 01 81 a1 62 cf 80 00 00 00 00 00 00 00")), "\"a.1.b\""));
  CHECK(json_of(with_value("81 a3 5f 69 64 01")) ==
        R"({ "a" : { "_id" : { "$numberInt" : "1" } } })");
}

TEST_CASE("ADocumentThatIsCutAnywhereIsRefused", "[store]") {
  const std::string whole = bytes_of(
      "87 a1 61 cd 01 00 a1 62 cb 3f e0 00 00 00 00 00 00 a1 63 a2 68 69 a1 64 c4 01 00 a1 65 d6 "
      "ff "
      "00 00 00 01 a1 66 92 01 02 a1 67 81 a1 68 c0");
  REQUIRE(bson_of_map(whole).ok());
  for (std::size_t size = 0; size < whole.size(); ++size) refusal(whole.substr(0, size));
}

TEST_CASE("NestingIsBounded", "[store]") {
  const auto nested = [](std::size_t levels) {
    return with_value(std::string()) + std::string(levels, '\x91') + '\x01';
  };
  CHECK(bson_of_map(nested(kMostBsonLevels)).ok());
  CHECK(mentions(refusal(nested(kMostBsonLevels + 1)), "deeper"));
}

TEST_CASE("SmallValuesThatGrowBeyondTheLimitAreRefusedBeforeTheyAreWritten", "[store]") {
  protocol::Buffer out;
  protocol::append_map(out, 1);
  protocol::append_text(out, "a");
  protocol::append_array(out, 4'000'000);
  out.append(std::string(4'000'000, '\xc0'));
  CHECK(mentions(refusal({out.data(), out.size()}), "16 MiB"));
}

TEST_CASE("ADocumentOfExactlyTheLimitIsTakenAndOneByteMoreIsNot", "[store]") {
  const auto sized = [](std::size_t text) {
    protocol::Buffer out;
    protocol::append_map(out, 1);
    protocol::append_text(out, "a");
    protocol::append_text(out, std::string(text, 'x'));
    return std::string(out.data(), out.size());
  };
  // The frame is 5, _id 13, the element 3 + 4 + 1.
  const std::size_t most = kMostBsonBytes - 5 - 13 - 8;
  const Result<Document> document = bson_of_map(sized(most));
  REQUIRE(document.ok());
  CHECK(document->get()->len + 13 == kMostBsonBytes);
  CHECK(mentions(refusal(sized(most + 1)), "16 MiB"));
}

// --- the property: what libbson reads back is what was written

struct Value {
  enum class Kind { nil, truth, integer, real, text, bytes, date, list, map };
  Kind kind = Kind::nil;
  bool truth = false;
  std::int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<std::string> keys;  // of a map, for the values of `list`
  std::vector<Value> list;
};

void write(protocol::Buffer& out, const Value& value);

void write_map(protocol::Buffer& out, const Value& map) {
  protocol::append_map(out, static_cast<std::uint32_t>(map.keys.size()));
  for (std::size_t i = 0; i < map.keys.size(); ++i) {
    protocol::append_text(out, map.keys[i]);
    write(out, map.list[i]);
  }
}

void append_bytes(protocol::Buffer& out, char first, std::uint64_t number) {
  std::string text(1, first);
  for (int shift = 56; shift >= 0; shift -= 8) text += static_cast<char>(number >> shift & 0xff);
  out.append(text);
}

void write(protocol::Buffer& out, const Value& value) {
  switch (value.kind) {
    case Value::Kind::nil:
      return protocol::append_nil(out);
    case Value::Kind::truth:
      return out.append(value.truth ? "\xc3" : "\xc2");
    case Value::Kind::integer:
      return protocol::append_integer(out, value.integer);
    case Value::Kind::real:
      return append_bytes(out, '\xcb', std::bit_cast<std::uint64_t>(value.real));
    case Value::Kind::text:
      return protocol::append_text(out, value.text);
    case Value::Kind::bytes:
      return protocol::append_binary(out, value.text);
    case Value::Kind::date:
      out.append(std::string("\xc7\x0c\xff\0\0\0", 6));
      return append_bytes(out, '\0', static_cast<std::uint64_t>(value.integer));
    case Value::Kind::list:
      protocol::append_array(out, static_cast<std::uint32_t>(value.list.size()));
      for (const Value& inner : value.list) write(out, inner);
      return;
    case Value::Kind::map:
      return write_map(out, value);
  }
}

std::string any_name(bool unique_suffix, std::size_t number) {
  auto name = *rc::gen::container<std::string>(rc::gen::inRange<char>(' ', '~'));
  return unique_suffix ? name + std::to_string(number) : name;
}

Value any_value(int depth) {
  Value value;
  value.kind = static_cast<Value::Kind>(*rc::gen::inRange(0, depth > 0 ? 9 : 7));
  value.truth = *rc::gen::arbitrary<bool>();
  value.integer = *rc::gen::arbitrary<std::int64_t>();
  if (value.kind == Value::Kind::date) value.integer /= 2'000;
  value.real = *rc::gen::arbitrary<double>();
  value.text = any_name(false, 0);
  if (value.kind < Value::Kind::list) return value;
  const int inner = *rc::gen::inRange(0, 4);
  for (int i = 0; i < inner; ++i) {
    value.list.push_back(any_value(depth - 1));
    value.keys.push_back(any_name(true, value.keys.size()));
  }
  return value;
}

bool same(bson_iter_t& found, const Value& value);

bool same_map(bson_iter_t& found, const Value& map) {
  for (std::size_t i = 0; i < map.keys.size(); ++i) {
    if (!bson_iter_next(&found) || bson_iter_key(&found) != map.keys[i] ||
        !same(found, map.list[i]))
      return false;
  }
  return !bson_iter_next(&found);
}

bool same_list(bson_iter_t& found, const std::vector<Value>& list) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!bson_iter_next(&found) || bson_iter_key(&found) != std::to_string(i) ||
        !same(found, list[i]))
      return false;
  }
  return !bson_iter_next(&found);
}

bool same_text(bson_iter_t& found, const std::string& text) {
  std::uint32_t length = 0;
  if (!BSON_ITER_HOLDS_UTF8(&found)) return false;
  const char* there = bson_iter_utf8(&found, &length);
  return std::string(there, length) == text;
}

bool same_bytes(bson_iter_t& found, const std::string& bytes) {
  if (!BSON_ITER_HOLDS_BINARY(&found)) return false;
  std::uint32_t length = 0;
  const std::uint8_t* there = nullptr;
  bson_subtype_t subtype = BSON_SUBTYPE_USER;
  bson_iter_binary(&found, &subtype, &length, &there);
  return subtype == BSON_SUBTYPE_BINARY && std::string(there, there + length) == bytes;
}

bool same(bson_iter_t& found, const Value& value) {
  bson_iter_t inner;
  switch (value.kind) {
    case Value::Kind::nil:
      return BSON_ITER_HOLDS_NULL(&found);
    case Value::Kind::truth:
      return BSON_ITER_HOLDS_BOOL(&found) && bson_iter_bool(&found) == value.truth;
    case Value::Kind::integer: {
      const bool narrow = value.integer == static_cast<std::int32_t>(value.integer);
      return bson_iter_type(&found) == (narrow ? BSON_TYPE_INT32 : BSON_TYPE_INT64) &&
             bson_iter_as_int64(&found) == value.integer;
    }
    case Value::Kind::real:
      return BSON_ITER_HOLDS_DOUBLE(&found) &&
             std::bit_cast<std::uint64_t>(bson_iter_double(&found)) ==
                 std::bit_cast<std::uint64_t>(value.real);
    case Value::Kind::text:
      return same_text(found, value.text);
    case Value::Kind::bytes:
      return same_bytes(found, value.text);
    case Value::Kind::date:
      return BSON_ITER_HOLDS_DATE_TIME(&found) &&
             bson_iter_date_time(&found) == value.integer * 1'000;
    case Value::Kind::list:
      return BSON_ITER_HOLDS_ARRAY(&found) && bson_iter_recurse(&found, &inner) &&
             same_list(inner, value.list);
    case Value::Kind::map:
      return BSON_ITER_HOLDS_DOCUMENT(&found) && bson_iter_recurse(&found, &inner) &&
             same_map(inner, value);
  }
  return false;
}

TEST_CASE("WhatWasConvertedIsReadBackAsItWas", "[store]") {
  CHECK(rc::check([] {
    Value top;
    top.kind = Value::Kind::map;
    const int fields = *rc::gen::inRange(0, 6);
    for (int i = 0; i < fields; ++i) {
      top.keys.push_back(any_name(true, top.keys.size()));
      top.list.push_back(any_value(3));
    }
    protocol::Buffer out;
    write(out, top);
    const Result<Document> document = bson_of_map({out.data(), out.size()});
    RC_ASSERT(document.ok());
    RC_ASSERT(bson_validate(document->get(), BSON_VALIDATE_UTF8_ALLOW_NULL, nullptr));
    bson_iter_t found;
    RC_ASSERT(bson_iter_init(&found, document->get()));
    RC_ASSERT(same_map(found, top));
  }));
}

TEST_CASE("BytesOfAnyKindAreConvertedOrRefusedAndNothingElse", "[store]") {
  CHECK(rc::check([](const std::string& bytes) {
    for (const std::string& tried : {bytes, "\x82" + bytes, "\x81\xa1" + bytes}) {
      const Result<Document> document = bson_of_map(tried);
      if (document.ok())
        RC_ASSERT(bson_validate(document->get(), BSON_VALIDATE_UTF8_ALLOW_NULL, nullptr));
      else
        RC_ASSERT(document.status().code() == ErrorCode::DOCUMENT_REFUSED);
    }
  }));
}

}  // namespace
}  // namespace seqd
