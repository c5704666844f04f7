// Run: IDs with a constant step, as a request is answered with them. A value; any thread.
#pragma once

#include <cstdint>
#include <vector>

namespace seqd {

// IDs first, first + step, ...: `count` of them.
struct Run {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t step = 1;
  bool operator==(const Run&) const = default;
};

// Consecutive IDs, though of two leases, are one run to the caller.
inline void add_run(std::vector<Run>& runs, const Run& next) {
  if (!runs.empty() && runs.back().first + runs.back().count == next.first) {
    runs.back().count += next.count;
  } else {
    runs.push_back(next);
  }
}

}  // namespace seqd
