// The fast path: recognises `[0, msgid, "next", [name]]` and `[0, msgid, "range", [name, count]]`,
// each with or without `{"timeout_ms": n}` behind it, as libseqd sends them, in their common
// encodings in one pass, straight from the read buffer. Pure function: any thread. The name is a
// view into the bytes.
//
// Invariant: what it accepts, FrameScanner and parse_message accept with the same meaning and the
// same size under any legal limits. What it does not recognise means nothing: take the slow path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace seqd::protocol {

struct FastRequest {
  enum class Method : std::uint8_t { next, range };
  Method method = Method::next;
  std::uint32_t msgid = 0;
  std::string_view name;         // at most 255 bytes; as sent, not checked
  std::int64_t count = 1;        // of range, as sent (0 .. 2^63-1), not checked; 1 for next
  std::int64_t timeout_ms = -1;  // 0 .. kMaxTimeoutMs; -1: the request does not say
};

// The bytes of the request at the front of `bytes`, or 0: not recognised, or not whole yet.
[[nodiscard]] std::size_t parse_fast(std::span<const std::uint8_t> bytes, FastRequest& out);

}  // namespace seqd::protocol
