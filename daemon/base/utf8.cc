#include "daemon/base/utf8.h"

#include <cstddef>
#include <cstdint>

namespace seqd {
namespace {

// What may follow a first byte: so many bytes, the first of which is within [low, high].
struct Followers {
  std::size_t count = 0;
  std::uint8_t low = 0x80;
  std::uint8_t high = 0xbf;
};

// False: no character begins so.
bool followers_of(std::uint8_t first, Followers& found) {
  if (first < 0x80) return true;
  if (first < 0xc2 || first > 0xf4) return false;
  found.count = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
  if (first == 0xe0) found.low = 0xa0;   // shorter forms exist below
  if (first == 0xed) found.high = 0x9f;  // surrogates above
  if (first == 0xf0) found.low = 0x90;   // as for 0xe0
  if (first == 0xf4) found.high = 0x8f;  // U+10FFFF is the last
  return true;
}

}  // namespace

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    Followers followers;
    if (!followers_of(static_cast<std::uint8_t>(text[at]), followers)) return false;
    if (text.size() - at <= followers.count) return false;
    for (std::size_t i = 1; i <= followers.count; ++i) {
      const auto byte = static_cast<std::uint8_t>(text[at + i]);
      const bool first = i == 1;
      if (byte < (first ? followers.low : 0x80) || byte > (first ? followers.high : 0xbf))
        return false;
    }
    at += followers.count;
  }
  return true;
}

}  // namespace seqd
