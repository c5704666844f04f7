// The kind of a FUSE file system, by its name in the list of mounts: its number is the same for a
// disk of this host and for another host's. Pure; any thread.
#pragma once

#include <sys/types.h>

#include <string_view>

#include "daemon/base/files/files.h"

namespace seqd {

// `mounts`: the text of /proc/self/mountinfo. Remote: other hosts may have the same files, by its
// name. Unknown: the name does not show that, or `device` is not in the list.
FileSystemKind kind_of_fuse(std::string_view mounts, dev_t device);

}  // namespace seqd
