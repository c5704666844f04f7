// LogReader: sees the entries of a log while a start reads it. Called by recovery, after the state
// directory is locked; must be quick, and cannot fail.
#pragma once

#include "daemon/core/log/log_entry.h"
#include "daemon/core/log/remainder_log.h"

namespace seqd {

class LogReader {
 public:
  virtual ~LogReader() = default;
  // Reading begins, or starts again: what was seen before is not the log's last word.
  virtual void segment_begins() = 0;
  // Of a turn at `position`, or of the snapshot, which has the position of the last turn in it.
  virtual void entry(LogPosition position, const LogEntry& entry) = 0;
};

}  // namespace seqd
