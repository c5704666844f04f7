// Reuse: what a sequence does with ranges that it releases. The order is that of the choices in
// options.def and of the log. A value; any thread.
#pragma once

#include <cstdint>

namespace seqd {

enum class Reuse : std::uint8_t {
  never,   // it is a gap
  tail,    // the counter is lowered, if the range is its very end
  parked,  // the range is kept in the store, and leases take it before they move the counter
};

}  // namespace seqd
