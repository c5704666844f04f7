#include "daemon/state/witness.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string_view>
#include <utility>
#include <vector>

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

std::vector<std::uint8_t> text(std::string_view of) {
  return {of.begin(), of.end()};
}

TEST_CASE("AWitnessThatWasRemovedIsMadeAgainWithWhatItSaid") {
  MemoryDisk disk;
  const std::unique_ptr<Directory> directory = disk.open("run");
  auto witness = std::make_unique<Witness>(std::move(*directory->map("w", Witness::size_with_tail)),
                                           directory.get(), "w");
  witness->write(example());
  witness->tail().begin(7, 4'096);
  REQUIRE(witness->tail().append(text("one turn")));
  CHECK(*witness->keep_in_place() == Witness::Kept::in_place);

  disk.folder("run").names.erase("w");
  CHECK(*witness->keep_in_place() == Witness::Kept::made_again);
  CHECK(*witness->keep_in_place() == Witness::Kept::in_place);
  REQUIRE(witness->tail().append(text(", another")));
  witness->advance(6);
  witness.reset();

  Witness next(std::move(*directory->map("w", Witness::size_with_tail)));
  REQUIRE(next.read());
  CHECK(next.read()->nonce == example().nonce);
  CHECK(next.read()->position == 6);
  CHECK(next.read()->flushes_good);
  const auto tail = next.tail().read();
  REQUIRE(tail);
  CHECK(tail->salt == 7);
  CHECK(tail->offset == 4'096);
  CHECK(std::ranges::equal(tail->bytes, text("one turn, another")));
}

TEST_CASE("TwoDirectoriesHaveTwoWitnesses") {
  CHECK(Witness::name({1, 2}) != Witness::name({2, 1}));
  CHECK(Witness::name({0xfe00, 77}) == "seqd-fe00-4d.witness");
}

}  // namespace
}  // namespace seqd
