// Questions to the history and their answers, as plain data: daemon/rpc/history/history_asker.h
// asks, and daemon/store/history/history_reader.h answers. Values; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/core/history/history_batch.h"

namespace seqd {

struct GapsQuestion {
  std::string name;
  std::int64_t after = 0;  // a row's number: only those behind it
  std::int64_t limit = 100;
};

struct GapRow {
  std::int64_t number = 0;
  HistoryGap gap;
  std::string host;
};

struct GapsAnswer {
  bool known = false;        // the history knows the sequence
  std::vector<GapRow> rows;  // in the order in which they were made
  bool more = false;
  SequenceTotals dropped;  // gaps and untraceable leases older than what is kept
};

struct LeaseRow {
  HistoryLease lease;
  std::string host;
};

// Why a caller is not among those of an issue.
enum class CallerMissing : std::uint8_t {
  no,       // every caller is there
  lost,     // the daemon ended before the history had it
  off,      // the configuration says that callers are not recorded
  dropped,  // it is not kept any more
  hidden,   // it is shown to administrators only
};

struct IssueRow {
  IssueSpan span;
  std::vector<HistoryCaller> callers;                // those still known
  CallerMissing caller_missing = CallerMissing::no;  // why a caller is missing
};

// What the history has about one ID.
struct IdAnswer {
  bool known = false;  // the history knows the sequence
  std::optional<IssueRow> issue;
  std::optional<GapRow> gap;
  std::optional<LeaseRow> lease;
  std::optional<HistoryAdvance> advance;  // the newest that passed over it
  // Below these IDs rows were dropped because they were older than what is kept, or too many.
  std::int64_t issues_forgotten_below = 0;
  std::int64_t leases_forgotten_below = 0;
  std::int64_t untraceable = 0;      // leases of unknown place
  std::int64_t untraceable_ids = 0;  // at most so many in all
  bool leased_before = false;        // ranges were leased before the history began
  // The lowest ID of a lease that is kept; none: no lease is.
  std::optional<std::int64_t> first_lease;
  // When the oldest lease that is kept was granted, of any sequence; none: no lease is. All that
  // were granted later are kept.
  std::optional<std::int64_t> oldest_lease_ms;
};

// The sums of one sequence.
struct SumsAnswer {
  bool known = false;
  bool ended = false;       // see HistorySequence::ended
  SequenceTotals rows;      // added up now, row by row
  SequenceTotals dropped;   // of rows that are not kept any more, or never had room
  SequenceTotals recorded;  // what was ever written down: rows and dropped together give the same
  SequenceTotals adjust;  // the log's sums less these: from before the history, or lost by the log
  std::int64_t issued_twice = 0;    // IDs that stand in two issues
  std::int64_t issued_and_gap = 0;  // issued, and in a gap because the log had lost the issue
  std::int64_t issue_rows = 0;
  std::int64_t began_ms = 0;
  std::int64_t size = 0;  // bytes in use
};

}  // namespace seqd
