// BlockBackOff: how long to wait before repeating what a daemon has just refused (BUSY,
// UNAVAILABLE): at first 2 ms, doubling to 100 ms. Single IDs are taken meanwhile. A value; one
// thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>

namespace seqd::engine {

class BlockBackOff {
 public:
  static constexpr std::int64_t kFirstMs = 2;
  static constexpr std::int64_t kLongestMs = 100;

  std::int64_t next_delay_ms() {
    const std::int64_t delay_ms = delay_ms_;
    delay_ms_ = std::min(delay_ms * 2, kLongestMs);
    return delay_ms;
  }
  void reset() { delay_ms_ = kFirstMs; }

 private:
  std::int64_t delay_ms_ = kFirstMs;
};

}  // namespace seqd::engine
