// SeededRandom: a Random that a seed makes repeatable (splitmix64). A value; one thread.
#pragma once

#include <cstdint>

#include "daemon/base/random.h"

namespace seqd {

class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() override {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }
  // Uniform enough within [0, below).
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(limit));
  }
  // Uniform enough within [least, most].
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least + below(most - least + 1);
  }
  // True so many times in a million.
  bool chance(std::int64_t millionths) { return millionths > 0 && below(1'000'000) < millionths; }

 private:
  std::uint64_t state_;
};

}  // namespace seqd
