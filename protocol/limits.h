// The limits of the wire: each has a name, a default and hard bounds that no configuration may
// leave. The names are those of `hello`'s reply. Pure data: any thread.
//
// Invariant: with any values within the bounds, every well-formed next and range request fits a
// frame; checked by the static_asserts at the end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace seqd::protocol {

struct Limit {
  std::string_view name;
  std::int64_t default_value;
  std::int64_t min;  // inclusive
  std::int64_t max;  // inclusive

  constexpr bool allows(std::int64_t value) const { return value >= min && value <= max; }
};

inline constexpr Limit kFrameLimit{"frame", 65'536, 1'024, 16'777'216};  // bytes of one request
inline constexpr Limit kDepthLimit{"depth", 8, 4, 32};                   // arrays and maps nested
inline constexpr Limit kNameLimit{"name", 128, 1, 128};                  // bytes of a sequence name
inline constexpr Limit kCountLimit{"count", 100'000, 1, 10'000'000};     // IDs of one range
inline constexpr Limit kPipelineLimit{"pipeline", 4'096, 1, 1'048'576};  // waiting, a connection
inline constexpr Limit kUnacknowledgedLimit{"unacknowledged", 65'536, 1, 1'048'576};
inline constexpr Limit kConnectionsLimit{"connections", 10'240, 1, 100'000};
inline constexpr Limit kOutputLimit{"output", 1'048'576, 65'536, 67'108'864};  // bytes a connection

inline constexpr std::array kLimits = {kFrameLimit,       kDepthLimit,    kNameLimit,
                                       kCountLimit,       kPipelineLimit, kUnacknowledgedLimit,
                                       kConnectionsLimit, kOutputLimit};

// Fixed by the protocol; not configurable.
inline constexpr std::int64_t kProtocolVersion = 1;
inline constexpr std::size_t kIdentityBytes = 16;         // `client` of hello
inline constexpr std::size_t kClientNameBytes = 64;       // `name` of hello, at most
inline constexpr std::size_t kErrorTextBytes = 512;       // text of an error reply after its code
inline constexpr std::int64_t kMaxTimeoutMs = 3'600'000;  // `timeout_ms`, at most; at least 0
// What a client must be able to read: a reply (`list`, `status`) may be longer than a request.
inline constexpr std::int64_t kMaxReplyBytes = 16'777'216;

// What the frame scanner holds to.
struct FrameLimits {
  std::uint32_t frame = static_cast<std::uint32_t>(kFrameLimit.default_value);
  std::uint32_t depth = static_cast<std::uint32_t>(kDepthLimit.default_value);
};

// What a client's scanner holds to when it reads replies.
inline constexpr FrameLimits kReplyLimits{static_cast<std::uint32_t>(kMaxReplyBytes),
                                          static_cast<std::uint32_t>(kDepthLimit.max)};

// The longest form of `[0, msgid, "range", [name, count, {"timeout_ms": n}]]`: every header and
// integer in its widest encoding.
inline constexpr std::int64_t kWidestHeader = 5;
inline constexpr std::int64_t kWidestInteger = 9;
inline constexpr std::int64_t kLongestRequest =
    kWidestHeader + 2 * kWidestInteger + (kWidestHeader + 5) + kWidestHeader +
    (kWidestHeader + kNameLimit.max) + kWidestInteger + kWidestHeader + (kWidestHeader + 10) +
    kWidestInteger;
static_assert(kLongestRequest <= kFrameLimit.min, "a full-length name fits the smallest frame");
// [0, msgid, method, [name, {options}]] nests three deep.
static_assert(kDepthLimit.min >= 3, "every request fits the smallest depth");
static_assert(kErrorTextBytes + 64 <= static_cast<std::size_t>(kOutputLimit.min));
static_assert(kPipelineLimit.default_value <= kUnacknowledgedLimit.default_value,
              "a full pipeline may go unacknowledged");
static_assert(kFrameLimit.max <= kOutputLimit.max && kFrameLimit.max <= kMaxReplyBytes);

constexpr bool limits_are_ordered() {
  for (const Limit& limit : kLimits) {
    if (!limit.allows(limit.default_value)) return false;
  }
  return true;
}
static_assert(limits_are_ordered(), "every default is within its bounds");

}  // namespace seqd::protocol
