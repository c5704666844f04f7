// A stream measured in pieces has to give the same as measured whole, within the limits, and what
// is complete has to be readable to its end. The first two bytes choose limits and the size of
// pieces.
//
// link: protocol protocol/*
// seeds: tests/fuzz/protocol_seeds.py
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "protocol/frame_scanner.h"
#include "protocol/values/value_reader.h"

namespace {

using seqd::protocol::FrameLimits;
using seqd::protocol::FrameScanner;
using seqd::protocol::ScanResult;
using seqd::protocol::ValueReader;

void require(bool condition) {
  if (!condition) std::abort();
}

struct Outcome {
  ScanResult::Kind kind;
  std::size_t size;
  seqd::ErrorCode error;
  std::string text;
  bool operator==(const Outcome&) const = default;
};

Outcome outcome_of(const ScanResult& result) {
  return {result.kind, result.size, result.error, std::string(result.text)};
}

Outcome scan_in_pieces(std::span<const std::uint8_t> bytes, std::size_t piece, FrameLimits limits) {
  FrameScanner scanner(limits);
  for (std::size_t size = 0;; size = std::min(size + piece, bytes.size())) {
    // Memory of exactly this size: a read beyond it is seen by the sanitizer.
    const std::vector<std::uint8_t> arrived(bytes.begin(),
                                            bytes.begin() + static_cast<std::ptrdiff_t>(size));
    const Outcome outcome = outcome_of(scanner.scan(arrived));
    if (outcome.kind == ScanResult::Kind::need_more) {
      require(outcome.size > size && outcome.size <= std::max(limits.frame, 1'024U));
      require(size < std::max(limits.frame, 1'024U));
    }
    if (outcome.kind != ScanResult::Kind::need_more || size == bytes.size()) return outcome;
  }
}

void check_readable(std::span<const std::uint8_t> frame) {
  ValueReader whole(frame);
  require(whole.skip() && whole.at_end());
  // Every value on the first two levels, read as whatever it is.
  ValueReader reader(frame);
  while (!reader.at_end()) {
    const std::size_t before = reader.remaining();
    const bool read = reader.read_array() || reader.read_map() || reader.read_integer() ||
                      reader.read_text() || reader.read_bool() || reader.read_nil() ||
                      reader.skip();
    require(read && reader.remaining() < before);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const FrameLimits limits{data[0] % 2 == 0 ? 65'536U : 1'024U, 4U + data[0] / 8U};
  // At most 64 pieces of a long stream: copying each prefix is quadratic.
  const std::size_t piece = std::max<std::size_t>(1U + data[1], size / 64);
  const std::span<const std::uint8_t> bytes(data + 2, size - 2);
  FrameScanner scanner(limits);
  const Outcome whole = outcome_of(scanner.scan(bytes));
  require(scan_in_pieces(bytes, piece, limits) == whole);
  if (whole.kind == ScanResult::Kind::complete) check_readable(bytes.first(whole.size));
  return 0;
}
