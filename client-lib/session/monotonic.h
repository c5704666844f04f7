// The clock of libseqd's deadlines: milliseconds that only rise. Any thread.
#pragma once

#include <cstdint>
#include <ctime>

namespace seqd::engine {

inline std::int64_t read_clock_ms(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000 + now.tv_nsec / 1'000'000;
}

inline std::int64_t monotonic_ms() {
  return read_clock_ms(CLOCK_MONOTONIC);
}

// The same as of the kernel's last tick, which takes a sixth of the time to read.
inline std::int64_t last_tick_ms() {
  return read_clock_ms(CLOCK_MONOTONIC_COARSE);
}

// How far monotonic_ms() may be ahead of last_tick_ms(): two ticks, since one may be missed. It is
// more while the CPU that keeps the time does not run, as one of a guest whose host is busy.
inline std::int64_t most_behind_ms() {
  timespec tick = {};
  clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
  return std::int64_t{tick.tv_sec} * 2'000 + 2 * ((tick.tv_nsec + 999'999) / 1'000'000);
}

}  // namespace seqd::engine
