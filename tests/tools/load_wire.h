// The two wires the load generator speaks: MessagePack-RPC (seqd) and RESP (Redis INCR). Requests
// are encoded once and only their message id is patched; replies are measured by a decoder that
// reads no more than it must to know that a reply is what it should be. No allocation a reply; one
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/tools/load_reader.h"

namespace seqd::load {

enum class Wire : std::uint8_t { seqd, redis };

// One request, ready to be sent but for the four bytes of its message id (seqd only).
struct RequestTemplate {
  std::string bytes;
  std::size_t message_id_at = 0;
};

inline void put_u32(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
}

inline void put_text(std::string& out, std::string_view text) {  // below 256 bytes
  out.push_back(static_cast<char>(0xd9));
  out.push_back(static_cast<char>(text.size()));
  out.append(text);
}

// next(name), or range(name, count) when `count` is not 0.
inline RequestTemplate seqd_request(std::string_view name, std::uint32_t count) {
  RequestTemplate request;
  request.bytes = std::string("\x94\x00\xce", 3);
  request.message_id_at = request.bytes.size();
  put_u32(request.bytes, 0);
  put_text(request.bytes, count == 0 ? "next" : "range");
  request.bytes.push_back(static_cast<char>(count == 0 ? 0x91 : 0x92));
  put_text(request.bytes, name);
  if (count != 0) {
    request.bytes.push_back(static_cast<char>(0xce));
    put_u32(request.bytes, count);
  }
  return request;
}

// INCR key, or INCRBY key count when `count` is not 0.
inline RequestTemplate redis_request(std::string_view key, std::uint32_t count) {
  RequestTemplate request;
  const auto part = [&request](std::string_view text) {
    request.bytes += "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
  };
  request.bytes = count == 0 ? "*2\r\n" : "*3\r\n";
  part(count == 0 ? "INCR" : "INCRBY");
  part(key);
  if (count != 0) part(std::to_string(count));
  return request;
}

struct Reply {
  std::uint32_t message_id = 0;  // of a seqd reply; Redis answers in order
  std::uint64_t ids = 0;         // how many IDs it carries
  std::string_view error;        // empty when there is none
};

// One reply from [at, end); `at` moves behind it when it is there in full.
inline Parse parse_seqd(const char*& at, const char* end, bool range, Reply& reply) {
  Cursor cursor(at, end);
  if (cursor.array() != 4 || cursor.unsigned_integer() != 1) {
    return cursor.state() == Parse::reply ? Parse::broken : cursor.state();
  }
  reply.message_id = static_cast<std::uint32_t>(cursor.unsigned_integer());
  reply.error = {};
  reply.ids = 0;
  if (!cursor.nil()) {
    if (cursor.array() != 2) return cursor.state() == Parse::reply ? Parse::broken : cursor.state();
    cursor.unsigned_integer();
    reply.error = cursor.text();
    if (!cursor.nil()) return Parse::incomplete;
  } else if (!range) {
    reply.ids = cursor.unsigned_integer() != 0 ? 1 : 0;
  } else {
    for (std::uint32_t left = cursor.array(); left != 0; --left) {
      if (cursor.array() != 3 || cursor.state() != Parse::reply) break;
      cursor.unsigned_integer();
      reply.ids += cursor.unsigned_integer();
      cursor.unsigned_integer();
    }
  }
  if (cursor.state() == Parse::reply) at = cursor.at();
  return cursor.state();
}

inline Parse parse_redis(const char*& at, const char* end, Reply& reply) {
  const std::string_view seen(at, static_cast<std::size_t>(end - at));
  const std::size_t line = seen.find("\r\n");
  if (line == std::string_view::npos) return Parse::incomplete;
  reply.error = seen[0] == '-' ? seen.substr(1, line - 1) : std::string_view();
  reply.ids = seen[0] == ':' ? 1 : 0;
  if (reply.ids == 0 && reply.error.empty()) return Parse::broken;
  at += line + 2;
  return Parse::reply;
}

}  // namespace seqd::load
