// SequenceOwner: the SequenceTable, as a Sequence sees it. Loop thread.
#pragma once

#include "daemon/core/log/log_entry.h"

namespace seqd {

class SequenceAccounts;

class SequenceOwner {
 public:
  virtual ~SequenceOwner() = default;
  // Sequence::pump() is to be called at the end of this turn.
  virtual void touched(SequenceId sequence) = 0;
  // This turn's record must be durable: Sequence::durable() is to be called when it is.
  virtual void wait_durable(SequenceId sequence) = 0;
  // IDs were issued; a client's are to be kept for repeats. The log has them.
  virtual void recorded(const Issued& issue) = 0;
  virtual SequenceAccounts& accounts() = 0;
};

}  // namespace seqd
