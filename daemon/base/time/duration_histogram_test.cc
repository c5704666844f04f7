#include "daemon/base/time/duration_histogram.h"

#include <cstdint>

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("ADurationCountsWithinItsBound", "[duration_histogram]") {
  DurationHistogram durations;
  for (const std::int64_t us : {-5, 0, 100, 101, 250, 10'000'000, 10'000'001}) durations.add(us);
  CHECK(durations.within(0) == 3);  // -5, 0, 100
  CHECK(durations.within(1) == 2);  // 101, 250
  CHECK(durations.within(2) == 0);
  CHECK(durations.within(DurationHistogram::kBoundsUs.size() - 1) == 1);
  CHECK(durations.within(DurationHistogram::kBoundsUs.size()) == 1);
  CHECK(durations.sum_us() == 100 + 101 + 250 + 10'000'000 + 10'000'001);
}

}  // namespace
}  // namespace seqd
