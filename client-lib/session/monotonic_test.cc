#include "client-lib/session/monotonic.h"

#include <catch2/catch.hpp>

namespace seqd::engine {

TEST_CASE("TheLastTickIsNotAheadOfTheClock", "[client]") {
  CHECK(most_behind_ms() > 0);
  CHECK(most_behind_ms() < 1'000);
  std::int64_t before = 0;
  for (int looks = 0; looks < 1'000; ++looks) {
    const std::int64_t tick = last_tick_ms();
    CHECK(tick >= before);
    CHECK(tick <= monotonic_ms());
    before = tick;
  }
}

}  // namespace seqd::engine
