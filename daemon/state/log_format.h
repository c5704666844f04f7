// How log entries are encoded: a byte for the kind, then the fields as varints, fixed bytes and
// counted strings (daemon/doc/LOG-FORMAT.md). Pure functions; any thread. Every value of every
// entry survives the round trip; what the reader is given is taken as hostile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "daemon/base/status.h"
#include "daemon/core/log/log_entry.h"

namespace seqd {

// A longer string is refused when read; names and bindings are far below it.
constexpr std::size_t max_string = 65'535;

// Appends the entry. No allocation once `out` has grown.
void encode_entry(std::vector<std::uint8_t>& out, const LogEntry& entry);

constexpr std::size_t longest_number = 10;  // bytes
// LEB128: seven bits a byte, low ones first. The first byte behind it.
constexpr std::uint8_t* encode_number(std::uint8_t* at, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) *at++ = static_cast<std::uint8_t>(number | 0x80);
  *at++ = static_cast<std::uint8_t>(number);
  return at;
}

// Reads numbers and entries one after the other. `bytes` must remain live.
class EntryReader {
 public:
  explicit EntryReader(std::span<const std::uint8_t> bytes) : left_(bytes) {}

  bool at_end() const { return left_.empty(); }
  std::span<const std::uint8_t> left() const { return left_; }

  // STATE_CORRUPT when the bytes are no entry of a known kind.
  Result<LogEntry> next();
  // False at the end or when it is no 64-bit number: for frames whose check sum is not known yet.
  bool read_number(std::uint64_t& number);

 private:
  std::span<const std::uint8_t> left_;
};

}  // namespace seqd
