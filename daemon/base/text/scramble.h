// Scramble: a keyed permutation of the numbers with so many digits in some base, so that a number
// does not reveal how many there were before it. It is FF1 of NIST SP 800-38G over a block cipher
// that is passed in (AES: daemon/os/aes.h). Immutable; any thread; the cipher outlives it.
//
// Invariant: decrypt() undoes encrypt() of the same key, tweak, base and number of digits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace seqd {

using CipherBlock = std::array<std::uint8_t, 16>;

// A block cipher with its key. Immutable; one thread.
class BlockCipher {
 public:
  virtual ~BlockCipher() = default;
  virtual void encrypt(CipherBlock& block) const = 0;
};

class Scramble {
 public:
  // So that half of the digits, in any base up to 62, are a number of 64 bits.
  static constexpr std::size_t kMostDigits = 20;

  // The tweak makes another permutation out of the same key. At most 4,096 bytes.
  Scramble(const BlockCipher& cipher, std::string tweak);

  // Digits as values below `base`, at least 2 and at most kMostDigits of them; in place.
  void encrypt(unsigned base, std::span<std::uint8_t> digits) const;
  void decrypt(unsigned base, std::span<std::uint8_t> digits) const;

 private:
  const BlockCipher& cipher_;
  const std::string tweak_;
};

}  // namespace seqd
