#include "daemon/state/segment.h"

#include <catch2/catch.hpp>
#include <vector>

#include "daemon/state/crc32c.h"

namespace seqd {
namespace {

SegmentHeader example() {
  return {.number = 3,
          .base = 120,
          .boot_id = Token{1, 2},
          .nonce = Token{3, 4},
          .salt = 0x1122334455667788,
          .wall_ms = 1'700'000'000'000};
}

std::vector<std::uint8_t> record(std::uint32_t seed) {
  std::vector<std::uint8_t> bytes;
  begin_record(bytes, RecordKind::turn, 121, 100);
  bytes.insert(bytes.end(), {9, 8, 7});
  end_record(bytes, 0, seed);
  return bytes;
}

void set_version(Sector& sector, std::uint8_t version) {
  sector[8] = version;
  const std::uint32_t sum = crc32c(0, std::span(sector).first(80));
  for (unsigned byte = 0; byte < 4; ++byte) {
    sector[80 + byte] = static_cast<std::uint8_t>(sum >> (8 * byte));
  }
}

TEST_CASE("AHeaderSurvivesTheRoundTrip") {
  const DecodedHeader decoded = decode_header(encode_header(example()));
  CHECK(decoded.fault == HeaderFault::none);
  CHECK(decoded.header == example());
}

TEST_CASE("AHeaderWithAnyBitFlippedIsDamaged") {
  for (std::size_t bit = 0; bit < 84 * 8; ++bit) {
    Sector sector = encode_header(example());
    sector[bit / 8] = static_cast<std::uint8_t>(sector[bit / 8] ^ (1U << (bit % 8)));
    REQUIRE(decode_header(sector).fault == HeaderFault::damaged);
  }
}

TEST_CASE("AnEmptyOrShortFileHasAnEmptyHeader") {
  CHECK(decode_header(Sector{}).fault == HeaderFault::empty);
  CHECK(decode_header({}).fault == HeaderFault::empty);
  const Sector sector = encode_header(example());
  CHECK(decode_header(std::span(sector).first(200)).fault == HeaderFault::damaged);
}

TEST_CASE("AWholeHeaderOfAnotherVersionIsNotTakenForDamage") {
  Sector sector = encode_header(example());
  const std::uint8_t version =
      GENERATE(std::uint8_t{0}, std::uint8_t{log_version - 1}, std::uint8_t{log_version + 1});
  set_version(sector, version);
  const DecodedHeader decoded = decode_header(sector);
  CHECK(decoded.fault == HeaderFault::unknown_version);
  CHECK(decoded.header.version == version);
}

TEST_CASE("AHeaderWithImpossibleNumbersIsDamaged") {
  SegmentHeader header = example();
  header.number = max_count + 1;
  CHECK(decode_header(encode_header(header)).fault == HeaderFault::damaged);
  header.number = 0;
  CHECK(decode_header(encode_header(header)).fault == HeaderFault::damaged);
}

TEST_CASE("ASealHoldsForItsOwnSegmentOnly") {
  SegmentHeader other = example();
  other.salt += 1;
  const Sector seal = encode_seal(example(), 4);
  CHECK(is_sealed(seal, example()));
  CHECK_FALSE(is_sealed(seal, other));
  CHECK_FALSE(is_sealed(Sector{}, example()));
}

TEST_CASE("ADamagedSealStillSeals") {
  for (std::size_t bit = 0; bit < 36 * 8; ++bit) {
    Sector seal = encode_seal(example(), 4);
    seal[bit / 8] = static_cast<std::uint8_t>(seal[bit / 8] ^ (1U << (bit % 8)));
    REQUIRE(is_sealed(seal, example()));
  }
}

TEST_CASE("ARecordSurvivesTheRoundTrip") {
  const std::vector<std::uint8_t> bytes = record(5);
  const std::optional<Record> decoded = decode_record(bytes, 5);
  REQUIRE(decoded);
  CHECK(decoded->kind == RecordKind::turn);
  CHECK(decoded->position == 121);
  CHECK(decoded->durable == 100);
  CHECK(decoded->size == bytes.size());
  CHECK(std::vector<std::uint8_t>(decoded->entries.begin(), decoded->entries.end()) ==
        std::vector<std::uint8_t>{9, 8, 7});
}

TEST_CASE("ARecordThatIsDamagedOrCutOffIsNone") {
  const std::vector<std::uint8_t> whole = record(5);
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::vector<std::uint8_t> bytes = whole;
    bytes[bit / 8] = static_cast<std::uint8_t>(bytes[bit / 8] ^ (1U << (bit % 8)));
    REQUIRE_FALSE(decode_record(bytes, 5));
  }
  for (std::size_t length = 0; length < whole.size(); ++length) {
    REQUIRE_FALSE(decode_record(std::span(whole).first(length), 5));
  }
}

TEST_CASE("ARecordOfAnEarlierLifeOfTheFileIsNone") {
  // The same number again, as after a start that was cut off: the salt tells them apart.
  SegmentHeader again = example();
  again.salt += 1;
  CHECK_FALSE(decode_record(record(record_seed(example())), record_seed(again)));
}

}  // namespace
}  // namespace seqd
