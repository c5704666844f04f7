#include "daemon/core/leasing/store_place.h"

#include <cstdint>

namespace seqd {

std::string place_record(const std::string& text) {
  constexpr std::size_t kLongest = 200;
  if (text.size() <= kLongest) return text;
  std::uint64_t digest = 0xcbf29ce484222325;  // FNV-1a
  for (const char byte : text) digest = (digest ^ static_cast<std::uint8_t>(byte)) * 0x100000001b3;
  return text.substr(0, kLongest) + "#" + std::to_string(digest);
}

}  // namespace seqd
