// SharedSegments: shared memory of System V as a Directory that can only map(): for hosts and
// containers without a tmpfs. It outlives the process and neither the boot nor the IPC namespace,
// and no copy of a file system has it. See shmget(2).
#pragma once

#include <memory>
#include <string>

#include "daemon/base/files/files.h"

namespace seqd {

inline constexpr const char* kSharedSegments = "System V shared memory";

// STATE_IO when the system gives none (a sandbox that forbids it).
Result<std::unique_ptr<Directory>> open_shared_segments();

// Removes the segment of that name once nothing is attached to it.
Status remove_shared_segment(const std::string& name);

}  // namespace seqd
