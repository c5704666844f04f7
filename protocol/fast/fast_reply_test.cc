#include "protocol/fast/fast_reply.h"

#include <catch2/catch.hpp>
#include <random>
#include <string>

#include "protocol/buffer.h"
#include "protocol/frame_scanner.h"
#include "protocol/hex_bytes.h"
#include "protocol/messages.h"
#include "protocol/replies.h"

namespace seqd::protocol {
namespace {

constexpr FrameLimits kNarrowest{static_cast<std::uint32_t>(kFrameLimit.min),
                                 static_cast<std::uint32_t>(kDepthLimit.min)};

// Whatever the fast path accepts has to mean the same on the slow path. Gives what it consumed.
std::size_t check_against_slow_path(std::span<const std::uint8_t> bytes) {
  FastReply fast;
  const std::size_t consumed = parse_fast_reply(bytes, fast);
  if (consumed == 0) return 0;
  INFO(to_hex_digits(Bytes(bytes.begin(), bytes.end())));
  FrameScanner scanner(kNarrowest);
  const ScanResult scanned = scanner.scan(bytes);
  REQUIRE(scanned.kind == ScanResult::Kind::complete);
  REQUIRE(scanned.size == consumed);
  Message message;
  REQUIRE(parse_message(bytes.first(consumed), message).ok());
  REQUIRE(message.kind == Message::Kind::reply);
  REQUIRE(message.msgid == fast.msgid);
  REQUIRE_FALSE(read_reply_error(message.error));
  REQUIRE(message.result.read_integer() == fast.id);
  return consumed;
}

TEST_CASE("EveryReplyOfAnIdIsRecognisedWhole", "[protocol][fast_reply]") {
  const std::int64_t ids[] = {0,          1,         127,        128,        255,
                              256,        65'535,    65'536,     INT32_MAX,  UINT32_MAX,
                              INT64_MAX,  -1,        -32,        -33,        -128,
                              -129,       INT16_MIN, -32'769,    INT32_MIN,  INT64_MIN,
                              4294967296, 1'000'000, -1'000'000, 8589934592, 9007199254740993};
  for (const std::uint32_t msgid : {0U, 1U, 127U, 128U, 255U, 256U, 65'536U, UINT32_MAX}) {
    for (const std::int64_t id : ids) {
      Buffer buffer;
      append_id_reply(buffer, msgid, id);
      const std::span<const std::uint8_t> bytes = buffer.bytes();
      FastReply fast;
      REQUIRE(parse_fast_reply(bytes, fast) == bytes.size());
      CHECK(fast.msgid == msgid);
      CHECK(fast.id == id);
      REQUIRE(check_against_slow_path(bytes) == bytes.size());
      // Not whole: the slow path waits for the rest.
      for (std::size_t size = 0; size < bytes.size(); ++size)
        REQUIRE(parse_fast_reply(bytes.first(size), fast) == 0);
      // Whatever stands behind it.
      const std::size_t size = bytes.size();
      append_id_reply(buffer, UINT32_MAX, INT64_MIN);
      fast = {};
      REQUIRE(parse_fast_reply(buffer.bytes(), fast) == size);
      CHECK(fast.msgid == msgid);
      CHECK(fast.id == id);
    }
  }
}

TEST_CASE("OtherRepliesAreLeftToTheSlowPath", "[protocol][fast_reply]") {
  for (const char* hex : {"94 01 01 c0 c0",                          // nil
                          "94 01 01 c0 91 93 01 05 01",              // runs
                          "94 01 01 c0 a1 78",                       // a text
                          "94 01 01 c0 ca 3f 80 00 00",              // a float
                          "94 01 01 c0 cf 80 00 00 00 00 00 00 00",  // above 2^63-1
                          "94 01 01 c0 cf ff ff ff ff ff ff ff ff 94 01 02 c0 01",
                          "94 01 01 92 01 a1 78 c0",                 // an error
                          "94 01 ff c0 01",                          // a msgid below 0
                          "94 01 cf 00 00 00 01 00 00 00 00 c0 01",  // one above 2^32-1
                          "94 00 01 c0 01",                          // a request
                          "93 01 01 c0 01", "dc 00 04 01 01 c0 01", "94 cc 01 01 c0 01"}) {
    FastReply fast;
    INFO(hex);
    CHECK(parse_fast_reply(hex_bytes(hex), fast) == 0);
  }
}

TEST_CASE("WhatTheFastReplyPathAcceptsMeansTheSameOnTheSlowPath", "[protocol][fast_reply]") {
  std::mt19937_64 random(Catch::rngSeed());
  std::size_t accepted = 0;
  for (int round = 0; round < 200'000; ++round) {
    Buffer buffer;
    append_id_reply(buffer, static_cast<std::uint32_t>(random()),
                    static_cast<std::int64_t>(random() >> random() % 64));
    Bytes bytes(buffer.bytes().begin(), buffer.bytes().end());
    for (int changes = static_cast<int>(random() % 3); changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
    if (random() % 8 == 0) bytes.resize(random() % bytes.size());
    if (check_against_slow_path(bytes) != 0) ++accepted;
  }
  REQUIRE(accepted > 10'000);
}

}  // namespace
}  // namespace seqd::protocol
