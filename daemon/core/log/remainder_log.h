// RemainderLog: where the core records what it issues, before it is issued.
//
// One loop turn: append() as often as needed, commit() once, and only then the replies of the turn
// may leave. What must survive a power loss before it is acted on (a lease about to be requested, a
// reservation) is followed by make_durable() and waits for durable(). Loop thread.
#pragma once

#include <cstdint>
#include <functional>

#include "daemon/base/status.h"
#include "daemon/core/log/log_entry.h"

namespace seqd {

// Numbers the turns that have a record; grows by one with each. 0 is before the first.
using LogPosition = std::uint64_t;

class RemainderLog {
 public:
  virtual ~RemainderLog() = default;
  // Adds an entry to this turn's record. Memory only.
  virtual void append(const LogEntry& entry) = 0;
  // The position that this turn's record will have.
  virtual LogPosition next_position() const = 0;
  // Asks that this turn's record, and all before it, be flushed to the medium after the next
  // commit. Asking again is free. Who waits for it appends in the same turn: the position of a turn
  // without a record may never come.
  virtual void make_durable() = 0;
  // Makes this turn's record outlive the process; nothing when nothing was appended. After an error
  // nothing that the turn recorded may be replied to, and the daemon must end.
  virtual Status commit() = 0;
  // False while the log is full and waits for the medium: nothing more may be issued until
  // durable() is called.
  virtual bool accepting() const = 0;
};

// Hears what becomes of make_durable(). Loop thread.
class RemainderLogObserver {
 public:
  virtual ~RemainderLogObserver() = default;
  // Everything up to and including `position` is on the medium.
  virtual void durable(LogPosition position) = 0;
  // A flush failed. Nothing more will become durable; what was durable before may still be issued;
  // then the daemon ends.
  virtual void flush_failed(const Status& status) = 0;
};

// Gives the whole state as entries when the log starts a new file. The state includes what this
// turn has appended.
class SnapshotSource {
 public:
  virtual ~SnapshotSource() = default;
  virtual void snapshot(const std::function<void(const LogEntry&)>& entry) const = 0;
};

}  // namespace seqd
