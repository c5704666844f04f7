// The fast path of a client: recognises `[1, msgid, nil, id]`, the reply to `next` and `insert`, in
// one pass, straight from the read buffer. Pure function: any thread.
//
// Invariant: what it accepts, FrameScanner and parse_message accept with the same meaning and the
// same size under any legal limits. What it does not recognise means nothing: take the slow path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "protocol/values/value_header.h"

namespace seqd::protocol {

struct FastReply {
  std::uint32_t msgid = 0;
  std::int64_t id = 0;
};

// Moves `at` behind the integer, in any encoding. False: it is none, is not there as a whole, or is
// above 2^63-1.
[[nodiscard]] bool take_any_integer(const std::uint8_t*& at, const std::uint8_t* end,
                                    std::int64_t& value);

// The same.
[[nodiscard]] inline bool take_integer(const std::uint8_t*& at, const std::uint8_t* end,
                                       std::int64_t& value) {
  // Nearly always it is not negative; and if something follows it, its bytes are the first of
  // eight.
  const unsigned form = at == end ? 4 : *at - 0xccU;
  if (form > 3) return take_any_integer(at, end, value);
  const std::ptrdiff_t size = std::ptrdiff_t{1} << form;
  std::uint64_t number = 0;
  if (end - at > 8) {
    number = load_big_endian<std::uint64_t>(at + 1) >> (64 - 8 * size);
  } else {
    if (end - at <= size) return false;
    for (std::ptrdiff_t byte = 1; byte <= size; ++byte) number = number << 8 | at[byte];
  }
  value = static_cast<std::int64_t>(number);
  at += 1 + size;
  return value >= 0;
}

// The bytes of the reply at the front of `bytes`, or 0: not recognised, or not whole yet.
[[nodiscard]] inline std::size_t parse_fast_reply(std::span<const std::uint8_t> bytes,
                                                  FastReply& out) {
  constexpr std::uint8_t kNil = 0xc0;
  const std::uint8_t* at = bytes.data();
  const std::uint8_t* const end = at + bytes.size();
  if (bytes.size() < 5 || at[0] != 0x94 || at[1] != 0x01) return 0;
  at += 2;
  std::int64_t msgid = 0;
  if (!take_integer(at, end, msgid) || msgid < 0 || msgid > UINT32_MAX) return 0;
  if (at == end || *at++ != kNil) return 0;
  if (!take_integer(at, end, out.id)) return 0;
  out.msgid = static_cast<std::uint32_t>(msgid);
  return static_cast<std::size_t>(at - bytes.data());
}

}  // namespace seqd::protocol
