#include "protocol/fast/fast_reply.h"

#include <type_traits>

#include "protocol/limits.h"
#include "protocol/values/value_header.h"

namespace seqd::protocol {
namespace {

static_assert(2 + 5 + 1 + 9 <= kFrameLimit.min);

// The big-endian number behind the first byte, if it is there; moves `at` behind it.
template <typename Number>
bool take_number(const std::uint8_t*& at, const std::uint8_t* end, std::int64_t& value) {
  if (static_cast<std::size_t>(end - at) < 1 + sizeof(Number)) return false;
  value = static_cast<std::int64_t>(
      static_cast<Number>(load_big_endian<std::make_unsigned_t<Number>>(at + 1)));
  at += 1 + sizeof(Number);
  return true;
}

}  // namespace

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

}  // namespace seqd::protocol
