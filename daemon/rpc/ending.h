// The sequences that are nearly used up, for `status` and the metrics. Loop thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "daemon/core/table/sequence_table.h"

namespace seqd {

constexpr std::size_t kMostEnding = 1'000;  // are looked at

// Those of which ends_soon() is true, by name. The sequences are the table's.
std::vector<std::pair<const Sequence*, Exhaustion::Forecast>> ending_sequences(SequenceTable& table,
                                                                               std::int64_t now_ms);

}  // namespace seqd
