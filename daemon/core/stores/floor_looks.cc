#include "daemon/core/stores/floor_looks.h"

#include <algorithm>
#include <utility>

namespace seqd {

bool FloorLooks::begin(SequenceId sequence, bool may_ask) {
  const auto [at, fresh] = looks_.try_emplace(sequence, Look{clock_.monotonic_ms() + kMostMs});
  if (fresh && !timer_.running()) watch();
  return may_ask && !std::exchange(at->second.asked, true);
}

void FloorLooks::end(SequenceId sequence) {
  looks_.erase(sequence);
  if (looks_.empty()) timer_.cancel();
}

std::vector<SequenceId> FloorLooks::waiting() const {
  std::vector<SequenceId> sequences;
  for (const auto& [sequence, look] : looks_) sequences.push_back(sequence);
  return sequences;
}

void FloorLooks::watch() {
  if (looks_.empty()) return;
  const auto first =
      std::min_element(looks_.begin(), looks_.end(), [](const auto& one, const auto& other) {
        return one.second.until_ms < other.second.until_ms;
      });
  timer_.start(first->second.until_ms - clock_.monotonic_ms(), [this] {
    for (const SequenceId sequence : waiting()) {
      if (looks_.at(sequence).until_ms > clock_.monotonic_ms()) continue;
      looks_.erase(sequence);
      late_(sequence);
    }
    watch();
  });
}

}  // namespace seqd
