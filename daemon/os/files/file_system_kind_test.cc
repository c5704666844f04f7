#include "daemon/os/files/file_system_kind.h"

#include <catch2/catch.hpp>

#include "daemon/os/files/posix_files.h"

namespace seqd {
namespace {

TEST_CASE("FileSystemsAreKnownByTheirNumbers") {
  using Kind = FileSystemKind;
  CHECK(kind_of_file_system(0xEF53) == Kind::local);      // ext4
  CHECK(kind_of_file_system(0x58465342) == Kind::local);  // xfs
  CHECK(kind_of_file_system(0x9123683E) == Kind::local);  // btrfs
  CHECK(kind_of_file_system(0x01021994) == Kind::memory);
  CHECK(kind_of_file_system(0x794C7630) == Kind::overlay);
  CHECK(kind_of_file_system(0x65735546) == Kind::unknown);  // FUSE
  for (const std::uint32_t remote :
       {0x6969U, 0x517BU, 0xFF534D42U, 0xFE534D42U, 0x5346414FU, 0x73757245U, 0x00C36400U,
        0x01021997U, 0x7461636FU, 0x0BD00BD0U, 0x01161970U, 0x47504653U, 0x19830326U, 0x786F4256U})
    CHECK(kind_of_file_system(remote) == Kind::remote);
}

TEST_CASE("TheKindOfAPathIsThatOfItsFileSystem") {
  CHECK(*file_system_of("/dev/shm") == FileSystemKind::memory);
  CHECK(file_system_of("/nowhere/at/all").status().code() == ErrorCode::STATE_IO);
}

}  // namespace
}  // namespace seqd
