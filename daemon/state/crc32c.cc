#include "daemon/state/crc32c.h"

#include <array>
#include <cstddef>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace seqd {
namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit) {
      remainder = (remainder >> 1) ^ ((remainder & 1) != 0 ? 0x82f63b78U : 0U);
    }
    table[byte] = remainder;
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> table = make_table();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t by_instruction(
    std::uint32_t seed, std::span<const std::uint8_t> bytes) {
  std::uint64_t remainder = ~seed;
  const std::uint8_t* next = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; next += 8, left -= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, next, 8);
    remainder = _mm_crc32_u64(remainder, word);
  }
  auto rest = static_cast<std::uint32_t>(remainder);
  for (; left > 0; ++next, --left) rest = _mm_crc32_u8(rest, *next);
  return ~rest;
}
#endif

}  // namespace

std::uint32_t crc32c_by_table(std::uint32_t seed, std::span<const std::uint8_t> bytes) {
  std::uint32_t remainder = ~seed;
  for (const std::uint8_t byte : bytes) {
    remainder = (remainder >> 8) ^ table[(remainder ^ byte) & 0xff];
  }
  return ~remainder;
}

std::uint32_t crc32c(std::uint32_t seed, std::span<const std::uint8_t> bytes) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return by_instruction(seed, bytes);
#endif
  return crc32c_by_table(seed, bytes);
}

}  // namespace seqd
