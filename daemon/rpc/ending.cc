#include "daemon/rpc/ending.h"

#include <algorithm>

namespace seqd {

std::vector<std::pair<const Sequence*, Exhaustion::Forecast>> ending_sequences(
    SequenceTable& table, std::int64_t now_ms) {
  std::vector<std::pair<const Sequence*, Exhaustion::Forecast>> ending;
  std::size_t looked_at = 0;
  for (const SequenceId id : table.accounts().ending()) {
    if (looked_at++ == kMostEnding) break;
    const Sequence* const sequence = &table.at(id);
    const Exhaustion::Forecast forecast =
        sequence->exhaustion().forecast(now_ms, sequence->settings());
    if (ends_soon(forecast, sequence->settings())) ending.emplace_back(sequence, forecast);
  }
  std::sort(ending.begin(), ending.end(),
            [](const auto& a, const auto& b) { return a.first->name() < b.first->name(); });
  return ending;
}

}  // namespace seqd
