// ScopeOwner: what a StoreScope reports to its owner, and reads from it. Loop thread.
#pragma once

#include <functional>

#include "daemon/base/status.h"
#include "daemon/core/words/log_types.h"

namespace seqd {

class ScopeOwner {
 public:
  virtual ~ScopeOwner() = default;
  // Has this turn's record made durable, and calls `then` when it is; not when the daemon ends
  // before.
  virtual void when_durable(std::function<void()> then) = 0;
  // The ranges of this scope may be issued; and again when its store may be called, too, or answers
  // again after it was down: floors may have been raised meanwhile.
  virtual void scope_owned(ScopeId scope) = 0;
  // Its store has stopped answering: requests must not wait for floors.
  virtual void scope_failed(ScopeId scope) = 0;
  // Its counters are another database's from here on; nothing of the former one is open.
  virtual void scope_moves(ScopeId scope) = 0;
  // Whether a range, a lease or a return of this scope is open.
  virtual bool scope_holds(ScopeId scope) const = 0;
  // Another database while it does, or an older copy: nothing is issued, leased or returned.
  virtual void scope_refused(ScopeId scope, const Status& why) = 0;
  // Another daemon has the remainder: everything available of this scope is a gap. False: the log
  // does not take more in this turn; to be called again.
  virtual bool scope_lost(ScopeId scope) = 0;
};

}  // namespace seqd
