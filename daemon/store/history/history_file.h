// HistoryFile: writes batches of history into its database and drops what exceeds the age or size
// limit: the leases or the issues of one user, whichever are most, and gaps last. What is
// dropped is counted with its sequence.
// prune() does so while nothing is written. Blocking: runs on a worker of its own. One thread at a
// time.
//
// A batch is one transaction. One with leases or gaps is on the medium when write() returns; a
// batch of issues alone may be lost when the power goes, which the next start detects and repairs
// as far as the log allows.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/history/history_batch.h"
#include "daemon/store/history/history_database.h"
#include "daemon/store/history/span_shares.h"

namespace seqd {

struct HistoryLimits {
  std::int64_t size = std::int64_t{64} << 20;            // bytes in use
  std::int64_t keep_ms = std::int64_t{30} * 86'400'000;  // for issues and leases
  bool callers = true;  // issues have callers; false: recorded callers are removed
};

class HistoryFile {
 public:
  // `host` is written beside every lease and gap.
  HistoryFile(HistoryDatabase& database, std::string host)
      : database_(database), host_(std::move(host)) {}

  // What was written before. A file that is not there is not made; one that cannot be read now
  // gives a mark that makes a start write nothing twice.
  HistoryMark read_mark();
  // STATE_IO: nothing of the batch was written.
  Status write(const HistoryBatch& batch, const HistoryLimits& limits);
  // Drops what is too old at `now_ms`, a file that was set aside included, and sees that it is gone
  // from the write-ahead log, too, unless `reading`: a connection of ours is. Where that fails the
  // next call tries again. A file that is not there is not made. True: it should be called again
  // soon. STATE_IO: nothing was dropped.
  Result<bool> prune(const HistoryLimits& limits, std::int64_t now_ms, bool reading);
  // The write-ahead log may have rows that were dropped.
  bool log_holds_dropped() const { return log_holds_dropped_; }
  // Nothing is kept any more; see HistoryDatabase::remove().
  Status remove() { return database_.remove(); }

 private:
  struct Sequence {
    std::int64_t row = 0;
    bool fresh = false;
    bool ended = false;  // before the batch
  };

  Result<HistoryMark> try_read_mark();
  Status write_rows(const HistoryBatch& batch, const HistoryLimits& limits);
  Status number_rows();
  Status find_sequences(const HistoryBatch& batch);
  Status write_callers(const HistoryBatch& batch);
  Status write_spans(const HistoryBatch& batch, bool callers);
  Status write_leases(const HistoryBatch& batch);
  Status write_gaps(const HistoryBatch& batch);
  Status write_advances(const HistoryBatch& batch, bool callers);
  Status write_sums(const HistoryBatch& batch);
  Status write_about(const HistoryBatch& batch);
  Status balance(const HistorySequence& sequence, std::int64_t row);

  HistoryDatabase& database_;
  const std::string host_;
  std::int64_t host_row_ = 0;
  // Callers are numbered again by every process; their rows are not.
  std::int64_t caller_base_ = -1;
  std::map<SequenceId, Sequence> rows_;  // of the batch being written
  SpanShares shares_;
  // Rows were dropped since truncate_log(), perhaps by a process that was killed.
  bool log_holds_dropped_ = true;
};

// In place of a caller's number: callers are not recorded.
inline constexpr std::int64_t kCallersOff = -1;
// Where the caller's number of a batch stands in the file.
std::string callers_text(const IssueSpan& span, std::int64_t base);

std::string spans_text(const std::vector<HeldSpan>& spans);
std::vector<HeldSpan> read_spans(std::string_view text);

}  // namespace seqd
