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

// LEB128: seven bits a byte, low ones first; at most 10 bytes.
void encode_number(std::vector<std::uint8_t>& out, std::uint64_t number);

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
