// FrameScanner: finds where the first MessagePack value of a stream ends, without decoding it and
// without allocating, and refuses bytes that are not MessagePack, too long or too deep. It
// continues where it stopped: call it again with the same frame grown. Owned by one connection; one
// thread.
//
// Invariant: a header that announces more than the frame limit allows is refused as soon as it is
// read. So `need_more` means that fewer than `frame` bytes are there, and waiting for more costs no
// memory beyond the limit.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "protocol/errors.h"
#include "protocol/limits.h"
#include "protocol/values/value_header.h"

namespace seqd::protocol {

struct [[nodiscard]] ScanResult {
  enum class Kind : std::uint8_t {
    complete,   // the value is the first `size` bytes
    need_more,  // at least `size` bytes are needed in all
    bad,        // `error` and `text`; the stream cannot be read any further
  };
  Kind kind = Kind::need_more;
  std::size_t size = 0;
  ErrorCode error = ErrorCode::OK;
  std::string_view text;  // valid until reset()
};

class FrameScanner {
 public:
  // Limits outside their hard bounds are moved to the bound.
  explicit FrameScanner(FrameLimits limits);

  // `bytes` begins with the first byte of the frame, each time: what was there at the call before,
  // and possibly more (it may have moved in memory). After `complete` the scanner is ready for the
  // next frame; after `bad` it says the same again until reset().
  ScanResult scan(std::span<const std::uint8_t> bytes);

  // Forgets the frame: the next scan() starts a new one.
  void reset();

 private:
  // Takes one value's header in; false: it was refused.
  bool enter(const ValueHeader& header);
  void refuse(ErrorCode error, std::string text);
  void refuse_length();

  static constexpr std::size_t kDeepest = static_cast<std::size_t>(kDepthLimit.max);

  FrameLimits limits_;
  // Bytes measured so far; may lie beyond what has arrived, within a text whose header was read.
  std::uint64_t position_ = 0;
  // Values still to come on all levels; each takes at least one byte.
  std::uint64_t pending_ = 1;
  // Values still to come on each open level.
  std::array<std::uint64_t, kDeepest> open_{};
  std::size_t depth_ = 0;
  ErrorCode error_ = ErrorCode::OK;
  std::string error_text_;  // empty until something is refused
};

}  // namespace seqd::protocol
