// OneSummer: a time zone one hour ahead of UTC, and two in the summer of 2026. Immutable; any
// thread.
#pragma once

#include <cstdint>

#include "daemon/base/time/calendar.h"

namespace seqd {

inline constexpr std::int64_t kSummerBegins = 1'774'746'000;  // 2026-03-29 01:00 UTC
inline constexpr std::int64_t kSummerEnds = 1'792'890'000;    // 2026-10-25 01:00 UTC

class OneSummer final : public TimeZone {
 public:
  UtcOffset offset_at(std::int64_t utc_s) const override {
    if (utc_s < kSummerBegins) return {0, kSummerBegins, 3'600};
    if (utc_s < kSummerEnds) return {kSummerBegins, kSummerEnds, 7'200};
    return {kSummerEnds, kLastSecond + 1, 3'600};
  }
};

}  // namespace seqd
