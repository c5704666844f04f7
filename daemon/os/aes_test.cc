#include "daemon/os/aes.h"

#include <rapidcheck.h>

#include <string>
#include <vector>

#include "daemon/base/text/radix.h"

#include <catch2/catch.hpp>

using seqd::BlockCipher;
using seqd::CipherBlock;
using seqd::ErrorCode;
using seqd::make_aes;
using seqd::Radix;
using seqd::Scramble;

namespace {

constexpr char kKey128[] = "2B7E151628AED2A6ABF7158809CF4F3C";
constexpr char kKey256[] = "2b7e151628aed2a6abf7158809cf4f3cef4359d8d580aa4f7f036d6f04fc6a94";

std::shared_ptr<const BlockCipher> aes(const char* key) {
  auto made = make_aes(key);
  REQUIRE(made.ok());
  return *made;
}

std::vector<std::uint8_t> values(unsigned base, const std::string& text) {
  std::vector<std::uint8_t> digits;
  for (const char c : text)
    digits.push_back(static_cast<std::uint8_t>(Radix::find(base)->value(c)));
  return digits;
}

struct Sample {
  const char* key;
  const char* tweak;
  unsigned base;
  const char* plain;
  const char* scrambled;
};

}  // namespace

TEST_CASE("AesEncryptsAsInFips197") {
  CipherBlock block{0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
                    0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
  aes("000102030405060708090a0b0c0d0e0f")->encrypt(block);
  const CipherBlock expected{0x69, 0xc4, 0xe0, 0xd8, 0x6a, 0x7b, 0x04, 0x30,
                             0xd8, 0xcd, 0xb7, 0x80, 0x70, 0xb4, 0xc5, 0x5a};
  CHECK(block == expected);
}

TEST_CASE("InvalidKeyIsRefusedWithoutBeingShown") {
  for (const char* key :
       {"", "2B7E", "2B7E151628AED2A6ABF7158809CF4F3", "correct horse battery",
        "2B7E151628AED2A6ABF7158809CF4F3G", "2B7E151628AED2A6ABF7158809CF4F3C2B7E151628AED2A6"}) {
    const auto made = make_aes(key);
    REQUIRE(!made.ok());
    CHECK(made.status().code() == ErrorCode::CONFIG);
    CHECK(made.status().text() ==
          "holds no key; allowed: one line of 32 or 64 hexadecimal digits, as from `openssl rand "
          "-hex 32`");
  }
}

// The samples 1, 2, 3, 7, 8 and 9 that NIST published for FF1.
TEST_CASE("ScrambleIsFf1OfSp800_38G") {
  const Sample samples[] = {
      {kKey128, "", 10, "0123456789", "2433477484"},
      {kKey128, "9876543210", 10, "0123456789", "6124200773"},
      {kKey128, "7777pqrs777", 36, "0123456789abcdefghi", "a9tv40mll9kdu509eum"},
      {kKey256, "", 10, "0123456789", "6657667009"},
      {kKey256, "9876543210", 10, "0123456789", "1001623463"},
      {kKey256, "7777pqrs777", 36, "0123456789abcdefghi", "xs8a0azh2avyalyzuwd"},
  };
  for (const Sample& sample : samples) {
    const auto cipher = aes(sample.key);
    const Scramble scramble(*cipher, sample.tweak);
    std::vector<std::uint8_t> digits = values(sample.base, sample.plain);
    scramble.encrypt(sample.base, digits);
    CHECK(digits == values(sample.base, sample.scrambled));
    scramble.decrypt(sample.base, digits);
    CHECK(digits == values(sample.base, sample.plain));
  }
}

TEST_CASE("ScramblePermutesASmallDomain") {
  const auto cipher = aes(kKey256);
  const Scramble scramble(*cipher, "orders");
  std::vector<bool> seen(16 * 16 * 16);
  for (unsigned number = 0; number < seen.size(); ++number) {
    std::vector<std::uint8_t> digits(3);
    REQUIRE(Radix::find(16)->split(number, digits));
    scramble.encrypt(16, digits);
    const auto out = static_cast<std::size_t>(Radix::find(16)->join(digits).value());
    REQUIRE(!seen[out]);
    seen[out] = true;
  }
}

TEST_CASE("ScrambleIsUndoneInEveryBaseLengthAndTweak") {
  const auto cipher = aes(kKey128);
  CHECK(rc::check([&cipher] {
    const unsigned base = *rc::gen::element(10U, 16U, 32U, 36U, 58U, 62U);
    const auto length = *rc::gen::inRange<std::size_t>(2, Scramble::kMostDigits + 1);
    const Scramble scramble(*cipher, *rc::gen::arbitrary<std::string>());
    const auto digit = rc::gen::inRange<std::uint8_t>(0, static_cast<std::uint8_t>(base));
    const auto plain = *rc::gen::container<std::vector<std::uint8_t>>(length, digit);
    std::vector<std::uint8_t> digits = plain;
    scramble.encrypt(base, digits);
    for (const std::uint8_t each : digits) RC_ASSERT(each < base);
    scramble.decrypt(base, digits);
    RC_ASSERT(digits == plain);
  }));
}

// Another key, another name and another length are other permutations.
TEST_CASE("ScrambleDependsOnKeyTweakAndLength") {
  const auto one = aes(kKey128);
  const auto other = aes("2B7E151628AED2A6ABF7158809CF4F3D");
  const auto of = [](const BlockCipher& cipher, const char* tweak, std::size_t length) {
    std::vector<std::uint8_t> digits(length);
    digits.back() = 1;
    Scramble(cipher, tweak).encrypt(10, digits);
    return Radix::find(10)->join(digits).value();
  };
  const std::int64_t base = of(*one, "orders", 12);
  CHECK(of(*other, "orders", 12) != base);
  CHECK(of(*one, "invoices", 12) != base);
  CHECK(of(*one, "orders", 13) != base);
  CHECK(of(*one, "orders", 12) == base);
}
