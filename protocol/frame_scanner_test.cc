#include "protocol/frame_scanner.h"

#include <catch2/catch.hpp>
#include <msgpack.hpp>
#include <random>
#include <string>

#include "protocol/hex_bytes.h"
#include "protocol/values/value_reader.h"

namespace seqd::protocol {
namespace {

using Kind = ScanResult::Kind;

struct Outcome {
  Kind kind;
  std::size_t size;
  ErrorCode error;
  std::string text;
  bool operator==(const Outcome&) const = default;
};

Outcome outcome_of(const ScanResult& result) {
  return {result.kind, result.size, result.error, std::string(result.text)};
}

Outcome scan_whole(std::span<const std::uint8_t> bytes, FrameLimits limits = {}) {
  FrameScanner scanner(limits);
  return outcome_of(scanner.scan(bytes));
}

// As a stream that grows by `step` bytes a time, each time in other memory.
Outcome scan_growing(std::span<const std::uint8_t> bytes, std::size_t step, FrameLimits limits) {
  FrameScanner scanner(limits);
  for (std::size_t size = std::min(step, bytes.size());;
       size = std::min(size + step, bytes.size())) {
    const Bytes moved(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    const Outcome outcome = outcome_of(scanner.scan(moved));
    if (outcome.kind == Kind::need_more) REQUIRE(outcome.size > size);
    if (outcome.kind != Kind::need_more || size == bytes.size()) return outcome;
  }
}

// What msgpack-cxx says of the same bytes.
struct Oracle : msgpack::null_visitor {
  Kind kind = Kind::complete;
  void parse_error(std::size_t, std::size_t) { kind = Kind::bad; }
  void insufficient_bytes(std::size_t, std::size_t) { kind = Kind::need_more; }
};

std::string nested(std::size_t depth) {
  std::string hex;
  for (std::size_t level = 0; level < depth; ++level) hex += "91";
  return hex;
}

}  // namespace

TEST_CASE("AWholeRequestIsMeasuredAndTheNextOneFollows", "[protocol][frame_scanner]") {
  const Bytes bytes = hex_bytes("94 00 01 a4 6e 65 78 74 91 a1 78 94 00 02");
  FrameScanner scanner(FrameLimits{});
  const ScanResult first = scanner.scan(bytes);
  CHECK(first.kind == Kind::complete);
  CHECK(first.size == 11);
  const ScanResult second = scanner.scan(std::span(bytes).subspan(first.size));
  CHECK(second.kind == Kind::need_more);
  CHECK(second.size == 5);  // an array of four, of which two are there
}

TEST_CASE("TruncationAtEveryByteNeedsMore", "[protocol][frame_scanner]") {
  const Bytes bytes = hex_bytes(
      "94 00 cd 01 00 a4 6e 65 78 74 92 d9 03 61 62 63 82 a1 61 cb 00 00 00 00 00 00 00 00 a1 62 "
      "c7 02 05 01 02");
  REQUIRE(scan_whole(bytes).kind == Kind::complete);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const Outcome outcome = scan_whole(std::span(bytes).first(size));
    REQUIRE(outcome.kind == Kind::need_more);
    REQUIRE(outcome.size > size);
    REQUIRE(outcome.size <= bytes.size());
  }
}

TEST_CASE("TheByteWithoutMeaningIsRefusedWhereverItStands", "[protocol][frame_scanner]") {
  for (const char* hex : {"c1", "91 c1", "94 00 01 c1", "82 a1 61 01 c1 00"}) {
    INFO(hex);
    const Outcome outcome = scan_whole(hex_bytes(hex));
    CHECK(outcome.kind == Kind::bad);
    CHECK(outcome.error == ErrorCode::BAD_REQUEST);
    CHECK(outcome.text.find("0xc1") != std::string::npos);
  }
  CHECK(scan_whole(hex_bytes("a1 c1")).kind == Kind::complete);
}

TEST_CASE("FiveBytesThatAnnounceGigabytesAreRefusedAtOnce", "[protocol][frame_scanner]") {
  const Bytes bytes = hex_bytes("df 0a 29 5f df");
  const Outcome outcome = scan_whole(bytes);
  CHECK(outcome.kind == Kind::bad);
  CHECK(outcome.error == ErrorCode::TOO_LARGE);
  CHECK(outcome.text.find("65536") != std::string::npos);
  CHECK(outcome.text.find("limit frame") != std::string::npos);
  CHECK(scan_growing(bytes, 1, {}) == outcome);
}

TEST_CASE("AHeaderBeyondTheFrameLimitIsRefusedFromTheHeader", "[protocol][frame_scanner]") {
  constexpr FrameLimits kSmall{1'024, 8};
  const std::vector<std::string> refused = {
      "da 03 fe",           // 3 + 1022
      "c5 03 fe",           //
      "db ff ff ff ff",     //
      "c6 ff ff ff ff",     //
      "c8 03 fd 01",        // 4 + 1021
      "c9 ff ff ff ff 00",  //
      "dc 03 fe",           // 3 + 1022 elements of a byte at least
      "dd ff ff ff ff",     //
      "de 01 ff",           // 3 + 2 * 511 values
      "df ff ff ff ff",     //
      "92 da 03 fc",        // 4 + 1020, and one element more
  };
  for (const std::string& hex : refused) {
    INFO(hex);
    const Bytes bytes = hex_bytes(hex);
    CHECK(scan_whole(bytes, kSmall).error == ErrorCode::TOO_LARGE);
    CHECK(scan_growing(bytes, 1, kSmall).error == ErrorCode::TOO_LARGE);
  }
  const std::vector<std::string> waited_for = {"da 03 fd", "c5 03 fd", "c8 03 fc 01",
                                               "dc 03 fd", "de 01 fe", "92 da 03 fb"};
  for (const std::string& hex : waited_for) {
    INFO(hex);
    const Outcome outcome = scan_whole(hex_bytes(hex), kSmall);
    CHECK(outcome.kind == Kind::need_more);
    CHECK(outcome.size <= 1'024);
  }
}

TEST_CASE("AFrameOfExactlyTheLimitIsCompleteAndOneByteMoreIsRefused", "[protocol][frame_scanner]") {
  constexpr FrameLimits kSmall{1'024, 8};
  Bytes bytes = hex_bytes("da 03 fd");
  bytes.resize(1'024, 'x');
  CHECK(scan_whole(bytes, kSmall).kind == Kind::complete);
  CHECK(scan_whole(bytes, kSmall).size == 1'024);
  CHECK(scan_whole(std::span(bytes).first(1'023), kSmall).kind == Kind::need_more);

  // The last element's header would end behind the limit: refused before it has arrived.
  Bytes array = hex_bytes("dc 03 fd");
  array.resize(1'023, 0x00);
  REQUIRE(scan_whole(array, kSmall).kind == Kind::need_more);
  array.push_back(0xcc);
  CHECK(scan_whole(array, kSmall).error == ErrorCode::TOO_LARGE);
  array.back() = 0x01;
  CHECK(scan_whole(array, kSmall).kind == Kind::complete);
}

TEST_CASE("NestingIsAllowedToTheDepthLimitAndNoDeeper", "[protocol][frame_scanner]") {
  for (const std::uint32_t depth : {4U, 8U, 32U}) {
    const FrameLimits limits{65'536, depth};
    CHECK(scan_whole(hex_bytes(nested(depth) + "00"), limits).kind == Kind::complete);
    CHECK(scan_whole(hex_bytes(nested(depth - 1) + "90"), limits).kind == Kind::complete);
    for (const char* inner : {"91 00", "90", "80", "81 00 00"}) {
      const Outcome outcome = scan_whole(hex_bytes(nested(depth) + inner), limits);
      CHECK(outcome.error == ErrorCode::BAD_REQUEST);
      CHECK(outcome.text.find(std::to_string(depth)) != std::string::npos);
      CHECK(outcome.text.find("limit depth") != std::string::npos);
    }
  }
}

TEST_CASE("SiblingsDoNotCountAsDepth", "[protocol][frame_scanner]") {
  std::string hex = "dc 00 40";
  for (int element = 0; element < 64; ++element) hex += "91 82 01 90 02 80";
  CHECK(scan_whole(hex_bytes(hex), {65'536, 4}).kind == Kind::complete);
}

TEST_CASE("ADepthBombIsRefusedAfterTheLimit", "[protocol][frame_scanner]") {
  const Bytes arrays(60'000, 0x91);
  CHECK(scan_whole(arrays).error == ErrorCode::BAD_REQUEST);
  Bytes maps;
  for (int level = 0; level < 20'000; ++level) {
    maps.push_back(0x81);
    maps.push_back(0x00);
  }
  CHECK(scan_whole(maps).error == ErrorCode::BAD_REQUEST);
  CHECK(scan_growing(maps, 1, {}) == scan_whole(maps));
}

TEST_CASE("LimitsOutsideTheirBoundsAreMovedToTheBound", "[protocol][frame_scanner]") {
  const Bytes deep = hex_bytes(nested(33) + "00");
  CHECK(scan_whole(deep, {65'536, 1'000'000}).error == ErrorCode::BAD_REQUEST);
  CHECK(scan_whole(hex_bytes(nested(4) + "00"), {65'536, 0}).kind == Kind::complete);
  CHECK(scan_whole(hex_bytes("da 03 fd"), {0, 8}).kind == Kind::need_more);
  CHECK(scan_whole(hex_bytes("db ff ff ff fe"), {0xffff'ffff, 8}).error == ErrorCode::TOO_LARGE);
}

TEST_CASE("AfterARefusalTheScannerSaysTheSameUntilReset", "[protocol][frame_scanner]") {
  FrameScanner scanner(FrameLimits{});
  const Bytes bad = hex_bytes("c1");
  const Bytes good = hex_bytes("00");
  CHECK(scanner.scan(bad).kind == Kind::bad);
  CHECK(scanner.scan(good).kind == Kind::bad);
  CHECK(scanner.scan(good).error == ErrorCode::BAD_REQUEST);
  scanner.reset();
  CHECK(scanner.scan(good).kind == Kind::complete);
}

TEST_CASE("TrickledBytesAreNotScannedAgain", "[protocol][frame_scanner]") {
  // 16 MiB of one-byte elements, a byte at a time: quadratic work would not end.
  const FrameLimits limits{16'777'216, 8};
  Bytes bytes = hex_bytes("dd 00 ff ff fb");
  bytes.resize(16'777'216, 0x00);
  FrameScanner scanner(limits);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const ScanResult result = scanner.scan(std::span(bytes).first(size));
    if (result.kind != Kind::need_more) FAIL("complete or refused at " << size);
  }
  CHECK(scanner.scan(bytes).size == bytes.size());
}

TEST_CASE("ChunkingAtEachPositionGivesTheSameAsWhole", "[protocol][frame_scanner]") {
  INFO("seed " << Catch::rngSeed());
  std::mt19937_64 random(Catch::rngSeed());
  constexpr FrameLimits kSmall{1'024, 4};
  int complete = 0;
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    const Bytes bytes = random_values(random, 1 + random() % 40);
    const Outcome whole = scan_whole(bytes, kSmall);
    complete += whole.kind == Kind::complete ? 1 : 0;
    refused += whole.kind == Kind::bad ? 1 : 0;
    INFO(to_hex_digits(bytes));
    for (std::size_t step = 1; step <= bytes.size(); step += 1 + step / 4)
      REQUIRE(scan_growing(bytes, step, kSmall) == whole);
  }
  CHECK(complete > 1'000);
  CHECK(refused > 1'000);
}

TEST_CASE("RandomBytesAreMeasuredAsMsgpackCxxMeasuresThem", "[protocol][frame_scanner]") {
  INFO("seed " << Catch::rngSeed());
  std::mt19937_64 random(Catch::rngSeed());
  int complete = 0;
  for (int round = 0; round < 200'000; ++round) {
    const Bytes bytes = random_values(random, 1 + random() % 48);
    const Outcome ours = scan_whole(bytes, {65'536, 32});
    INFO(to_hex_digits(bytes));
    Oracle oracle;
    std::size_t end = 0;
    msgpack::parse(reinterpret_cast<const char*>(bytes.data()), bytes.size(), end, oracle);
    const Kind theirs = oracle.kind;
    if (ours.error == ErrorCode::TOO_LARGE) {
      REQUIRE(theirs != Kind::complete);  // it reads on, and waits or finds 0xc1
      continue;
    }
    if (ours.error == ErrorCode::BAD_REQUEST && ours.text.find("0xc1") == std::string::npos)
      continue;  // too deep, which is our limit alone
    REQUIRE(ours.kind == theirs);
    if (ours.kind != Kind::complete) continue;
    REQUIRE(ours.size == end);
    ValueReader reader{std::span(bytes)};
    REQUIRE(reader.skip());
    REQUIRE(reader.remaining() == bytes.size() - end);
    ++complete;
  }
  CHECK(complete > 10'000);
}

}  // namespace seqd::protocol
