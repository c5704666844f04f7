// The bound of all ordinals. A constant; any thread.
#pragma once

#include <cstdint>
#include <limits>

namespace seqd {

// The highest ordinal there can be: the end of a range that has it is an int64, too.
inline constexpr std::int64_t kLastOrdinal = std::numeric_limits<std::int64_t>::max() - 1;

}  // namespace seqd
