// ValueReader: a cursor over the bytes of MessagePack values that are complete and were measured by
// a FrameScanner. It allocates nothing; texts are views into the bytes, which must outlive them. A
// value; any thread, one at a time.
//
// Invariant: with any bytes, it never reads outside them; a read that finds another kind of value,
// or too few bytes, gives nothing and leaves the cursor where it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace seqd::protocol {

enum class ValueKind : std::uint8_t {
  end,  // no bytes are left
  nil,
  boolean,
  integer,  // any width; one above 2^63-1 has this kind, but read_integer() gives nothing
  floating,
  string,
  binary,
  array,
  map,
  extension,
  invalid,  // 0xc1
};

// A value of a type of its own: what it means is between the two sides.
struct Extension {
  std::int8_t type = 0;
  std::span<const std::uint8_t> bytes;
};

class ValueReader {
 public:
  ValueReader() = default;
  explicit ValueReader(std::span<const std::uint8_t> bytes)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  // What stands at the cursor.
  ValueKind kind() const;
  // Bytes behind the cursor.
  std::size_t remaining() const { return static_cast<std::size_t>(end_ - at_); }
  bool at_end() const { return at_ == end_; }
  // What lies behind the cursor.
  std::span<const std::uint8_t> bytes() const { return {at_, end_}; }

  // The number of elements; the cursor is then at the first one.
  [[nodiscard]] std::optional<std::uint32_t> read_array();
  // The number of pairs; the cursor is then at the first key.
  [[nodiscard]] std::optional<std::uint32_t> read_map();
  // Every encoding of an integer within int64. A float is not an integer.
  [[nodiscard]] std::optional<std::int64_t> read_integer() {
    if (at_ != end_ && *at_ <= 0x7f) return *at_++;
    return read_wide_integer();
  }
  // str or bin of any width. The bytes are as sent: not checked to be UTF-8.
  [[nodiscard]] std::optional<std::string_view> read_text() {
    if (at_ != end_ && (*at_ & 0xe0) == 0xa0) return take_text(1, *at_ & 0x1fU);
    return read_wide_text();
  }
  [[nodiscard]] std::optional<bool> read_bool();
  // float 32 or 64; the narrow one is exact in the wide one.
  [[nodiscard]] std::optional<double> read_float();
  [[nodiscard]] std::optional<Extension> read_extension();
  // Whether there was a nil, which is then behind the cursor.
  [[nodiscard]] bool read_nil();
  // Whether there was a whole value of any kind, which is then behind the cursor.
  [[nodiscard]] bool skip();

 private:
  std::optional<std::int64_t> read_wide_integer();
  std::optional<std::string_view> read_wide_text();
  std::optional<std::string_view> take_text(std::size_t header, std::uint64_t size) {
    if (remaining() - header < size) return std::nullopt;
    const std::string_view text(reinterpret_cast<const char*>(at_ + header), size);
    at_ += header + size;
    return text;
  }

  const std::uint8_t* at_ = nullptr;
  const std::uint8_t* end_ = nullptr;
};

}  // namespace seqd::protocol
