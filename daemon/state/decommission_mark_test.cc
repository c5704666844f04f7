#include "daemon/state/decommission_mark.h"

#include <string>

#include "tests/unit/memory_disk.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

std::span<const std::uint8_t> as_bytes(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

struct Place {
  Place() : directory(disk.open("/state")) {}
  void put(const std::string& name, const std::string& text) {
    auto file = directory->open(name);
    REQUIRE(file.ok());
    REQUIRE((*file)->write_at(0, as_bytes(text)).ok());
  }
  MemoryDisk disk;
  std::unique_ptr<Directory> directory;
};

const std::vector<RetiredInstance> kTwo = {{"central", Token{1, 2, 0xff}}, {"default", Token{7}}};

TEST_CASE("WithoutAMarkNothingRetires") {
  Place place;
  const auto mark = read_decommission_mark(*place.directory);
  REQUIRE(mark.ok());
  CHECK_FALSE(mark->has_value());
  // Looking did not make one.
  CHECK_FALSE(place.directory->identity(decommission_mark_name).ok());
}

TEST_CASE("AMarkSaysWhoTheDaemonWasAlsoOverAPowerCut") {
  Place place;
  REQUIRE(write_decommission_mark(*place.directory, kTwo).ok());
  place.disk.power_cut([] { return false; });
  place.disk.release_locks();
  place.directory = place.disk.open("/state");
  const auto mark = read_decommission_mark(*place.directory);
  REQUIRE(mark.ok());
  REQUIRE(mark->has_value());
  CHECK(**mark == kTwo);
  CHECK_FALSE(place.directory->identity(decommission_draft_name).ok());
}

TEST_CASE("ADraftIsNoMarkAndALongerOneDoesNotShowThrough") {
  Place place;
  place.put(decommission_draft_name, std::string(500, 'x') + "\n");
  CHECK_FALSE(read_decommission_mark(*place.directory)->has_value());
  REQUIRE(write_decommission_mark(*place.directory, {}).ok());
  const auto mark = read_decommission_mark(*place.directory);
  REQUIRE(mark.ok());
  REQUIRE(mark->has_value());
  CHECK((*mark)->empty());
}

TEST_CASE("AMarkThatFailsInTheMiddleDoesNotStand") {
  for (std::uint64_t step = 1;; ++step) {
    Place place;
    place.disk.faults.fail = place.disk.operations + step;
    if (write_decommission_mark(*place.directory, kTwo).ok()) {
      CHECK(step == 6);  // behind create, write, sync, rename, sync
      break;
    }
    const auto mark = read_decommission_mark(*place.directory);
    INFO(step);
    REQUIRE(mark.ok());
    CHECK_FALSE(mark->has_value());
  }
}

TEST_CASE("AFileThatIsNoMarkIsAnErrorThatSaysWhatToDo") {
  for (const char* text : {"", "hello\n", "This seqd is being decommissioned"}) {
    Place place;
    place.put(decommission_mark_name, text);
    const auto mark = read_decommission_mark(*place.directory);
    REQUIRE_FALSE(mark.ok());
    CHECK(mark.status().code() == ErrorCode::STATE_CORRUPT);
    CHECK(mark.status().text().find("Remove it") != std::string::npos);
  }
}

TEST_CASE("AMarkWithoutItsEndIsAnError") {
  Place place;
  REQUIRE(write_decommission_mark(*place.directory, kTwo).ok());
  auto file = place.directory->open(decommission_mark_name);
  REQUIRE(file.ok());
  const std::uint64_t size = *(*file)->size();
  const std::uint8_t wrong[] = {'x', 'y'};
  REQUIRE((*file)->write_at(size - 2, wrong).ok());
  file->reset();
  CHECK(read_decommission_mark(*place.directory).status().code() == ErrorCode::STATE_CORRUPT);
}

}  // namespace
}  // namespace seqd
