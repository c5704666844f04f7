// What the history learns, as plain data: one batch is what happened up to one position of the log.
// Made by the HistoryRecorder, written by daemon/store/history/history_file.h. Values; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/log/log_entry.h"
#include "daemon/core/log/remainder_log.h"

namespace seqd {

// Names a caller (user, process, name) in the batches of one process. 0: not written down, because
// the daemon ended before the history had it.
using CallerNumber = std::int64_t;

struct HistoryCaller {
  CallerNumber number = 0;
  std::uint32_t uid = 0;
  std::int32_t pid = 0;
  std::string name;  // from hello; may be empty
};

// [begin, end) was issued between the two times, each ID to one of the callers.
struct IssueSpan {
  static constexpr std::size_t kNamed = 4;

  SequenceId sequence = 0;
  std::uint16_t pieces = 1;       // spans that were merged into this one
  std::uint8_t caller_count = 1;  // of `callers`, 1 .. kNamed
  bool others = false;            // and more callers than these
  std::array<CallerNumber, kNamed> callers{};
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t first_ms = 0;
  std::int64_t last_ms = 0;
};

struct HistoryLease {
  SequenceId sequence = 0;
  Token lease{};
  Token instance{};
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t wall_ms = 0;
  bool whole = true;  // false: only what was left of it when the history began
};

// IDs that will never be issued; or, with this as the cause, that were returned to the store.
inline constexpr std::string_view kReturned = "returned";

struct HistoryGap {
  SequenceId sequence = 0;
  // [begin, end); of a lease that cannot be traced only the length is known: [0, at most so many).
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool place_known = true;
  std::string cause;  // gap_cause_name(), or "untraceable"
  Token lease{};      // zeros: not known
  Token instance{};
  std::int64_t wall_ms = 0;
};

// An administrator raised the counter over [begin, end): none of it was leased by this host before.
struct HistoryAdvance {
  SequenceId sequence = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t wall_ms = 0;
  std::optional<std::uint32_t> uid;  // none: not recorded, or not shown
  std::int32_t pid = 0;
};

struct HeldSpan {
  Token lease{};
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool operator==(const HeldSpan&) const = default;
};

// What a batch changes of one sequence.
struct HistorySequence {
  SequenceId id = 0;
  std::string name;
  SequenceTotals added;             // by this batch; `unknown` counts leases
  SequenceTotals unwritten;         // of that, what has no row: there was no room for it
  SequenceTotals totals;            // of the core after the batch
  std::vector<HeldSpan> available;  // after the batch, in the order of issue
  // By a start: what the sums of the log and of the history differ by is accepted as it is.
  bool balances = false;
  // The log knows it no more (ForgetSequence, or it was lost): what is kept of it stays until it is
  // dropped as too old.
  bool ended = false;
};

struct HistoryBatch {
  LogPosition position = 0;  // everything up to it is in this batch or an earlier one
  std::int64_t wall_ms = 0;
  std::vector<IssueSpan> spans;
  std::vector<HistoryCaller> callers;  // those of the spans
  std::vector<HistoryLease> leases;
  std::vector<HistoryGap> gaps;
  std::vector<HistoryAdvance> advances;
  std::vector<HistorySequence> sequences;
  // Leases and gaps should be on the medium soon; issues may wait.
  bool urgent() const { return !leases.empty() || !gaps.empty() || !advances.empty(); }
};

// What a history that was written earlier has.
struct HistoryMark {
  struct Known {
    SequenceTotals totals;  // of the log, as the history knows it
    std::vector<HeldSpan> available;
  };
  bool exists = false;
  LogPosition position = 0;
  std::int64_t wall_ms = 0;
  std::vector<std::pair<std::string, Known>> sequences;  // by name, sorted
};

}  // namespace seqd
