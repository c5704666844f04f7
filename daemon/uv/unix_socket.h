// UnixSocket: makes a listening place in the file system, with its permissions from the start, and
// removes it again. Loop thread.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/base/status.h"

namespace seqd {

// Bound, but not listening yet. Its owner closes `fd`.
struct UnixSocket {
  int fd = -1;
  std::string path;
  std::uint64_t inode = 0;  // so that another daemon's socket is not removed
};

// A socket without a listener is replaced; one that is in use, or a file of another kind, is an
// error (CONFIG).
Result<UnixSocket> bind_unix_socket(const std::string& path, int mode);
// Removes the file, if it is still that of this socket.
void unlink_unix_socket(const UnixSocket& socket);

}  // namespace seqd
