// The fast path: recognises `[0, msgid, "next", [name]]` and `[0, msgid, "range", [name, count]]`,
// each with or without `{"timeout_ms": n}` behind it, as libseqd sends them, in their common
// encodings in one pass, straight from the read buffer. One connection, one parser; loop thread.
//
// Invariant: what it accepts, FrameScanner and parse_message accept with the same meaning and the
// same size under any legal limits. What it does not recognise means nothing: take the slow path.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace seqd::protocol {

struct FastRequest {
  enum class Method : std::uint8_t { next, range };
  Method method = Method::next;
  std::uint32_t msgid = 0;
  std::string_view name;         // at most 255 bytes; as sent, not checked
  std::int64_t count = 1;        // of range, as sent (0 .. 2^63-1), not checked; 1 for next
  std::int64_t timeout_ms = -1;  // 0 .. kMaxTimeoutMs; -1: the request does not say
  bool again = false;            // the same as the one before it, but for the msgid
};

// Reads the requests of one connection. Most connections send one request again and again, with
// another msgid each time; comparing its bytes with those of the one before is less than reading
// them.
class FastParser {
 public:
  FastParser() = default;
  FastParser(const FastParser&) = delete;
  FastParser& operator=(const FastParser&) = delete;

  // The size of the request at the front of `bytes`, or 0: not recognised, or not whole yet.
  [[nodiscard]] std::size_t parse(std::span<const std::uint8_t> bytes);
  // The one that parse() recognised last, until it is called again. Its name lies in this object,
  // or in the bytes that it was parsed from.
  const FastRequest& request() const { return request_; }
  // The next request does not count as the same as this one, even with equal bytes.
  void forget() { size_ = 0; }

 private:
  FastRequest request_;
  std::size_t size_ = 0;                  // of what is kept; 0: nothing
  std::array<std::uint8_t, 64> bytes_{};  // those behind the msgid; more are not kept
};

}  // namespace seqd::protocol
