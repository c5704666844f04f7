#include "daemon/core/token.h"

#include <cstring>

namespace seqd {

Token random_token(Random& random) {
  Token token;
  for (std::size_t at = 0; at < token.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t bits = random.next();
    std::memcpy(token.data() + at, &bits, sizeof bits);
  }
  return token;
}

std::string to_hex(const Token& token) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const std::uint8_t byte : token) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

}  // namespace seqd
