// LatencyReport: times of single requests, their quantiles, and a histogram that is drawn in
// characters. Pure. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace seqd::seqctl {

class LatencyReport {
 public:
  // So many times are kept, 8 bytes each; the command line allows no more.
  static constexpr std::int64_t kMostSamples = 1'000'000;

  void add(std::int64_t nanoseconds) { samples_.push_back(nanoseconds); }
  bool empty() const { return samples_.empty(); }

  // The least of the times that `part` (0 .. 1) of all do not exceed (nearest rank). Not when
  // empty().
  std::int64_t quantile(double part);

  // Times in microseconds.
  nlohmann::json value();
  // Bars of at most `width` cells; `utf8`: of blocks, else of '#'.
  std::string text(std::size_t width, bool utf8);

 private:
  struct Bucket {
    std::int64_t from_us;  // inclusive
    std::int64_t below_us;
    std::size_t count;
  };
  // From the least to the greatest, with bounds of 1, 2 and 5 times a power of ten.
  std::vector<Bucket> buckets();
  void sort();

  std::vector<std::int64_t> samples_;
  std::size_t sorted_ = 0;  // so many of them, all or none
};

// A bar of `cells` cells, fractions included where the characters have them.
std::string bar(double cells, bool utf8);

}  // namespace seqd::seqctl
