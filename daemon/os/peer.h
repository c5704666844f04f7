// Who is at the other end of a Unix socket, as the kernel says (SO_PEERCRED): as of connect().
#pragma once

#include <sys/types.h>

#include "daemon/base/status.h"

namespace seqd {

struct PeerCredentials {
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
};

// INTERNAL when `fd` is no connected Unix socket.
Result<PeerCredentials> peer_credentials(int fd);

}  // namespace seqd
