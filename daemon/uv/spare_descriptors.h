// The number of descriptors that are reserved for stores and the state. The kernel assigns the
// lowest free number, so a high number means that few are left. Any thread.
#pragma once

#include <sys/resource.h>

#include <algorithm>

namespace seqd {

// `all`: the limit of the process.
inline rlim_t spare_descriptors(rlim_t all) {
  constexpr rlim_t kMost = 64;
  return std::min(kMost, all / 4);
}

}  // namespace seqd
