#include "daemon/base/text/scramble.h"

#include <bit>
#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

// The names are those of SP 800-38G, algorithms 7 and 8.
constexpr unsigned kRounds = 10;
constexpr std::size_t kBlock = std::tuple_size_v<CipherBlock>;

__extension__ using Wide = unsigned __int128;

std::uint64_t power(unsigned base, std::size_t exponent) {
  std::uint64_t out = 1;
  for (; exponent > 0; --exponent) out *= base;
  return out;
}

std::uint64_t number_of(unsigned base, std::span<const std::uint8_t> digits) {
  std::uint64_t out = 0;
  for (const std::uint8_t digit : digits) out = out * base + digit;
  return out;
}

void digits_of(std::uint64_t number, unsigned base, std::span<std::uint8_t> digits) {
  for (std::size_t at = digits.size(); at > 0; --at) {
    digits[at - 1] = static_cast<std::uint8_t>(number % base);
    number /= base;
  }
}

// The function of one round, with everything that all rounds share computed once.
class Rounds {
 public:
  Rounds(const BlockCipher& cipher, const std::string& tweak, unsigned base, std::size_t digits)
      : cipher_(cipher), u_(digits / 2), v_(digits - u_) {
    modulus_[0] = power(base, u_);
    modulus_[1] = power(base, v_);
    b_ = (static_cast<std::size_t>(std::bit_width(modulus_[1] - 1)) + 7) / 8;
    d_ = 4 * ((b_ + 3) / 4) + 4;
    // The end of a block has room for the round and for a half, as value() puts them there.
    ASSERT(b_ < kBlock && d_ <= kBlock);
    const auto t = tweak.size();
    state_ = {1,
              2,
              1,
              0,
              0,
              static_cast<std::uint8_t>(base),
              kRounds,
              static_cast<std::uint8_t>(u_),
              0,
              0,
              0,
              static_cast<std::uint8_t>(digits),
              0,
              0,
              static_cast<std::uint8_t>(t >> 8),
              static_cast<std::uint8_t>(t)};
    cipher_.encrypt(state_);
    // The tweak, filled up with zeros so that round and number end a block.
    const std::size_t padded = (t + b_ + 1 + kBlock - 1) / kBlock * kBlock;
    for (std::size_t at = 0; at < padded; ++at) {
      if (at > 0 && at % kBlock == 0) cipher_.encrypt(state_);
      if (at < t) state_[at % kBlock] ^= static_cast<std::uint8_t>(tweak[at]);
    }
  }

  std::size_t left_digits() const { return u_; }
  // radix^m of the round.
  std::uint64_t modulus(unsigned round) const { return modulus_[round % 2]; }

  // y mod radix^m.
  std::uint64_t value(unsigned round, std::uint64_t number) const {
    CipherBlock block = state_;
    block[kBlock - b_ - 1] ^= static_cast<std::uint8_t>(round);
    for (std::size_t at = 0; at < b_; ++at)
      block[kBlock - 1 - at] ^= static_cast<std::uint8_t>(number >> (8 * at));
    cipher_.encrypt(block);
    Wide y = 0;
    for (std::size_t at = 0; at < d_; ++at) y = y << 8 | block[at];
    return static_cast<std::uint64_t>(y % modulus(round));
  }

 private:
  const BlockCipher& cipher_;
  const std::size_t u_;
  const std::size_t v_;
  std::size_t b_ = 0;
  std::size_t d_ = 0;
  std::array<std::uint64_t, 2> modulus_{};
  CipherBlock state_{};  // of the chain, before the last block is encrypted
};

}  // namespace

Scramble::Scramble(const BlockCipher& cipher, std::string tweak)
    : cipher_(cipher), tweak_(std::move(tweak)) {
  ASSERT(tweak_.size() <= 4'096);
}

void Scramble::encrypt(unsigned base, std::span<std::uint8_t> digits) const {
  ASSERT(base <= 62 && digits.size() >= 2 && digits.size() <= kMostDigits);
  const Rounds rounds(cipher_, tweak_, base, digits.size());
  std::uint64_t a = number_of(base, digits.first(rounds.left_digits()));
  std::uint64_t b = number_of(base, digits.subspan(rounds.left_digits()));
  for (unsigned round = 0; round < kRounds; ++round) {
    const std::uint64_t modulus = rounds.modulus(round);
    const auto c = static_cast<std::uint64_t>((Wide{a} + rounds.value(round, b)) % modulus);
    a = std::exchange(b, c);
  }
  digits_of(a, base, digits.first(rounds.left_digits()));
  digits_of(b, base, digits.subspan(rounds.left_digits()));
}

void Scramble::decrypt(unsigned base, std::span<std::uint8_t> digits) const {
  ASSERT(base <= 62 && digits.size() >= 2 && digits.size() <= kMostDigits);
  const Rounds rounds(cipher_, tweak_, base, digits.size());
  std::uint64_t a = number_of(base, digits.first(rounds.left_digits()));
  std::uint64_t b = number_of(base, digits.subspan(rounds.left_digits()));
  for (unsigned round = kRounds; round-- > 0;) {
    const std::uint64_t modulus = rounds.modulus(round);
    const auto c =
        static_cast<std::uint64_t>((Wide{b} + modulus - rounds.value(round, a)) % modulus);
    b = std::exchange(a, c);
  }
  digits_of(a, base, digits.first(rounds.left_digits()));
  digits_of(b, base, digits.subspan(rounds.left_digits()));
}

}  // namespace seqd
