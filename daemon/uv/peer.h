// Who is at the other end of a Unix socket, as the kernel says (SO_PEERCRED, SO_PEERGROUPS): as of
// connect().
#pragma once

#include "daemon/base/peer.h"
#include "daemon/base/status.h"

namespace seqd {

// A user that is not mapped in the daemon's user namespace is kNoUserOrGroup: it is in no list, and
// not an owner. Unmapped groups are left out. INTERNAL if `fd` is not a connected Unix socket, or
// if a part is unknown: rights depend on every part.
Result<Peer> peer_of(int fd);

}  // namespace seqd
