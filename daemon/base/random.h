// Random: where random bits come from: lease tokens, nonces and the jitter of back-offs. Loop
// thread.
#pragma once

#include <cstdint>

namespace seqd {

class Random {
 public:
  virtual ~Random() = default;
  // 64 uniformly random bits that cannot be guessed (the system's generator in the daemon).
  virtual std::uint64_t next() = 0;
};

}  // namespace seqd
