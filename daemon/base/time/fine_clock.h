// FineClock: a clock for what is only measured, finer than Clock, by which decisions are made. So
// the figures of a simulated world do not depend on it.
#pragma once

#include <cstdint>

namespace seqd {

class FineClock {
 public:
  virtual ~FineClock() = default;
  // Microseconds since some fixed moment; never goes back. Any thread.
  virtual std::int64_t monotonic_us() const = 0;
};

}  // namespace seqd
