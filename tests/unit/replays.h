// Replays: a replay table alone, on a log in memory, and the issues that its tests record. One
// thread.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/core/clients/replay_table.h"
#include "tests/unit/memory_log.h"

namespace seqd {

using Seen = ReplayTable::Seen;

inline constexpr UserId kUser = 1'000;
inline constexpr UserId kOther = 2'000;

inline Issued single(std::uint32_t request, std::int64_t begin, std::int64_t count = 1,
                     SequenceId sequence = 1) {
  return {sequence, begin, begin + count, 1, request, IssueKind::single};
}
inline Issued batch(std::uint32_t request, std::int64_t begin, std::int64_t end) {
  return {1, begin, end, 1, request, IssueKind::batch};
}

struct Replays {
  explicit Replays(const ReplayTable::Limits& limits = {}) : table(log, limits) {}
  // The first identity of a table is client 1.
  ClientId attach(std::uint8_t who) { return table.attach(Token{who}, kUser)->client; }
  std::int64_t id_of(std::uint32_t request, ClientId client = 1) {
    const std::vector<Issued> found = table.find(client, request);
    return found.size() == 1 && found[0].end == found[0].begin + 1 ? found[0].begin : -1;
  }
  MemoryLog log;
  ReplayTable table;
};

}  // namespace seqd
