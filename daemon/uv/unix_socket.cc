#include "daemon/uv/unix_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace seqd {
namespace {

Status socket_error(const std::string& path, const char* what) {
  return {ErrorCode::CONFIG, "socket " + path + ": " + what + ": " + std::strerror(errno)};
}

// A socket file without a listener is left over from a daemon that was killed.
Status remove_stale(const std::string& path, const sockaddr_un& address) {
  struct stat facts {};
  if (lstat(path.c_str(), &facts) != 0) return {};
  if (!S_ISSOCK(facts.st_mode)) {
    return {
        ErrorCode::CONFIG,
        "socket " + path + ": there is a file of another kind; remove it or choose another path"};
  }
  // Not blocking: one that hangs with a full queue of connections is alive, too.
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return socket_error(path, "cannot be created");
  const int connected = connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int why = connected == 0 ? 0 : errno;
  ::close(probe);
  if (why == 0 || why == EAGAIN)
    return {ErrorCode::CONFIG, "socket " + path + ": another process listens there already"};
  errno = why;
  if (why != ECONNREFUSED) return socket_error(path, "cannot determine whether it is in use");
  if (unlink(path.c_str()) != 0) return socket_error(path, "the old socket cannot be removed");
  return {};
}

}  // namespace

Result<UnixSocket> bind_unix_socket(const std::string& path, int mode) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Status(ErrorCode::CONFIG, "socket " + path + ": the path is longer than " +
                                         std::to_string(sizeof address.sun_path - 1) + " bytes");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const Status stale = remove_stale(path, address);
  if (!stale.ok()) return stale;
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return socket_error(path, "cannot be created");
  // The socket has its permissions from the start: a client that may connect gets ECONNREFUSED
  // until the daemon listens, and tries again, but never EACCES. A default ACL may have changed
  // them.
  const mode_t before = umask(static_cast<mode_t>(~mode & 0777));
  const int bound = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  umask(before);
  struct stat facts {};
  const bool good = bound == 0 && stat(path.c_str(), &facts) == 0 &&
                    ((facts.st_mode & 0777) == static_cast<mode_t>(mode) ||
                     chmod(path.c_str(), static_cast<mode_t>(mode)) == 0);
  if (!good) {
    const Status failed = socket_error(path, "cannot be bound");
    ::close(fd);
    return failed;
  }
  return UnixSocket{fd, path, facts.st_ino};
}

void unlink_unix_socket(const UnixSocket& socket) {
  struct stat facts {};
  if (!socket.path.empty() && lstat(socket.path.c_str(), &facts) == 0 &&
      facts.st_ino == socket.inode)
    unlink(socket.path.c_str());
}

}  // namespace seqd
