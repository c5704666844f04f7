// The directory of the witness (daemon/state/witness.h): the configured one, else one in memory: a
// tmpfs that belongs to this user alone, else shared memory of System V. Blocking; used once, at
// the start.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/base/files/files.h"

namespace seqd {

// Directories on a tmpfs, if they or their parent are one: /run/seqd, in /dev/shm, in
// $XDG_RUNTIME_DIR. In the order in which they are tried; the same each time, so that a restart
// finds the same one.
std::vector<std::string> witness_candidates();

// `configured` empty: the first of `candidates` that is in memory, belongs to this user alone and
// is apart from `state_dir`; else System V; else the first that can be opened, which proves
// nothing.
Result<std::unique_ptr<Directory>> open_witness_place(const std::string& configured,
                                                      const std::string& state_dir,
                                                      const std::vector<std::string>& candidates);

}  // namespace seqd
