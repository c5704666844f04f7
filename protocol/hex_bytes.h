// Bytes as hexadecimal digits and back, for the tests of this folder. Pure functions: any thread.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace seqd::protocol {

using Bytes = std::vector<std::uint8_t>;

// Blanks between the digits are allowed; anything else ends the test program.
inline Bytes hex_bytes(std::string_view digits) {
  std::string pair;
  Bytes bytes;
  for (const char c : digits) {
    if (c == ' ') continue;
    pair += c;
    if (pair.size() < 2) continue;
    bytes.push_back(static_cast<std::uint8_t>(std::stoul(pair, nullptr, 16)));
    pair.clear();
  }
  return bytes;
}

inline std::string to_hex_digits(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string digits;
  for (const std::uint8_t byte : bytes) {
    digits += kDigits[byte >> 4U];
    digits += kDigits[byte & 15U];
  }
  return digits;
}

inline Bytes bytes_of(std::string_view text) {
  return {text.begin(), text.end()};
}

// Random bytes of which many begin containers and texts, so that values nest and break off.
inline Bytes random_values(std::mt19937_64& random, std::size_t size) {
  Bytes bytes(size);
  for (std::uint8_t& byte : bytes) {
    byte = static_cast<std::uint8_t>(random());
    const std::uint64_t choice = random() % 8;
    if (choice == 0) byte = static_cast<std::uint8_t>(0x80 | (byte & 0x13));
    if (choice == 1) byte = static_cast<std::uint8_t>(0xc0 | (byte & 0x1f));
    if (choice == 2) byte = static_cast<std::uint8_t>(byte & 0x03);
    if (choice == 3) byte = 0;
  }
  return bytes;
}

}  // namespace seqd::protocol
