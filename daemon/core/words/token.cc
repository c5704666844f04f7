#include "daemon/core/words/token.h"

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

std::optional<Token> from_hex(std::string_view text) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  Token token{};
  if (text.size() != 2 * token.size()) return std::nullopt;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t digit = kDigits.find(text[at]);
    if (digit == std::string_view::npos) return std::nullopt;
    token[at / 2] = static_cast<std::uint8_t>(std::size_t{token[at / 2]} << 4U | digit);
  }
  return token;
}

}  // namespace seqd
