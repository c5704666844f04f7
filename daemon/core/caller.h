// Caller and ReplySink: how the core identifies a waiting request, and how it answers later. The
// core keeps a Caller by value; it never holds a connection.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "daemon/base/status.h"
#include "daemon/base/user_id.h"
#include "daemon/core/log/log_entry.h"

namespace seqd {

// Identifies a connection for ever: a number is never used for another one.
using SessionId = std::uint64_t;

struct Caller {
  SessionId session = 0;
  std::uint32_t request = 0;  // the msgid; for a client with an identity also its request number
  ClientId client = 0;        // 0: anonymous, cannot repeat
  UserId user = 0;            // of the connection, as the kernel reports it
};

// Why requests for a sequence are refused, by its name; OK: they are not.
using Refusal = std::function<Status(std::string_view sequence)>;

// IDs first, first + step, ...: `count` of them.
struct Run {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t step = 1;
  bool operator==(const Run&) const = default;
};

// Consecutive IDs, though of two leases, are one run to the caller.
inline void add_run(std::vector<Run>& runs, const Run& next) {
  if (!runs.empty() && runs.back().first + runs.back().count == next.first) {
    runs.back().count += next.count;
  } else {
    runs.push_back(next);
  }
}

// Answers callers whose request had to wait. Loop thread; must not call back into the core. A
// session that is gone is no error: the answer is dropped.
class ReplySink {
 public:
  virtual ~ReplySink() = default;
  // One answer a caller, with ordinals of `sequence`. `kind` is that of its request, single or
  // batch: for `single` there is one run of one ID.
  virtual void issued(const Caller& caller, SequenceId sequence, IssueKind kind,
                      std::span<const Run> runs) = 0;
  // The same for `text`: `id` of `sequence`, issued at the second `wall_s`.
  virtual void issued_text(const Caller& caller, SequenceId sequence, std::int64_t id,
                           std::int64_t wall_s) = 0;
  virtual void failed(const Caller& caller, const Status& status) = 0;
  // A block of that session has ended, and so many IDs of it were taken. No request waits for this.
  virtual void taken(SessionId session, std::int64_t ids) = 0;
};

}  // namespace seqd
