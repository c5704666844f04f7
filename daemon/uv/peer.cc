#include "daemon/uv/peer.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace seqd {
namespace {

constexpr std::size_t kMostGroups = 65'536;  // NGROUPS_MAX of Linux

Status unknown_peer() {
  return {ErrorCode::INTERNAL,
          std::string("the kernel does not report the user of the connection: ") +
              std::strerror(errno)};
}

// A user namespace that does not map all users (most rootless containers) reports every unmapped
// one under the same number, which may also be that of a mapped user. None where all are mapped.
std::optional<std::uint32_t> number_of_unmapped(const std::string& kind) {
  std::uint32_t overflow = 65'534;
  std::ifstream("/proc/sys/kernel/overflow" + kind) >> overflow;
  std::uint32_t inside = 1;
  std::uint32_t outside = 1;
  std::uint32_t count = 0;
  std::ifstream("/proc/self/" + kind + "_map") >> inside >> outside >> count;
  const bool maps_all = inside == 0 && count == std::numeric_limits<std::uint32_t>::max();
  return maps_all ? std::nullopt : std::optional(overflow);
}

}  // namespace

Result<Peer> peer_of(int fd) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return unknown_peer();
  // The kernel answers for sockets of other families too, with no user. A process of another PID
  // namespace has the number 0.
  if (size != sizeof credentials || credentials.uid == kNoUserOrGroup)
    return Status(ErrorCode::INTERNAL, "the socket is not a connected Unix socket");
  Peer peer{credentials.uid, credentials.pid, {}};
  std::vector<gid_t> groups(64);
  size = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
  int failed = getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size);
  if (failed != 0 && errno == ERANGE && size <= kMostGroups * sizeof(gid_t)) {
    groups.resize(size / sizeof(gid_t));
    failed = getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size);
  }
  if (failed != 0) return unknown_peer();
  groups.resize(size / sizeof(gid_t));
  groups.push_back(credentials.gid);
  if (peer.uid == number_of_unmapped("uid")) peer.uid = kNoUserOrGroup;
  const std::optional<std::uint32_t> unmapped = number_of_unmapped("gid");
  for (const gid_t group : groups) {
    if (group != unmapped) peer.groups.push_back(group);
  }
  return peer;
}

}  // namespace seqd
