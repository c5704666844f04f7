#include "daemon/os/shared_segments.h"

#include <sys/ipc.h>
#include <sys/shm.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

namespace seqd {
namespace {

// A name of this test alone, whose segment goes with it.
struct Name {
  std::string text = "seqd-test-" + std::to_string(getpid()) + ".witness";
  ~Name() { static_cast<void>(remove_shared_segment(text).ok()); }
};

std::unique_ptr<Directory> segments_of_system() {
  Result<std::unique_ptr<Directory>> opened = open_shared_segments();
  REQUIRE(opened.ok());
  return std::move(*opened);
}

std::unique_ptr<SharedMemory> mapped(Directory& segments, const std::string& name) {
  Result<std::unique_ptr<SharedMemory>> memory = segments.map(name, 4'096);
  REQUIRE(memory.status().to_string() == "OK");
  return std::move(*memory);
}

TEST_CASE("ASegmentKeepsWhatWasWrittenUntilItIsRemoved", "[os]") {
  const Name name;
  const auto segments = segments_of_system();
  CHECK(segments->kind() == FileSystemKind::memory);
  {
    auto memory = mapped(*segments, name.text);
    REQUIRE(memory->bytes().size() == 4'096);
    CHECK(reinterpret_cast<std::uintptr_t>(memory->bytes().data()) % 64 == 0);
    CHECK(memory->bytes()[0] == 0);
    memory->bytes()[0] = 7;
    memory->bytes()[4'095] = 8;
  }
  {
    auto memory = mapped(*segments, name.text);
    CHECK(memory->bytes()[0] == 7);
    CHECK(memory->bytes()[4'095] == 8);
    REQUIRE(mapped(*segments, name.text + "2")->bytes()[0] == 0);
    REQUIRE(remove_shared_segment(name.text + "2").ok());
  }
  REQUIRE(remove_shared_segment(name.text).ok());
  CHECK(mapped(*segments, name.text)->bytes()[0] == 0);
}

TEST_CASE("TheIdentityOfASegmentEndsWithIt", "[os]") {
  const std::string name = "seqd-test-identity-" + std::to_string(getpid());
  const auto directory = open_shared_segments();
  REQUIRE(directory.ok());
  CHECK_FALSE((*directory)->identity(name).ok());
  auto first = (*directory)->map(name, 256);
  REQUIRE(first.ok());
  const Result<FileIdentity> identity = (*directory)->identity(name);
  REQUIRE(identity.ok());
  CHECK((*directory)->identity(name).value() == *identity);
  REQUIRE(remove_shared_segment(name).ok());
  CHECK_FALSE((*directory)->identity(name).ok());
  auto second = (*directory)->map(name, 256);
  REQUIRE(second.ok());
  CHECK((*directory)->identity(name).value() != *identity);
  CHECK(remove_shared_segment(name).ok());
}

TEST_CASE("ASegmentHasOneOwnerAtATime", "[os]") {
  const Name name;
  const auto segments = segments_of_system();
  const auto held = mapped(*segments, name.text);
  CHECK(segments->map(name.text, 4'096).status().code() == ErrorCode::FENCED);
}

TEST_CASE("ASegmentThatOthersMayWriteToIsNotBelieved", "[os]") {
  const Name name;
  const auto segments = segments_of_system();
  mapped(*segments, name.text)->bytes()[0] = 7;
  int id = -1;
  for (int number = 0; number < 4'096 && id < 0; ++number) {
    shmid_ds facts{};
    const int found = shmctl(number, SHM_STAT, &facts);
    if (found < 0 || facts.shm_cpid != getpid() || facts.shm_segsz != 4'096 + 128) continue;
    id = found;
    facts.shm_perm.mode = 0666;
    REQUIRE(shmctl(id, IPC_SET, &facts) == 0);
  }
  REQUIRE(id >= 0);
  CHECK(mapped(*segments, name.text)->bytes()[0] == 0);
  REQUIRE(shmctl(id, IPC_RMID, nullptr) == 0);
}

}  // namespace
}  // namespace seqd
