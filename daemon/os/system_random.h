// Random bits of getrandom(2), fetched in blocks. Used bits are wiped. Loop thread. Must not be
// used on both sides of a fork: the two would draw the same block.
#pragma once

#include <array>
#include <cstddef>

#include "daemon/base/random.h"

namespace seqd {

class SystemRandom final : public Random {
 public:
  std::uint64_t next() override;

 private:
  std::array<std::uint64_t, 32> block_{};
  std::size_t left_ = 0;
};

}  // namespace seqd
