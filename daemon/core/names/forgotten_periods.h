// Which periods of a sequence were forgotten, as few spans: DefineName::forgotten. A period in none
// of them was never used here, or its sequence is still known. Functions without state; any thread.
//
// Invariant: a period that was added stays within a span whose high-water mark is not below its
// own. Where there would be too many spans the two nearest become one with the higher high-water
// mark, of those beside each other the oldest: a period in between passes for a forgotten one, and
// one that used less for one that used as much.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/core/log/name_entry.h"
#include "daemon/core/text/period.h"

namespace seqd {

void add_forgotten(std::vector<PeriodSpan>& forgotten, PeriodSpan span);
// Where IDs of the period begin that were not leased here, or above that; 0: it was not forgotten.
std::int64_t high_water_of_forgotten(const std::vector<PeriodSpan>& forgotten,
                                     const Period& period);

}  // namespace seqd
