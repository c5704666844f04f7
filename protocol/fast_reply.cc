#include "protocol/fast_reply.h"

#include <type_traits>

#include "protocol/limits.h"
#include "protocol/values/value_header.h"

namespace seqd::protocol {
namespace {

static_assert(2 + 5 + 1 + 9 <= kFrameLimit.min);

constexpr std::uint8_t kNil = 0xc0;

// The big-endian number behind the first byte, if it is there; moves `at` behind it.
template <typename Number>
bool take_number(const std::uint8_t*& at, const std::uint8_t* end, std::int64_t& value) {
  if (static_cast<std::size_t>(end - at) < 1 + sizeof(Number)) return false;
  value = static_cast<std::int64_t>(
      static_cast<Number>(load_big_endian<std::make_unsigned_t<Number>>(at + 1)));
  at += 1 + sizeof(Number);
  return true;
}

bool take_any_integer(const std::uint8_t*& at, const std::uint8_t* end, std::int64_t& value) {
  if (at == end) return false;
  const std::uint8_t first = *at;
  switch (first) {
    case 0xcc:
      return take_number<std::uint8_t>(at, end, value);
    case 0xcd:
      return take_number<std::uint16_t>(at, end, value);
    case 0xce:
      return take_number<std::uint32_t>(at, end, value);
    case 0xcf:
      return take_number<std::uint64_t>(at, end, value) && value >= 0;
    case 0xd0:
      return take_number<std::int8_t>(at, end, value);
    case 0xd1:
      return take_number<std::int16_t>(at, end, value);
    case 0xd2:
      return take_number<std::int32_t>(at, end, value);
    case 0xd3:
      return take_number<std::int64_t>(at, end, value);
    default:
      if (first > 0x7f && first < 0xe0) return false;
      value = static_cast<std::int8_t>(first);
      ++at;
      return true;
  }
}

// Moves `at` behind the integer, in whatever form it is. False: it is none, is not there as a
// whole, or is above 2^63-1.
inline bool take_integer(const std::uint8_t*& at, const std::uint8_t* end, std::int64_t& value) {
  // Nearly always it is not negative, and something follows it: its bytes are the first of eight.
  if (end - at <= 8) return take_any_integer(at, end, value);
  const unsigned form = *at - 0xccU;
  if (form > 3) return take_any_integer(at, end, value);
  const unsigned size = 1U << form;
  value = static_cast<std::int64_t>(load_big_endian<std::uint64_t>(at + 1) >> (64 - 8 * size));
  at += 1 + size;
  return value >= 0;
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
