#include "daemon/os/system_random.h"

#include <sys/random.h>

#include "daemon/base/assertion.h"

namespace seqd {

std::uint64_t SystemRandom::next() {
  if (left_ == 0) {
    // Up to 256 bytes the kernel gives all or nothing and is not interrupted.
    static_assert(sizeof(block_) <= 256);
    ASSERT(getrandom(block_.data(), sizeof(block_), 0) == static_cast<ssize_t>(sizeof(block_)));
    left_ = block_.size();
  }
  std::uint64_t& drawn = block_[--left_];
  const std::uint64_t value = drawn;
  drawn = 0;
  return value;
}

}  // namespace seqd
