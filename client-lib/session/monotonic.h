// The clock of libseqd's deadlines: milliseconds that only rise. Any thread.
#pragma once

#include <cstdint>
#include <ctime>

namespace seqd::engine {

inline std::int64_t monotonic_ms() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000 + now.tv_nsec / 1'000'000;
}

}  // namespace seqd::engine
