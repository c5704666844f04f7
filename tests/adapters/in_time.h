// REQUIRE_IN_TIME: a requirement that a busy machine or a server of the tests may break, whatever
// is tested. A case that failed by nothing else may run once more (tests/catch_second_try.py); any
// other requirement is final, so this one never looks at what a store or a client answered.
#pragma once

#include <catch2/catch.hpp>

namespace seqd::testing {

inline constexpr const char* kWaitedInVain = "waited in vain";

}  // namespace seqd::testing

#define REQUIRE_IN_TIME(condition)        \
  do {                                    \
    INFO(::seqd::testing::kWaitedInVain); \
    REQUIRE(condition);                   \
  } while (false)
