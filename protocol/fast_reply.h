// The fast path of a client: recognises `[1, msgid, nil, id]`, the reply to `next` and `insert`, in
// one pass, straight from the read buffer. Pure function: any thread.
//
// Invariant: what it accepts, FrameScanner and parse_message accept with the same meaning and the
// same size under any legal limits. What it does not recognise means nothing: take the slow path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace seqd::protocol {

struct FastReply {
  std::uint32_t msgid = 0;
  std::int64_t id = 0;
};

// The bytes of the reply at the front of `bytes`, or 0: not recognised, or not whole yet.
[[nodiscard]] std::size_t parse_fast_reply(std::span<const std::uint8_t> bytes, FastReply& out);

}  // namespace seqd::protocol
