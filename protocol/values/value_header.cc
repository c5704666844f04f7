#include "protocol/values/value_header.h"

namespace seqd::protocol {
namespace {

ValueHeader with_payload(std::uint64_t payload) {
  return {.payload = payload, .values = 0, .container = false};
}

ValueHeader with_values(std::uint64_t values) {
  return {.payload = 0, .values = values, .container = true};
}

}  // namespace

ValueHeader read_long_header(const std::uint8_t* at) {
  const std::uint8_t first = *at;
  switch (first) {
    case 0xc4:  // bin 8
    case 0xc7:  // ext 8
    case 0xd9:  // str 8
      return with_payload(at[1]);
    case 0xc5:
    case 0xc8:
    case 0xda:
      return with_payload(load_big_endian<std::uint16_t>(at + 1));
    case 0xc6:
    case 0xc9:
    case 0xdb:
      return with_payload(load_big_endian<std::uint32_t>(at + 1));
    case 0xd4:  // fixext 1, 2, 4, 8, 16
    case 0xd5:
    case 0xd6:
    case 0xd7:
    case 0xd8:
      return with_payload(1ULL << (first - 0xd4U));
    case 0xdc:
      return with_values(load_big_endian<std::uint16_t>(at + 1));
    case 0xdd:
      return with_values(load_big_endian<std::uint32_t>(at + 1));
    case 0xde:
      return with_values(2ULL * load_big_endian<std::uint16_t>(at + 1));
    case 0xdf:
      return with_values(2ULL * load_big_endian<std::uint32_t>(at + 1));
    default:  // nil, booleans, numbers
      return {};
  }
}

}  // namespace seqd::protocol
