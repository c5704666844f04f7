#include "protocol/fast/fast_request.h"

#include <catch2/catch.hpp>
#include <random>
#include <string>

#include "protocol/frame_scanner.h"
#include "protocol/hex_bytes.h"
#include "protocol/messages.h"
#include "protocol/requests.h"
#include "protocol/values/value_header.h"

namespace seqd::protocol {
namespace {

constexpr FrameLimits kNarrowest{static_cast<std::uint32_t>(kFrameLimit.min),
                                 static_cast<std::uint32_t>(kDepthLimit.min)};

// Whatever the fast path accepts has to mean the same on the slow path. Gives what it consumed.
std::size_t check_against_slow_path(const Bytes& bytes) {
  FastParser parser;
  const std::size_t consumed = parser.parse(bytes);
  if (consumed == 0) return 0;
  const FastRequest& fast = parser.request();
  INFO(to_hex_digits(bytes));
  FrameScanner scanner(kNarrowest);
  const ScanResult scanned = scanner.scan(bytes);
  REQUIRE(scanned.kind == ScanResult::Kind::complete);
  REQUIRE(scanned.size == consumed);
  Message message;
  REQUIRE(parse_message(std::span(bytes).first(consumed), message).ok());
  REQUIRE(message.kind == Message::Kind::request);
  REQUIRE(message.msgid == fast.msgid);
  const bool range = fast.method == FastRequest::Method::range;
  REQUIRE(message.method == (range ? "range" : "next"));
  const bool timed = fast.timeout_ms >= 0;
  REQUIRE(message.param_count == (range ? 2U : 1U) + (timed ? 1U : 0U));
  REQUIRE(message.params.read_text() == fast.name);
  if (range) REQUIRE(message.params.read_integer() == fast.count);
  if (!range) REQUIRE(fast.count == 1);
  if (timed) {
    REQUIRE(message.params.read_map() == 1U);
    REQUIRE(message.params.read_text() == "timeout_ms");
    REQUIRE(message.params.read_integer() == fast.timeout_ms);
    REQUIRE(fast.timeout_ms <= kMaxTimeoutMs);
  }
  REQUIRE(message.params.at_end());
  return consumed;
}

std::string text_hex(const std::string& header, const std::string& text) {
  return header + to_hex_digits(bytes_of(text));
}

}  // namespace

TEST_CASE("CommonEncodingsOfNextAndRangeAreRecognised", "[protocol][fast_request]") {
  const std::vector<std::string> msgids = {
      "00", "7f", "cc 80", "cc 01", "cd 01 00", "cd 00 01", "ce ff ff ff ff", "ce 00 00 00 01"};
  const std::string name31(31, 'n');
  const std::string name255(255, 'm');
  const std::vector<std::string> names = {text_hex("a1", "x"), text_hex("bf", name31),
                                          text_hex("d9 ff", name255), text_hex("d9 01", "x")};
  const std::vector<std::string> counts = {
      "00", "01", "7f", "cc 80", "cd ff ff", "ce ff ff ff ff", "cf 7f ff ff ff ff ff ff ff"};
  for (const std::string& msgid : msgids)
    for (const std::string& name : names) {
      for (const char* method : {"a4", "d9 04"}) {
        const Bytes next = hex_bytes("94 00" + msgid + text_hex(method, "next") + "91" + name);
        REQUIRE(check_against_slow_path(next) == next.size());
      }
      for (const char* method : {"a5", "d9 05"})
        for (const std::string& count : counts) {
          const Bytes range =
              hex_bytes("94 00" + msgid + text_hex(method, "range") + "92" + name + count);
          REQUIRE(check_against_slow_path(range) == range.size());
        }
    }
}

TEST_CASE("WhatOurOwnClientWritesTakesTheFastPath", "[protocol][fast_request]") {
  for (const std::uint32_t msgid : {0U, 1U, 127U, 128U, 65'535U, 65'536U, 0xffff'ffffU}) {
    Buffer buffer;
    append_next(buffer, msgid, "orders");
    FastParser parser;
    const FastRequest& request = parser.request();
    REQUIRE(parser.parse(buffer.bytes()) == buffer.size());
    CHECK(request.method == FastRequest::Method::next);
    CHECK(request.msgid == msgid);
    CHECK(request.name == "orders");
    CHECK(request.count == 1);
    CHECK(request.timeout_ms == -1);
    for (const std::int64_t timeout_ms : {std::int64_t{0}, std::int64_t{5'000}, kMaxTimeoutMs}) {
      buffer.clear();
      append_next(buffer, msgid, "orders", timeout_ms);
      REQUIRE(check_against_slow_path({buffer.bytes().begin(), buffer.bytes().end()}) ==
              buffer.size());
      REQUIRE(parser.parse(buffer.bytes()) == buffer.size());
      CHECK(request.timeout_ms == timeout_ms);
      buffer.clear();
      append_range(buffer, msgid, "orders", 77, timeout_ms);
      REQUIRE(check_against_slow_path({buffer.bytes().begin(), buffer.bytes().end()}) ==
              buffer.size());
      REQUIRE(parser.parse(buffer.bytes()) == buffer.size());
      CHECK((request.count == 77 && request.timeout_ms == timeout_ms));
    }
    buffer.clear();
    append_range(buffer, msgid, std::string(128, 'x'), 10'000'000);
    REQUIRE(parser.parse(buffer.bytes()) == buffer.size());
    CHECK(request.method == FastRequest::Method::range);
    CHECK(request.name.size() == 128);
    CHECK(request.count == 10'000'000);
  }
}

TEST_CASE("NoPrefixOfARequestIsRecognised", "[protocol][fast_request]") {
  for (const char* hex :
       {"94 00 cd 01 00 a4 6e 65 78 74 91 a3 61 62 63",
        "94 00 05 a5 72 61 6e 67 65 92 a1 78 cd 01 00",
        "94 00 05 a4 6e 65 78 74 92 a1 78 81 aa 74 69 6d 65 6f 75 74 5f 6d 73 cd 01 00",
        "94 00 05 a5 72 61 6e 67 65 93 a1 78 05 81 aa 74 69 6d 65 6f 75 74 5f 6d 73 07",
        "94 00 ce 00 00 00 01 d9 05 72 61 6e 67 65 92 d9 02 78 78 cf 00 00 00 00 00 00 00 01"}) {
    const Bytes bytes = hex_bytes(hex);
    REQUIRE(check_against_slow_path(bytes) == bytes.size());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      // A copy of exactly this size, so that a sanitizer sees a read beyond it.
      const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
      REQUIRE(FastParser().parse(cut) == 0);
    }
  }
}

TEST_CASE("EverythingElseIsLeftToTheSlowPath", "[protocol][fast_request]") {
  constexpr const char* kTwoOptions =
      "94 00 05 a4 6e 65 78 74 92 a1 78 82 aa 74 69 6d 65 6f 75 74 5f 6d 73 05 aa 74 69 6d 65 "
      "6f 75 74 5f 6d 73 05";
  for (const char* hex : {
           "93 02 a4 6e 65 78 74 91 a1 78",           // a notification
           "94 01 05 c0 05",                          // a reply
           "94 00 05 a4 6e 65 78 74 92 a1 78 80",     // no options
           "94 00 05 a4 6e 65 78 74 93 a1 78 80 80",  // too many of them
           // A time-out that is too long (3,600,001 ms), negative, no number; another option; two.
           "94 00 05 a4 6e 65 78 74 92 a1 78 81 aa 74 69 6d 65 6f 75 74 5f 6d 73 ce 00 36 ee 81",
           "94 00 05 a4 6e 65 78 74 92 a1 78 81 aa 74 69 6d 65 6f 75 74 5f 6d 73 ff",
           "94 00 05 a4 6e 65 78 74 92 a1 78 81 aa 74 69 6d 65 6f 75 74 5f 6d 73 c0",
           "94 00 05 a4 6e 65 78 74 92 a1 78 81 aa 74 69 6d 65 6f 75 74 5f 73 73 05", kTwoOptions,
           "94 00 05 a4 6e 65 78 74 90 a1 78",        // no name
           "94 00 05 a4 6e 65 78 75 91 a1 78",        // another method
           "94 00 05 c4 04 6e 65 78 74 91 a1 78",     // a method of bytes
           "94 00 05 a4 6e 65 78 74 91 c4 01 78",     // a name of bytes
           "94 00 d0 05 a4 6e 65 78 74 91 a1 78",     // a signed msgid
           "94 00 05 a5 72 61 6e 67 65 92 a1 78 ff",  // a negative count
           "94 00 05 a5 72 61 6e 67 65 92 a1 78 cb 00 00 00 00 00 00 00 00",
           "94 00 05 a5 72 61 6e 67 65 92 a1 78 cf ff ff ff ff ff ff ff ff",
           "94 00 05 a4 72 61 6e 67 65 92 a1 78 01",  // the wrong length
       }) {
    INFO(hex);
    CHECK(FastParser().parse(hex_bytes(hex)) == 0);
  }
}

TEST_CASE("ChangedRequestsMeanTheSameOnBothPaths", "[protocol][fast_request]") {
  INFO("seed " << Catch::rngSeed());
  std::mt19937_64 random(Catch::rngSeed());
  int recognised = 0;
  int refused = 0;
  for (int round = 0; round < 300'000; ++round) {
    Buffer buffer;
    const std::string name(random() % 40, 'n');
    const auto msgid = static_cast<std::uint32_t>(random() >> (32 + random() % 32));
    std::optional<std::int64_t> timeout;
    if (random() % 2 == 0) timeout = static_cast<std::int64_t>(random() % (2 * kMaxTimeoutMs));
    if (random() % 2 == 0) {
      append_next(buffer, msgid, name, timeout);
    } else {
      append_range(buffer, msgid, name, static_cast<std::int64_t>(random() >> (1 + random() % 63)),
                   timeout);
    }
    append_next(buffer, 1, "follows");
    Bytes bytes(buffer.bytes().begin(), buffer.bytes().end());
    for (std::uint64_t change = random() % 3; change > 0; --change) {
      const std::size_t at = random() % std::min<std::size_t>(bytes.size(), 24);
      bytes[at] = random_values(random, 1)[0];
    }
    bytes.resize(bytes.size() - random() % 12);
    (check_against_slow_path(bytes) > 0 ? recognised : refused) += 1;
  }
  CHECK(recognised > 50'000);
  CHECK(refused > 50'000);
}

// Of a connection that sends requests from a few, whole, cut short and changed: what is known by
// the bytes before means what parsing says, and is the same request.
TEST_CASE("ARequestThatIsKnownByItsBytesMeansWhatParsingSays", "[protocol][fast_request]") {
  INFO("seed " << Catch::rngSeed());
  std::mt19937_64 random(Catch::rngSeed());
  const std::vector<std::string> names = {
      "a", "b", "ab", std::string(40, 'n'), std::string(55, 'n'), std::string(200, 'n')};
  int known = 0;
  for (int connection = 0; connection < 2'000; ++connection) {
    FastParser parser;
    Bytes before;  // behind the msgid of the request before
    for (int at = 0; at < 60; ++at) {
      Buffer buffer;
      const auto msgid = static_cast<std::uint32_t>(random() >> (32 + random() % 32));
      const std::string& name = names[random() % (at % 20 < 10 ? 1 : names.size())];
      std::optional<std::int64_t> timeout;
      if (random() % 4 == 0) timeout = 5'000;
      if (random() % 4 == 0) {
        append_range(buffer, msgid, name, static_cast<std::int64_t>(random() % 3), timeout);
      } else {
        append_next(buffer, msgid, name, timeout);
      }
      Bytes bytes(buffer.bytes().begin(), buffer.bytes().end());
      if (random() % 16 == 0) bytes.resize(random() % bytes.size());
      if (random() % 16 == 0 && !bytes.empty())
        bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
      if (random() % 16 == 0) parser.forget(), before.clear();
      FastParser fresh;
      const std::size_t size = fresh.parse(bytes);
      REQUIRE(parser.parse(bytes) == size);
      if (size == 0) {
        parser.forget(), before.clear();
        continue;
      }
      const FastRequest& request = parser.request();
      const FastRequest& parsed = fresh.request();
      REQUIRE(request.method == parsed.method);
      REQUIRE(request.msgid == parsed.msgid);
      REQUIRE(request.name == parsed.name);
      REQUIRE(request.count == parsed.count);
      REQUIRE(request.timeout_ms == parsed.timeout_ms);
      const std::size_t front = 2 + (bytes[2] <= 0x7f ? 1 : header_size(bytes[2]));
      const Bytes rest(bytes.begin() + static_cast<std::ptrdiff_t>(front),
                       bytes.begin() + static_cast<std::ptrdiff_t>(size));
      REQUIRE(request.again == (rest == before));
      known += request.again ? 1 : 0;
      before = rest.size() <= 64 ? rest : Bytes{};
    }
  }
  CHECK(known > 10'000);
}

}  // namespace seqd::protocol
