#include "daemon/os/system_clock.h"

#include <ctime>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

std::int64_t read_us(clockid_t which) {
  timespec now{};
  ASSERT(clock_gettime(which, &now) == 0);
  return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000;
}

}  // namespace

std::int64_t SystemClock::monotonic_ms() const {
  return read_us(CLOCK_MONOTONIC) / 1'000;
}

std::int64_t SystemClock::monotonic_us() const {
  return read_us(CLOCK_MONOTONIC);
}

std::int64_t SystemClock::wall_ms() const {
  return read_us(CLOCK_REALTIME) / 1'000;
}

}  // namespace seqd
