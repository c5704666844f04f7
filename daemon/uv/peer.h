// Who is at the other end of a Unix socket, as the kernel says (SO_PEERCRED, SO_PEERGROUPS): as of
// connect().
#pragma once

#include "daemon/base/peer.h"
#include "daemon/base/status.h"

namespace seqd {

// A user whom the daemon's user namespace cannot name is kNoUserOrGroup: in no list and no owner.
// Such groups are left out. INTERNAL when `fd` is no connected Unix socket, or when not all of it
// is known: rights hang on every part.
Result<Peer> peer_of(int fd);

}  // namespace seqd
