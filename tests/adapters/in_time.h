// REQUIRE_IN_TIME: a requirement that a busy machine or a server of the tests may break, whatever
// is tested. A case that failed by nothing else may run once more (tests/catch_second_try.py); any
// other requirement is final, so this one never looks at what a store or a client answered. What
// fails inside of the condition, by an exception too, is final.
#pragma once

#include <catch2/catch.hpp>

namespace seqd::testing {

inline constexpr const char* kWaitedInVain = "waited in vain";

}  // namespace seqd::testing

#define REQUIRE_IN_TIME(condition)                     \
  do {                                                 \
    const bool in_time = static_cast<bool>(condition); \
    INFO(::seqd::testing::kWaitedInVain);              \
    INFO(#condition);                                  \
    REQUIRE(in_time);                                  \
  } while (false)
