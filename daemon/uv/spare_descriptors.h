// Which descriptors clients may have: stores and the state need some, too. The kernel gives the
// lowest number that is free, so the number tells. Any thread.
#pragma once

#include <sys/resource.h>

#include <algorithm>

namespace seqd {

// Of `all` that the process may have.
inline rlim_t spare_descriptors(rlim_t all) {
  constexpr rlim_t kMost = 64;
  return std::min(kMost, all / 4);
}

}  // namespace seqd
