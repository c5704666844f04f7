#include "daemon/os/files/fuse_kind.h"

#include <sys/sysmacros.h>

#include <catch2/catch.hpp>

namespace seqd {
namespace {

constexpr std::string_view kMounts =
    "24 31 0:22 / /proc rw,nosuid shared:5 - proc proc rw\n"
    "90 31 0:51 / /mnt/with\\040space rw - fuse.sshfs host:/ids rw,user_id=0\n"
    "91 31 0:52 / /srv rw,relatime shared:7 master:2 - fuse.glusterfs gluster:/ids rw\n"
    "92 31 0:53 / /kata rw - virtiofs kataShared rw\n"
    "93 31 0:54 / /home/fuse.sshfs rw - fuse.gocryptfs /disk rw\n"
    "94 31 0:55 / /old rw - fuse program rw";

TEST_CASE("FileSystemsOfProgramsAreKnownByTheirNames") {
  using Kind = FileSystemKind;
  CHECK(kind_of_fuse(kMounts, makedev(0, 51)) == Kind::remote);
  CHECK(kind_of_fuse(kMounts, makedev(0, 52)) == Kind::remote);
  for (const unsigned minor : {53U, 54U, 55U, 5U, 56U})
    CHECK(kind_of_fuse(kMounts, makedev(0, minor)) == Kind::unknown);
}

TEST_CASE("MountsThatCannotBeReadSayNothing") {
  for (const std::string_view mounts : {"", "\n\n", "1", "1 2 0:7", "1 2 0:7 / / rw - ",
                                        "1 2 0:7 / / rw fuse.sshfs", " - fuse.sshfs"})
    CHECK(kind_of_fuse(mounts, makedev(0, 7)) == FileSystemKind::unknown);
}

}  // namespace
}  // namespace seqd
