#include "protocol/fast/fast_request.h"

#include <cstring>

#include "protocol/limits.h"
#include "protocol/values/value_header.h"

namespace seqd::protocol {
namespace {

// {"timeout_ms": n}, up to the number.
constexpr std::string_view kTimeout = "\x81\xaatimeout_ms";

// This path stays within any legal limits: [0, msgid, "range", [name, count, {..}]] with a name of
// 255 bytes, nested three deep.
static_assert(2 + 5 + 2 + 5 + 1 + 2 + 255 + 9 + kTimeout.size() + 9 <= kFrameLimit.min);
static_assert(kDepthLimit.min >= 3);

constexpr std::uint8_t kUint8 = 0xcc;
constexpr std::uint8_t kUint16 = 0xcd;
constexpr std::uint8_t kUint32 = 0xce;
constexpr std::uint8_t kUint64 = 0xcf;
constexpr std::uint8_t kStr8 = 0xd9;

// Each take function moves `at` behind what it recognises and says whether it did.

bool take_msgid(const std::uint8_t*& at, const std::uint8_t* end, std::uint32_t& value) {
  const auto left = static_cast<std::size_t>(end - at);
  if (left < 5) return false;  // a method follows in any case
  const std::uint8_t first = *at;
  if (first <= 0x7f) {
    value = first;
    at += 1;
  } else if (first == kUint8) {
    value = at[1];
    at += 2;
  } else if (first == kUint16) {
    value = load_big_endian<std::uint16_t>(at + 1);
    at += 3;
  } else if (first == kUint32) {
    value = load_big_endian<std::uint32_t>(at + 1);
    at += 5;
  } else {
    return false;
  }
  return true;
}

// The method and the header of the params: how many there are.
bool take_method(const std::uint8_t*& at, const std::uint8_t* end, FastRequest::Method& method,
                 int& params) {
  // All that is read here, and no more than the shortest request has left: a4 "next" 91 a1 "x".
  if (end - at < 8) return false;
  const bool wide = *at == kStr8;
  if (wide) ++at;
  const std::uint8_t size = *at++;
  if (size == (wide ? 4 : 0xa4)) {
    if (std::memcmp(at, "next", 4) != 0 || (at[4] != 0x91 && at[4] != 0x92)) return false;
    params = at[4] & 0x0f;
    at += 5;
    method = FastRequest::Method::next;
    return true;
  }
  if (size == (wide ? 5 : 0xa5)) {
    if (std::memcmp(at, "range", 5) != 0 || (at[5] != 0x92 && at[5] != 0x93)) return false;
    params = at[5] & 0x0f;
    at += 6;
    method = FastRequest::Method::range;
    return true;
  }
  return false;
}

bool take_name(const std::uint8_t*& at, const std::uint8_t* end, std::string_view& name) {
  if (at == end) return false;
  std::size_t size = 0;
  if ((*at & 0xe0) == 0xa0) {
    size = *at & 0x1fU;
    at += 1;
  } else if (*at == kStr8 && end - at >= 2) {
    size = at[1];
    at += 2;
  } else {
    return false;
  }
  if (static_cast<std::size_t>(end - at) < size) return false;
  name = {reinterpret_cast<const char*>(at), size};
  at += size;
  return true;
}

bool take_count(const std::uint8_t*& at, const std::uint8_t* end, std::int64_t& count) {
  if (at == end) return false;
  const std::uint8_t first = *at;
  if (first <= 0x7f) {
    count = first;
    at += 1;
    return true;
  }
  if (first < kUint8 || first > kUint64) return false;
  const std::size_t size = header_size(first);
  if (static_cast<std::size_t>(end - at) < size) return false;
  if (first == kUint8) count = at[1];
  if (first == kUint16) count = load_big_endian<std::uint16_t>(at + 1);
  if (first == kUint32) count = load_big_endian<std::uint32_t>(at + 1);
  if (first == kUint64) count = static_cast<std::int64_t>(load_big_endian<std::uint64_t>(at + 1));
  if (count < 0) return false;  // above 2^63-1: the slow path says what is wrong
  at += size;
  return true;
}

bool take_timeout(const std::uint8_t*& at, const std::uint8_t* end, std::int64_t& timeout_ms) {
  if (static_cast<std::size_t>(end - at) < kTimeout.size()) return false;
  if (std::memcmp(at, kTimeout.data(), kTimeout.size()) != 0) return false;
  at += kTimeout.size();
  // One that is too long: the slow path says so.
  return take_count(at, end, timeout_ms) && timeout_ms <= kMaxTimeoutMs;
}

// [0, msgid, ...
bool take_front(const std::uint8_t*& at, const std::uint8_t* end, std::uint32_t& msgid) {
  if (end - at < 2 || at[0] != 0x94 || at[1] != 0x00) return false;
  at += 2;
  return take_msgid(at, end, msgid);
}

// What follows the msgid.
bool take_rest(const std::uint8_t*& at, const std::uint8_t* end, FastRequest& out) {
  out.count = 1;
  out.timeout_ms = -1;
  out.again = false;
  int params = 0;
  if (!take_method(at, end, out.method, params) || !take_name(at, end, out.name)) return false;
  const bool range = out.method == FastRequest::Method::range;
  if (range && !take_count(at, end, out.count)) return false;
  return params != (range ? 3 : 2) || take_timeout(at, end, out.timeout_ms);
}

}  // namespace

std::size_t FastParser::parse(std::span<const std::uint8_t> bytes) {
  const std::uint8_t* at = bytes.data();
  const std::uint8_t* const end = at + bytes.size();
  if (!take_front(at, end, request_.msgid)) return 0;
  const std::uint8_t* const rest = at;
  if (size_ != 0 && static_cast<std::size_t>(end - rest) >= size_ &&
      std::memcmp(rest, bytes_.data(), size_) == 0) {
    request_.again = true;
    return static_cast<std::size_t>(rest - bytes.data()) + size_;
  }
  size_ = 0;
  if (!take_rest(at, end, request_)) return 0;
  const auto size = static_cast<std::size_t>(at - rest);
  if (size <= bytes_.size()) {
    std::memcpy(bytes_.data(), rest, size);
    size_ = size;
    const char* const kept = reinterpret_cast<const char*>(bytes_.data());
    request_.name = {kept + (request_.name.data() - reinterpret_cast<const char*>(rest)),
                     request_.name.size()};
  }
  return static_cast<std::size_t>(at - bytes.data());
}

}  // namespace seqd::protocol
