#include "client-lib/session/back_off.h"

#include <catch2/catch.hpp>

namespace seqd::engine {

TEST_CASE("FirstRetryIsAtOnceThenDelaysDoubleToTheirLimit", "[client]") {
  BackOff back_off;
  for (const std::int64_t expected : {0, 1, 2, 4, 8, 16, 32, 64, 100, 100})
    CHECK(back_off.next_delay_ms(0) == expected);
  back_off.reset();
  CHECK(back_off.next_delay_ms(0) == 0);
}

TEST_CASE("JitterKeepsADelayBetweenItsHalfAndItsWhole", "[client]") {
  BackOff back_off;
  for (int i = 0; i < 20; ++i) (void)back_off.next_delay_ms(0);
  std::int64_t lowest = BackOff::kLongestMs;
  for (std::uint64_t random = 0; random < 1'000; ++random) {
    const std::int64_t delay = back_off.next_delay_ms(random * 0x9e37'79b9'7f4a'7c15);
    CHECK(delay >= BackOff::kLongestMs / 2);
    CHECK(delay <= BackOff::kLongestMs);
    lowest = std::min(lowest, delay);
  }
  CHECK(lowest < BackOff::kLongestMs * 3 / 4);
}

}  // namespace seqd::engine
