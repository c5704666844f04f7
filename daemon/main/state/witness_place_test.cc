#include "daemon/main/state/witness_place.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "daemon/os/shared_segments.h"

namespace seqd {
namespace {

// A directory on a tmpfs, which /dev/shm is on every Linux that is no container made to have none.
struct Memory {
  Memory() { REQUIRE(mkdtemp(path.data()) != nullptr); }
  ~Memory() { std::filesystem::remove_all(path); }
  std::string path = "/dev/shm/seqd-place-XXXXXX";
};

std::string chosen(const std::vector<std::string>& candidates,
                   const std::string& state = "/var/lib/seqd") {
  return open_witness_place("", state, candidates).value()->path();
}

TEST_CASE("TheWitnessLiesInTheFirstTmpfsThereIs", "[config]") {
  const Memory memory;
  CHECK(chosen({"/no/such/place", memory.path + "/one", memory.path + "/two"}) ==
        memory.path + "/one");
  struct stat facts {};
  REQUIRE(stat((memory.path + "/one").c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0700);
}

TEST_CASE("WhatTheConfigurationSaysIsTakenAsItIs", "[config]") {
  const Memory memory;
  const std::string configured = memory.path + "/configured";
  CHECK(open_witness_place(configured, "/var/lib/seqd", {memory.path + "/one"}).value()->path() ==
        configured);
  CHECK_FALSE(std::filesystem::exists(memory.path + "/one"));
}

TEST_CASE("WithoutATmpfsTheWitnessLiesInSharedMemory", "[config]") {
  const Memory memory;
  CHECK(chosen({"/sys/seqd", "/proc/seqd"}) == kSharedSegments);
  // A witness that lies within the state directory would be copied with it.
  CHECK(chosen({memory.path + "/state/witness"}, memory.path + "/state") == kSharedSegments);
  CHECK(chosen({memory.path}, memory.path + "/state") == kSharedSegments);
}

TEST_CASE("ADirectoryThatIsNotOursAloneIsNoPlace", "[config]") {
  const Memory memory;
  const std::string open = memory.path + "/open";
  REQUIRE(mkdir(open.c_str(), 0700) == 0);
  REQUIRE(chmod(open.c_str(), 0770) == 0);
  CHECK(chosen({open}) == kSharedSegments);
  REQUIRE(mkdir((memory.path + "/target").c_str(), 0700) == 0);
  REQUIRE(symlink((memory.path + "/target").c_str(), (memory.path + "/link").c_str()) == 0);
  CHECK(chosen({memory.path + "/link"}) == kSharedSegments);
}

TEST_CASE("ADirectoryOfAnotherUserIsNoPlace", "[config]") {
  REQUIRE(geteuid() == 0);  // chown() is for root, and so are these tests
  const Memory memory;
  REQUIRE(mkdir((memory.path + "/other").c_str(), 0700) == 0);
  REQUIRE(chown((memory.path + "/other").c_str(), 65'534, 65'534) == 0);
  CHECK(chosen({memory.path + "/other"}) == kSharedSegments);
}

}  // namespace
}  // namespace seqd
