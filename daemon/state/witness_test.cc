#include "daemon/state/witness.h"

#include <catch2/catch.hpp>

#include "tests/unit/memory_disk.h"

namespace seqd {
namespace {

Witness::Testimony example() {
  return {.boot_id = Token{1},
          .nonce = Token{2},
          .directory = {3, 4},
          .position = 5,
          .flushes_good = true};
}

std::unique_ptr<Witness> open(MemoryDisk& disk) {
  Result<std::unique_ptr<SharedMemory>> memory = disk.open("run")->map("w", Witness::size);
  return std::make_unique<Witness>(std::move(*memory));
}

TEST_CASE("ANewWitnessSaysNothing") {
  MemoryDisk disk;
  CHECK_FALSE(open(disk)->read());
}

TEST_CASE("TheNextProcessReadsWhatTheWitnessLastSaid") {
  MemoryDisk disk;
  open(disk)->write(example());
  CHECK(open(disk)->read() == example());
  open(disk)->advance(6);
  CHECK(open(disk)->read()->position == 6);
}

TEST_CASE("AFlushThatDoesNotSucceedIsRemembered") {
  MemoryDisk disk;
  open(disk)->write(example());
  open(disk)->flush_begins();
  CHECK_FALSE(open(disk)->read()->flushes_good);
  open(disk)->flush_succeeded();
  CHECK(open(disk)->read()->flushes_good);
}

TEST_CASE("TwoDirectoriesHaveTwoWitnesses") {
  CHECK(Witness::name({1, 2}) != Witness::name({2, 1}));
  CHECK(Witness::name({0xfe00, 77}) == "seqd-fe00-4d.witness");
}

}  // namespace
}  // namespace seqd
