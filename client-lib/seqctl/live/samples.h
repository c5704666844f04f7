// Samples: the times at which a command queries the daemon: at the beginning, then after each whole
// interval. Times that were missed, because a reply took long, are left out. Ends with the count, a
// signal, or the reader. One thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "client-lib/seqctl/output.h"

namespace seqd::seqctl {

class Samples {
 public:
  using Clock = std::chrono::steady_clock;

  // `most`: the number of samples; 0: unlimited. `out` outlives this.
  Samples(std::int64_t interval_ms, std::int64_t most, Output& out)
      : interval_(std::max<std::int64_t>(interval_ms, 1)), most_(most), out_(out) {}

  // Waits for the time of the next sample. False: there is none.
  bool next();
  // Since the beginning, as of now.
  std::int64_t now_ms() const;

 private:
  const std::chrono::milliseconds interval_;
  const std::int64_t most_;
  Output& out_;
  const Clock::time_point begin_ = Clock::now();
  std::int64_t due_ = 0;  // the number of the next interval
  std::int64_t samples_ = 0;
};

}  // namespace seqd::seqctl
