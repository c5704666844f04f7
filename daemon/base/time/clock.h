// Clock: where the time comes from. The daemon reads it through this interface only, so that the
// simulator can set it.
#pragma once

#include <cstdint>

namespace seqd {

class Clock {
 public:
  virtual ~Clock() = default;
  // Milliseconds since some fixed moment; never goes back. For every delay and deadline.
  virtual std::int64_t monotonic_ms() const = 0;
  // Milliseconds since 1970-01-01 UTC; may jump. For records that people read, never for a
  // decision.
  virtual std::int64_t wall_ms() const = 0;
};

}  // namespace seqd
