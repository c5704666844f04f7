// SequenceOwner: the SequenceTable, as a Sequence sees it; SequenceContext: what all sequences of
// one scope share; TableRefusals: what all sequences refuse. Loop thread.
#pragma once

#include <functional>
#include <optional>

#include "daemon/base/status.h"
#include "daemon/core/context/core_context.h"
#include "daemon/core/log/log_entry.h"

namespace seqd {

class BlockTable;
class Sequence;
class SequenceBudgets;
class StoreScope;

class SequenceOwner {
 public:
  virtual ~SequenceOwner() = default;
  // Sequence::pump() is to be called at the end of this turn.
  virtual void touched(Sequence& sequence) = 0;
  // Has this turn's record made durable, and calls `then` when it is: in this order, and only while
  // the sequence is there. Not when the daemon ends before.
  virtual void when_durable(SequenceId sequence, std::function<void()> then) = 0;
  // Before an ID of it is taken for a text: in which form that will be. Nothing: not in this turn,
  // the form is to be on the medium first. SEQ_CHANGED, CONFIG, BUSY: there will be no text.
  virtual Result<std::optional<TextForm>> admit_text(SequenceId sequence) = 0;
  // IDs were issued; a client's are to be kept for repeats. The log has them.
  virtual void recorded(const Issued& issue) = 0;
  virtual BlockTable& blocks() = 0;
  // It has another block, which is counted at once: a turn has many of these.
  virtual void block_granted(Sequence& sequence) = 0;
  // Requests wait until its floor is read: Sequence::looked() follows.
  virtual void look(SequenceId sequence) = 0;
  // Of a sequence that has leased nothing yet: SEQ_REGRESSED when its period was over for so long
  // that its counter may have been removed.
  virtual Status check_not_removed(SequenceId sequence) const = 0;
};

// What is refused of all sequences of a table, and why. OK: it is not.
struct TableRefusals {
  Status ending;      // the daemon ends: requests fail, and no lease is begun
  Status log_failed;  // nothing more becomes durable: nothing is leased
  Status refusing;    // requests fail, except retries, and no lease is begun

  // Nothing but what is reserved is issued any more.
  const Status& end() const { return ending.ok() ? log_failed : ending; }
  bool winds_down() const { return !end().ok(); }
  // The first of them: no sequence is made or forgotten.
  const Status& any() const { return end().ok() ? refusing : end(); }
};

// Owned by the SequenceTable; it and what it refers to outlive the sequences.
struct SequenceContext {
  const CoreContext& core;
  SequenceOwner& table;
  StoreScope& scope;
  SequenceBudgets& budgets;
  const TableRefusals& refusals;
};

}  // namespace seqd
