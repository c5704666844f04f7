// Excuses: until when a daemon's requests may wait for something that is not its fault: its start,
// a store that does not answer and the pause until it is asked again, a slow flush, a drain. One
// thread.
#pragma once

#include <algorithm>
#include <cstdint>

namespace seqd::sim {

class Excuses {
 public:
  void wait_until(std::int64_t time_ms) { until_ms_ = std::max(until_ms_, time_ms); }
  // The next try comes after a pause, which gets longer where it fails again and again.
  void store_failed(std::int64_t now_ms) { wait_until(now_ms + kLongestPauseMs + kSoonMs); }
  std::int64_t until_ms() const { return until_ms_; }

  static constexpr std::int64_t kSoonMs = 1'000;

 private:
  static constexpr std::int64_t kLongestPauseMs = 10'000;

  std::int64_t until_ms_ = 0;
};

}  // namespace seqd::sim
