// The header of one MessagePack value: how long it is and what follows it. The only table of the
// 256 first bytes of the format; frame scanner and reader both use it. Pure functions: any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace seqd::protocol {

struct ValueHeader {
  std::uint64_t payload = 0;  // bytes behind the header that belong to the value
  std::uint64_t values = 0;   // values behind the header that belong to the value
  bool container = false;     // an array or a map, though it may be empty
};

// The first byte that MessagePack gives no meaning.
inline constexpr std::uint8_t kNeverUsed = 0xc1;

// Reads `Width` bytes, most significant first.
template <typename Unsigned>
Unsigned load_big_endian(const std::uint8_t* at) {
  Unsigned value = 0;
  std::memcpy(&value, at, sizeof value);
  if constexpr (sizeof value == 2) value = __builtin_bswap16(value);
  if constexpr (sizeof value == 4) value = __builtin_bswap32(value);
  if constexpr (sizeof value == 8) value = __builtin_bswap64(value);
  return value;
}

// 0xc0 .. 0xdf; every other first byte is a header of its own.
inline constexpr std::array<std::uint8_t, 32> kHeaderSizes = {
    1, 1, 1, 1,              // nil, never used, false, true
    2, 3, 5,                 // bin 8, 16, 32
    3, 4, 6,                 // ext 8, 16, 32: with the type
    5, 9,                    // float 32, 64
    2, 3, 5, 9, 2, 3, 5, 9,  // uint and int 8, 16, 32, 64
    2, 2, 2, 2, 2,           // fixext 1, 2, 4, 8, 16: with the type
    2, 3, 5,                 // str 8, 16, 32
    3, 5, 3, 5,              // array 16, 32, map 16, 32
};

// Bytes of the header that begins with `first`, 1 .. 9; numbers are all header.
inline std::size_t header_size(std::uint8_t first) {
  return first >= 0xc0 && first <= 0xdf ? kHeaderSizes[first - 0xc0U] : 1;
}

// read_header() of 0xc0 .. 0xdf.
ValueHeader read_long_header(const std::uint8_t* at);

// `at` points to header_size(*at) readable bytes, and *at is not kNeverUsed.
inline ValueHeader read_header(const std::uint8_t* at) {
  const std::uint8_t first = *at;
  if (first <= 0x7f || first >= 0xe0) return {};               // fixint
  if (first <= 0x8f) return {0, 2 * (first & 0x0fULL), true};  // fixmap
  if (first <= 0x9f) return {0, first & 0x0fULL, true};        // fixarray
  if (first <= 0xbf) return {first & 0x1fULL, 0, false};       // fixstr
  return read_long_header(at);
}

}  // namespace seqd::protocol
