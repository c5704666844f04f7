// Refill: whether a number of a register that was cancelled goes to the next key. The order is that
// of the choices in options.def. A value; any thread.
#pragma once

#include <cstdint>

namespace seqd {

enum class Refill : std::uint8_t {
  never,   // it is void
  day,     // on the day on which it was assigned, by the sequence's time zone
  always,  // also later, while the period is not closed
};

}  // namespace seqd
