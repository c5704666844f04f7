#include "protocol/text/plain_text.h"

#include <cstdint>
#include <cstring>

#include "protocol/text/utf8.h"

namespace seqd::protocol {
namespace {

// Bytes of the printable character at the front, or 0: there is none.
std::size_t character_size(std::string_view text) {
  const auto first = static_cast<std::uint8_t>(text[0]);
  if (first < 0x20 || first == 0x7f) return 0;
  const std::size_t length = utf8_length(text);
  const bool c1_control = length == 2 && first == 0xc2 && static_cast<std::uint8_t>(text[1]) < 0xa0;
  return c1_control ? 0 : length;
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
