// ReplySink: answers callers whose request had to wait. Loop thread; must not call back into the
// core. A session that is gone is no error: the answer is dropped.
#pragma once

#include <cstdint>
#include <span>

#include "daemon/base/status.h"
#include "daemon/core/words/caller.h"
#include "daemon/core/words/run.h"

namespace seqd {

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
