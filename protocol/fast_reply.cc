#include "protocol/fast_reply.h"

#include "protocol/limits.h"
#include "protocol/values/value_header.h"

namespace seqd::protocol {
namespace {

static_assert(2 + 5 + 1 + 9 <= kFrameLimit.min);

constexpr std::uint8_t kNil = 0xc0;

// The integer at `at`, of which the header and all else is there. False: it is none, or it is above
// 2^63-1.
bool read_integer(const std::uint8_t* at, std::int64_t& value) {
  const std::uint8_t first = *at;
  if (first <= 0x7f) {
    value = first;
    return true;
  }
  if (first >= 0xe0) {
    value = static_cast<std::int8_t>(first);
    return true;
  }
  switch (first) {
    case 0xcc:
      value = at[1];
      return true;
    case 0xcd:
      value = load_big_endian<std::uint16_t>(at + 1);
      return true;
    case 0xce:
      value = load_big_endian<std::uint32_t>(at + 1);
      return true;
    case 0xcf:
      value = static_cast<std::int64_t>(load_big_endian<std::uint64_t>(at + 1));
      return value >= 0;
    case 0xd0:
      value = static_cast<std::int8_t>(at[1]);
      return true;
    case 0xd1:
      value = static_cast<std::int16_t>(load_big_endian<std::uint16_t>(at + 1));
      return true;
    case 0xd2:
      value = static_cast<std::int32_t>(load_big_endian<std::uint32_t>(at + 1));
      return true;
    case 0xd3:
      value = static_cast<std::int64_t>(load_big_endian<std::uint64_t>(at + 1));
      return true;
    default:
      return false;
  }
}

// Moves `at` behind the integer.
bool take_integer(const std::uint8_t*& at, const std::uint8_t* end, std::int64_t& value) {
  if (at == end) return false;
  const std::size_t size = header_size(*at);
  if (static_cast<std::size_t>(end - at) < size || !read_integer(at, value)) return false;
  at += size;
  return true;
}

}  // namespace

std::size_t parse_fast_reply(std::span<const std::uint8_t> bytes, FastReply& out) {
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
