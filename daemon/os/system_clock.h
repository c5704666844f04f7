// The system's clocks. CLOCK_MONOTONIC, not CLOCK_BOOTTIME: it is what libuv's timers count, so a
// deadline and the timer that watches it agree; and after a suspend the waiters have the time left
// that they had, instead of failing all at once before the store could be queried. Any thread.
#pragma once

#include "daemon/base/time/clock.h"
#include "daemon/base/time/fine_clock.h"

namespace seqd {

class SystemClock final : public Clock, public FineClock {
 public:
  std::int64_t monotonic_ms() const override;
  std::int64_t monotonic_us() const override;
  std::int64_t wall_ms() const override;
};

}  // namespace seqd
