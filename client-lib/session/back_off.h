// BackOff: how long to wait before the next attempt to connect: the first retry at once, then 1 ms
// doubling to 100 ms, each between half and the whole of it, so that the clients of a restarted
// daemon do not arrive together. A value; one thread.
#pragma once

#include <algorithm>
#include <cstdint>

namespace seqd::engine {

class BackOff {
 public:
  static constexpr std::int64_t kLongestMs = 100;

  // `random`: any bits.
  std::int64_t next_delay_ms(std::uint64_t random) {
    const std::int64_t whole = delay_ms_;
    delay_ms_ = std::clamp<std::int64_t>(whole * 2, 1, kLongestMs);
    const auto half = static_cast<std::uint64_t>(whole / 2);
    return whole - static_cast<std::int64_t>(random % (half + 1));
  }
  // The daemon has answered a request: the next failure starts again at the first delay.
  void reset() { delay_ms_ = 0; }

 private:
  std::int64_t delay_ms_ = 0;
};

}  // namespace seqd::engine
