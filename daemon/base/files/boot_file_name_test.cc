#include "daemon/base/files/boot_file_name.h"

#include <cstdint>

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("AFileOfTheBootIsCalledByDeviceAndInodeOfItsStateDirectory") {
  CHECK(boot_file_name({0x10, 0xabc}, "witness") == "seqd-10-abc.witness");
  CHECK(boot_file_name({0, 0}, "pages") == "seqd-0-0.pages");
  CHECK(boot_file_name({UINT64_MAX, UINT64_MAX}, "witness") ==
        "seqd-ffffffffffffffff-ffffffffffffffff.witness");
}

}  // namespace
}  // namespace seqd
