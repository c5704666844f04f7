#include "protocol/values/value_reader.h"

#include <bit>
#include <limits>

#include "protocol/values/value_header.h"

namespace seqd::protocol {

ValueKind ValueReader::kind() const {
  if (at_end()) return ValueKind::end;
  const std::uint8_t first = *at_;
  if (first <= 0x7f || first >= 0xe0) return ValueKind::integer;
  if (first <= 0x8f) return ValueKind::map;
  if (first <= 0x9f) return ValueKind::array;
  if (first <= 0xbf) return ValueKind::string;
  if (first == 0xc0) return ValueKind::nil;
  if (first == kNeverUsed) return ValueKind::invalid;
  if (first <= 0xc3) return ValueKind::boolean;
  if (first <= 0xc6) return ValueKind::binary;
  if (first <= 0xc9) return ValueKind::extension;
  if (first <= 0xcb) return ValueKind::floating;
  if (first <= 0xd3) return ValueKind::integer;
  if (first <= 0xd8) return ValueKind::extension;
  if (first <= 0xdb) return ValueKind::string;
  return first <= 0xdd ? ValueKind::array : ValueKind::map;
}

std::optional<std::uint32_t> ValueReader::read_array() {
  if (kind() != ValueKind::array) return std::nullopt;
  const std::size_t size = header_size(*at_);
  if (remaining() < size) return std::nullopt;
  const ValueHeader header = read_header(at_);
  at_ += size;
  return static_cast<std::uint32_t>(header.values);
}

std::optional<std::uint32_t> ValueReader::read_map() {
  if (kind() != ValueKind::map) return std::nullopt;
  const std::size_t size = header_size(*at_);
  if (remaining() < size) return std::nullopt;
  const ValueHeader header = read_header(at_);
  at_ += size;
  return static_cast<std::uint32_t>(header.values / 2);
}

std::optional<std::int64_t> ValueReader::read_wide_integer() {
  if (kind() != ValueKind::integer) return std::nullopt;
  const std::size_t size = header_size(*at_);
  if (remaining() < size) return std::nullopt;
  const std::uint8_t* const number = at_ + 1;
  std::int64_t value = 0;
  switch (*at_) {
    case 0xcc:
      value = *number;
      break;
    case 0xcd:
      value = load_big_endian<std::uint16_t>(number);
      break;
    case 0xce:
      value = load_big_endian<std::uint32_t>(number);
      break;
    case 0xcf: {
      const auto unsigned_value = load_big_endian<std::uint64_t>(number);
      if (unsigned_value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return std::nullopt;
      value = static_cast<std::int64_t>(unsigned_value);
      break;
    }
    case 0xd0:
      value = static_cast<std::int8_t>(*number);
      break;
    case 0xd1:
      value = static_cast<std::int16_t>(load_big_endian<std::uint16_t>(number));
      break;
    case 0xd2:
      value = static_cast<std::int32_t>(load_big_endian<std::uint32_t>(number));
      break;
    case 0xd3:
      value = static_cast<std::int64_t>(load_big_endian<std::uint64_t>(number));
      break;
    default:  // fixint
      value = static_cast<std::int8_t>(*at_);
      break;
  }
  at_ += size;
  return value;
}

std::optional<std::string_view> ValueReader::read_wide_text() {
  const ValueKind found = kind();
  if (found != ValueKind::string && found != ValueKind::binary) return std::nullopt;
  const std::size_t size = header_size(*at_);
  if (remaining() < size) return std::nullopt;
  return take_text(size, read_header(at_).payload);
}

std::optional<bool> ValueReader::read_bool() {
  if (kind() != ValueKind::boolean) return std::nullopt;
  return *at_++ == 0xc3;
}

std::optional<double> ValueReader::read_float() {
  if (kind() != ValueKind::floating) return std::nullopt;
  const std::size_t size = header_size(*at_);
  if (remaining() < size) return std::nullopt;
  const std::uint8_t* const number = at_ + 1;
  const double value =
      *at_ == 0xca
          ? static_cast<double>(std::bit_cast<float>(load_big_endian<std::uint32_t>(number)))
          : std::bit_cast<double>(load_big_endian<std::uint64_t>(number));
  at_ += size;
  return value;
}

std::optional<Extension> ValueReader::read_extension() {
  if (kind() != ValueKind::extension) return std::nullopt;
  const std::size_t size = header_size(*at_);
  if (remaining() < size) return std::nullopt;
  const std::uint64_t payload = read_header(at_).payload;
  if (remaining() - size < payload) return std::nullopt;
  // The type is the last byte of the header.
  const Extension found{static_cast<std::int8_t>(at_[size - 1]), {at_ + size, payload}};
  at_ += size + payload;
  return found;
}

bool ValueReader::read_nil() {
  if (kind() != ValueKind::nil) return false;
  ++at_;
  return true;
}

bool ValueReader::skip() {
  const std::uint8_t* at = at_;
  // Each value takes a byte, so this ends with the bytes however much a header announces.
  for (std::uint64_t pending = 1; pending > 0; --pending) {
    if (at == end_ || *at == kNeverUsed) return false;
    const std::size_t size = header_size(*at);
    if (static_cast<std::size_t>(end_ - at) < size) return false;
    const ValueHeader header = read_header(at);
    at += size;
    if (static_cast<std::size_t>(end_ - at) < header.payload) return false;
    at += header.payload;
    pending += header.values;
  }
  at_ = at;
  return true;
}

}  // namespace seqd::protocol
