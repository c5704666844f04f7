// Encodes single MessagePack values into memory that has room for them, always in the shortest
// form. Each function returns the place of the next value. For the writers of this folder; other
// code uses value_writer.h. Pure functions: any thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "protocol/values/value_header.h"

namespace seqd::protocol {

// Room an integer, or the header of a text, array or map needs at most.
inline constexpr std::size_t kIntegerRoom = 9;
inline constexpr std::size_t kHeaderRoom = 5;

inline char* put_byte(char* at, unsigned byte) {
  *at = static_cast<char>(byte);
  return at + 1;
}

// `first` and then the number, most significant byte first.
template <typename Unsigned>
char* put_number(char* at, unsigned first, Unsigned number) {
  at = put_byte(at, first);
  // A big-endian load of little-endian bytes is the swap that is needed.
  std::uint8_t raw[sizeof number];
  std::memcpy(raw, &number, sizeof number);
  const auto swapped = load_big_endian<Unsigned>(raw);
  std::memcpy(at, &swapped, sizeof swapped);
  return at + sizeof swapped;
}

inline char* put_unsigned(char* at, std::uint64_t value) {
  if (value <= 0x7f) return put_byte(at, static_cast<unsigned>(value));
  if (value <= 0xff) return put_number(at, 0xcc, static_cast<std::uint8_t>(value));
  if (value <= 0xffff) return put_number(at, 0xcd, static_cast<std::uint16_t>(value));
  if (value <= 0xffff'ffff) return put_number(at, 0xce, static_cast<std::uint32_t>(value));
  return put_number(at, 0xcf, value);
}

inline char* put_integer(char* at, std::int64_t value) {
  if (value >= 0) return put_unsigned(at, static_cast<std::uint64_t>(value));
  if (value >= -32) return put_byte(at, static_cast<unsigned>(value) & 0xffU);
  if (value >= INT8_MIN) return put_number(at, 0xd0, static_cast<std::uint8_t>(value));
  if (value >= INT16_MIN) return put_number(at, 0xd1, static_cast<std::uint16_t>(value));
  if (value >= INT32_MIN) return put_number(at, 0xd2, static_cast<std::uint32_t>(value));
  return put_number(at, 0xd3, static_cast<std::uint64_t>(value));
}

inline char* put_text_header(char* at, std::uint32_t size) {
  if (size <= 31) return put_byte(at, 0xa0 | size);
  if (size <= 0xff) return put_number(at, 0xd9, static_cast<std::uint8_t>(size));
  if (size <= 0xffff) return put_number(at, 0xda, static_cast<std::uint16_t>(size));
  return put_number(at, 0xdb, size);
}

inline char* put_binary_header(char* at, std::uint32_t size) {
  if (size <= 0xff) return put_number(at, 0xc4, static_cast<std::uint8_t>(size));
  if (size <= 0xffff) return put_number(at, 0xc5, static_cast<std::uint16_t>(size));
  return put_number(at, 0xc6, size);
}

inline char* put_array_header(char* at, std::uint32_t count) {
  if (count <= 15) return put_byte(at, 0x90 | count);
  if (count <= 0xffff) return put_number(at, 0xdc, static_cast<std::uint16_t>(count));
  return put_number(at, 0xdd, count);
}

inline char* put_map_header(char* at, std::uint32_t pairs) {
  if (pairs <= 15) return put_byte(at, 0x80 | pairs);
  if (pairs <= 0xffff) return put_number(at, 0xde, static_cast<std::uint16_t>(pairs));
  return put_number(at, 0xdf, pairs);
}

// The text with its header; room for kHeaderRoom + text.size(), which is within 32 bits.
inline char* put_text(char* at, std::string_view text) {
  at = put_text_header(at, static_cast<std::uint32_t>(text.size()));
  if (!text.empty()) std::memcpy(at, text.data(), text.size());
  return at + text.size();
}

}  // namespace seqd::protocol
