#include "daemon/os/activation.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace seqd {
namespace {

constexpr int kMaxSockets = 16;

Status check_socket(int fd) {
  const std::string which =
      "socket " + std::to_string(fd - SD_LISTEN_FDS_START + 1) + " passed by systemd ";
  const int fits = sd_is_socket_unix(fd, SOCK_STREAM, 1, nullptr, 0);
  if (fits <= 0)
    return {ErrorCode::CONFIG, which +
                                   "is not a listening Unix stream socket; allowed: "
                                   "ListenStream=/PATH in seqd.socket"};
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
    return {ErrorCode::CONFIG, which + "cannot be used: " + std::strerror(errno)};
  return {};
}

}  // namespace

Result<std::vector<int>> activated_sockets() {
  // Clears the variables, also if they are invalid, and sets close-on-exec.
  const int count = sd_listen_fds(1);
  if (count < 0)
    return Status(ErrorCode::CONFIG,
                  std::string("LISTEN_FDS cannot be understood: ") + std::strerror(-count));
  std::vector<int> sockets;
  sockets.reserve(static_cast<std::size_t>(std::min(count, kMaxSockets)));
  for (int i = 0; i < count; ++i) sockets.push_back(SD_LISTEN_FDS_START + i);
  Status status;
  if (count > kMaxSockets)
    status = {ErrorCode::CONFIG, "systemd passed " + std::to_string(count) +
                                     " sockets; allowed: " + std::to_string(kMaxSockets)};
  for (const int fd : sockets)
    if (status.ok()) status = check_socket(fd);
  if (status.ok()) return sockets;
  for (const int fd : sockets) close(fd);
  return status;
}

}  // namespace seqd
