// What the entries of all kinds are checked and counted with when they are applied to a StateImage.
// Pure; any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "daemon/core/log/state_image.h"

namespace seqd {

inline Status corrupt(const char* what, std::uint64_t number) {
  return {ErrorCode::STATE_CORRUPT, std::string(what) + " (number " + std::to_string(number) + ")"};
}

constexpr bool is_range(std::int64_t begin, std::int64_t end) {
  return begin >= 0 && begin < end;
}

// Adds a count of IDs to a total; false when the sum cannot be.
inline bool count(std::int64_t& total, std::int64_t ids) {
  return !__builtin_add_overflow(total, ids, &total);
}

inline void use(SequenceImage& sequence, std::int64_t end) {
  sequence.used_below = std::max(sequence.used_below, end);
}

inline Status too_many(std::uint64_t number) {
  return corrupt("a total beyond all numbers", number);
}

}  // namespace seqd
