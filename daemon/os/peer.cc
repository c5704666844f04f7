#include "daemon/os/peer.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace seqd {

Result<PeerCredentials> peer_credentials(int fd) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return Status(ErrorCode::INTERNAL,
                  std::string("the kernel does not say who connected: ") + std::strerror(errno));
  // The kernel answers for sockets of other families too, with nobody.
  if (size != sizeof(peer) || peer.pid == 0)
    return Status(ErrorCode::INTERNAL, "the socket is no connected Unix socket");
  return PeerCredentials{peer.pid, peer.uid, peer.gid};
}

}  // namespace seqd
