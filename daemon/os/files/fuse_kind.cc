#include "daemon/os/files/fuse_kind.h"

#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <string>

namespace seqd {
namespace {

// FUSE programs whose files are on another host. virtiofs is not among them: it is the usual volume
// of a virtual machine, for which a host may have shared a disk of its own.
constexpr std::array<std::string_view, 18> kRemote = {
    "fuse.sshfs",     "fuse.glusterfs", "fuse.ceph",    "fuse.ceph-fuse", "fuse.s3fs",
    "fuse.goofys",    "fuse.gcsfuse",   "fuse.rclone",  "fuse.juicefs",   "fuse.JuiceFS",
    "fuse.curlftpfs", "fuse.davfs",     "fuse.moosefs", "fuse.mfs",       "fuse.lizardfs",
    "fuse.seaweedfs", "fuse.beegfs",    "fuse.mount-s3"};

std::string_view word(std::string_view& line) {
  const std::string_view first = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(first.size() + 1, line.size()));
  return first;
}

}  // namespace

// "36 35 98:0 /root /mount options optional-fields - type source options".
FileSystemKind kind_of_fuse(std::string_view mounts, dev_t device) {
  const std::string wanted = std::to_string(major(device)) + ":" + std::to_string(minor(device));
  while (!mounts.empty()) {
    std::string_view line = mounts.substr(0, mounts.find('\n'));
    mounts.remove_prefix(std::min(line.size() + 1, mounts.size()));
    word(line), word(line);
    if (word(line) != wanted) continue;
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    line.remove_prefix(dash + 3);
    const bool is_remote = std::find(kRemote.begin(), kRemote.end(), word(line)) != kRemote.end();
    return is_remote ? FileSystemKind::remote : FileSystemKind::unknown;
  }
  return FileSystemKind::unknown;
}

}  // namespace seqd
