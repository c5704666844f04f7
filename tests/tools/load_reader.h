// Reads just enough MessagePack to measure a reply: integers, arrays, text and nil, in every legal
// width. It never reads behind the end, and copies nothing: text points into what was given. The
// load generator's own; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace seqd::load {

// How far a reply could be read: in full, not to its end yet, or it is none.
enum class Parse : std::uint8_t { reply, incomplete, broken };

// Reads MessagePack from [at, end). The first thing that goes wrong sticks in `state`.
class Cursor {
 public:
  Cursor(const char* at, const char* end) : at_(at), end_(end) {}
  Parse state() const { return state_; }
  const char* at() const { return at_; }

  std::uint64_t unsigned_integer();
  std::uint32_t array();
  std::string_view text();
  bool nil();  // true, and past it, when a nil is next

 private:
  std::uint8_t byte();
  std::uint64_t big_endian(int bytes);
  std::string_view take(std::uint64_t size);
  void broken() { state_ = state_ == Parse::reply ? Parse::broken : state_; }

  const char* at_;
  const char* end_;
  Parse state_ = Parse::reply;
};

inline std::uint8_t Cursor::byte() {
  if (at_ == end_) {
    if (state_ == Parse::reply) state_ = Parse::incomplete;
    return 0;
  }
  return static_cast<std::uint8_t>(*at_++);
}

inline std::uint64_t Cursor::big_endian(int bytes) {
  std::uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) value = value << 8 | byte();
  return value;
}

inline std::uint64_t Cursor::unsigned_integer() {
  const std::uint8_t head = byte();
  if (head < 0x80) return head;
  if (head >= 0xcc && head <= 0xcf) return big_endian(1 << (head - 0xcc));
  if (head >= 0xd0 && head <= 0xd3) return big_endian(1 << (head - 0xd0));
  broken();
  return 0;
}

inline std::uint32_t Cursor::array() {
  const std::uint8_t head = byte();
  if ((head & 0xf0) == 0x90) return head & 0x0fU;
  if (head == 0xdc || head == 0xdd) {
    return static_cast<std::uint32_t>(big_endian(head == 0xdc ? 2 : 4));
  }
  broken();
  return 0;
}

inline std::string_view Cursor::take(std::uint64_t size) {
  if (static_cast<std::uint64_t>(end_ - at_) < size) {
    if (state_ == Parse::reply) state_ = Parse::incomplete;
    return {};
  }
  const std::string_view taken(at_, static_cast<std::size_t>(size));
  at_ += size;
  return taken;
}

inline std::string_view Cursor::text() {
  const std::uint8_t head = byte();
  if ((head & 0xe0) == 0xa0) return take(head & 0x1fU);
  if (head >= 0xd9 && head <= 0xdb) return take(big_endian(1 << (head - 0xd9)));
  if (head >= 0xc4 && head <= 0xc6) return take(big_endian(1 << (head - 0xc4)));
  broken();
  return {};
}

inline bool Cursor::nil() {
  if (at_ == end_ || static_cast<std::uint8_t>(*at_) != 0xc0) return false;
  ++at_;
  return true;
}

}  // namespace seqd::load
