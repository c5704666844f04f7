// StateRemoval: the files of a daemon that is decommissioned: which of those in the state directory
// are seqd's by name, and their removal. Stores and files of others are left, and named. Blocking;
// the owner of the state's lock calls.
//
// Invariant: the mark of the decommission goes when all but the lock has gone and that is on the
// medium; the lock goes last.
#pragma once

#include <string>
#include <vector>

#include "daemon/base/files/files.h"

namespace seqd {

struct StateContents {
  std::vector<std::string> ours;    // paths, in the order in which they go
  std::vector<std::string> others;  // paths
};

// What is there now.
StateContents state_contents(const Directory& state, const Directory& witness, bool keep_history);

// Removes what is ours. The first error that was met; the rest is removed all the same, but for the
// mark.
Status remove_state(Directory& state, Directory& witness, bool keep_history);

}  // namespace seqd
