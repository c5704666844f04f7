#include "daemon/os/files/file_system_kind.h"

#include <linux/magic.h>

namespace seqd {
namespace {

// What linux/magic.h does not list.
constexpr std::uint32_t kLustre = 0x0BD00BD0;
constexpr std::uint32_t kGfs2 = 0x01161970;
constexpr std::uint32_t kGpfs = 0x47504653;
constexpr std::uint32_t kBeeGfs = 0x19830326;
constexpr std::uint32_t kVirtualBoxShare = 0x786F4256;

}  // namespace

FileSystemKind kind_of_file_system(std::uint32_t type) {
  switch (type) {
    case NFS_SUPER_MAGIC:
    case SMB_SUPER_MAGIC:
    case CIFS_SUPER_MAGIC:
    case SMB2_SUPER_MAGIC:
    case AFS_SUPER_MAGIC:
    case CODA_SUPER_MAGIC:
    case CEPH_SUPER_MAGIC:
    case V9FS_MAGIC:
    case OCFS2_SUPER_MAGIC:
    case kLustre:
    case kGfs2:
    case kGpfs:
    case kBeeGfs:
    case kVirtualBoxShare:
      return FileSystemKind::remote;
    case FUSE_SUPER_MAGIC:
      return FileSystemKind::unknown;
    case TMPFS_MAGIC:
    case RAMFS_MAGIC:
      return FileSystemKind::memory;
    case OVERLAYFS_SUPER_MAGIC:
      return FileSystemKind::overlay;
    default:
      return FileSystemKind::local;
  }
}

}  // namespace seqd
