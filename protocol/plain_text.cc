#include "protocol/plain_text.h"

#include <cstdint>
#include <cstring>

namespace seqd::protocol {
namespace {

bool continues(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<std::uint8_t>(text[at]) & 0xc0) == 0x80;
}

// Bytes of the printable character at the front, or 0: there is none.
std::size_t character_size(std::string_view text) {
  const auto first = static_cast<std::uint8_t>(text[0]);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  if (first < 0xc2 || first > 0xf4 || !continues(text, 1)) return 0;
  const auto second = static_cast<std::uint8_t>(text[1]);
  if (first < 0xe0) return first == 0xc2 && second < 0xa0 ? 0 : 2;  // C1 controls
  if (first == 0xe0 && second < 0xa0) return 0;                     // longer than needed
  if (first == 0xed && second > 0x9f) return 0;                     // a surrogate
  if (first == 0xf0 && second < 0x90) return 0;                     // longer than needed
  if (first == 0xf4 && second > 0x8f) return 0;                     // above U+10FFFF
  if (!continues(text, 2)) return 0;
  if (first < 0xf0) return 3;
  return continues(text, 3) ? 4 : 0;
}

}  // namespace

std::size_t write_plain_text(std::string_view text, char* out, std::size_t room) {
  std::size_t written = 0;
  while (!text.empty() && written < room) {
    const std::size_t size = character_size(text);
    if (size == 0) {
      out[written++] = '?';
      text.remove_prefix(1);
      continue;
    }
    if (size > room - written) break;
    std::memcpy(out + written, text.data(), size);
    written += size;
    text.remove_prefix(size);
  }
  return written;
}

}  // namespace seqd::protocol
