// StateLog: the RemainderLog of the state directory. Two files of fixed size take turns: each holds
// one segment, a snapshot and the turns after it (daemon/doc/LOG-FORMAT.md). Made by start(), owned
// by main. Loop thread; flushes run on the worker and touch the files only.
//
// Invariants: a turn goes to the tail, or to the file when that has no room, and the witness
// follows it. The tail is written to the file before a flush begins, and before a new segment
// supersedes that file. A file is overwritten only while the other one's snapshot is known by this
// process to be on the medium. A flush that failed is never tried again.
//
// A flush, of which one is in flight at a time:
//
//   asked       flush_asked_: make_durable() was called in this turn
//   due         flush_due_: after commit(), or a rotation; it waits for the flush in flight
//   in flight   flush_: on the worker
//   durable     durable() of the observer; or flush_failed(), and no other flush is begun
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "daemon/base/files/files.h"
#include "daemon/base/random.h"
#include "daemon/base/status.h"
#include "daemon/base/time/clock.h"
#include "daemon/base/time/duration_histogram.h"
#include "daemon/base/time/fine_clock.h"
#include "daemon/base/worker.h"
#include "daemon/core/log/remainder_log.h"
#include "daemon/state/segment.h"
#include "daemon/state/witness.h"

namespace seqd {

constexpr const char* lock_name = "lock";
constexpr const char* segment_names[2] = {"log.0", "log.1"};

// The files of an open state directory.
struct StateFiles {
  Directory* directory = nullptr;
  FileIdentity identity;  // of the directory
  std::unique_ptr<File> lock;
  std::unique_ptr<File> segments[2];

  // FENCED if the paths no longer lead to these files: the state was replaced while we used it, and
  // another daemon may have locked the new files. Any thread.
  Status check_in_place() const;
};

class StateLog final : public RemainderLog {
 public:
  static constexpr std::uint64_t default_size = std::uint64_t{16} << 20;
  static constexpr std::uint64_t smallest_size = std::uint64_t{1}
                                                 << 16;  // for tests; the option allows 256 KiB
  static constexpr std::uint64_t max_size = std::uint64_t{1} << 30;

  // Where the log continues: after a durable segment.
  struct Place {
    int file = 0;
    SegmentHeader header;
    std::uint64_t offset = 0;  // behind its snapshot
    std::uint64_t size = default_size;
  };
  struct Statistics {
    LogPosition position = 0;
    LogPosition durable = 0;
    std::uint64_t syncs = 0;
    std::uint64_t rotations = 0;
    std::uint64_t used = 0;  // bytes of the segment, its tail included
  };

  StateLog(StateFiles files, std::unique_ptr<Witness> witness, const Place& place, Worker& worker,
           Random& random, Clock& clock);
  // A flush may be in flight: its job keeps the files alive, and its outcome is dropped.
  ~StateLog() override;
  StateLog(const StateLog&) = delete;
  StateLog& operator=(const StateLog&) = delete;

  // Both outlive the log, or are detached with null. Before the first commit.
  void attach(RemainderLogObserver* observer, const SnapshotSource* source);

  void append(const LogEntry& entry) override;
  LogPosition next_position() const override;
  void make_durable() override;
  Status commit() override;
  bool accepting() const override;

  // Makes the witness again if it was removed; see Witness::keep_in_place(). To be called
  // from time to time.
  Result<Witness::Kept> keep_witness();

  Statistics statistics() const;
  // Measures the flushes by `clock`, which outlives their worker.
  void measure_by(const FineClock& clock) { fine_clock_ = &clock; }
  // How long the medium took for each flush that succeeded, since then.
  const DurationHistogram& sync_durations() const { return sync_durations_; }

 private:
  struct Flush;  // one flush in flight, shared with its job

  bool may_rotate() const;
  Status write_turn();
  Status write_long_turn();
  Status write_tail();
  Status rotate();
  void begin_turn();
  Status start_flush();
  void flushed();

  // Constant after construction.
  Worker& worker_;
  Random& random_;
  Clock& clock_;
  const std::shared_ptr<StateFiles> files_;
  const std::shared_ptr<Witness> witness_;
  const std::uint64_t size_;
  const std::uint64_t headroom_;  // what entries other than issues may still use when not accepting

  RemainderLogObserver* observer_ = nullptr;
  const SnapshotSource* source_ = nullptr;

  // The segment being written.
  int file_;
  SegmentHeader header_;
  std::uint32_t seed_;
  std::uint64_t offset_;                  // the end of the tail
  std::optional<SegmentHeader> to_seal_;  // the older segment, until it is marked as superseded

  // The turn being made; empty when nothing was appended.
  std::vector<std::uint8_t> turn_;
  LogPosition position_;
  LogPosition durable_;
  bool flush_asked_ = false;      // for the next commit
  bool flush_due_ = false;        // for a position that is committed
  std::shared_ptr<Flush> flush_;  // in flight
  Status failure_;                // of a write: every later commit returns it
  bool flush_failed_ = false;
  std::uint64_t syncs_ = 0;
  std::uint64_t rotations_ = 0;
  const FineClock* fine_clock_ = nullptr;
  DurationHistogram sync_durations_;
};

}  // namespace seqd
