#include "daemon/core/lease_store.h"

namespace seqd {

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
