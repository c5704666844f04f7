// Whether a state that was read can be kept in a log of this size. A start writes a snapshot of
// what there is; a rotation writes what may have become of it, and has to succeed. A function
// without state; loop thread.
#pragma once

#include <cstdint>

#include "daemon/base/status.h"
#include "daemon/core/sequence/sequence_budgets.h"

namespace seqd {

// After SequenceTable::restore(), before the first turn. CONFIG: the sequences may come to more
// than their part of a log of `state_log_size` bytes; says which size is enough.
Status check_state_room(const SequenceBudgets& budgets, std::uint64_t state_log_size);

}  // namespace seqd
