#include "daemon/main/state/state_removal.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "daemon/os/files/posix_files.h"
#include "daemon/state/witness.h"
#include "tests/adapters/store_fixtures.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

namespace fs = std::filesystem;

struct Place {
  Place() : state(must(scratch.path("state"))), witness(must(scratch.path("witness"))) {
    for (const char* name : {"lock", "retiring", "retiring.new", "log.0", "log.1", "log.1.damaged",
                             "history.db", "history.db-wal", "history.db.set-aside"})
      put(state->path() + "/" + name);
    put(witness->path() + "/" + Witness::name(*state->identity("")));
  }
  static std::unique_ptr<Directory> must(const std::string& path) {
    auto directory = open_directory(path);
    REQUIRE(directory.ok());
    return std::move(*directory);
  }
  static void put(const std::string& path) { std::ofstream(path) << "x"; }
  bool has(const std::string& name) const { return fs::exists(state->path() + "/" + name); }

  testing::ScratchDirectory scratch;
  std::unique_ptr<Directory> state;
  std::unique_ptr<Directory> witness;
};

TEST_CASE("AllThatIsSeqdsByNameGoesTheLockLast", "[main]") {
  const Place place;
  const StateContents contents = state_contents(*place.state, *place.witness, false);
  CHECK(contents.ours.size() == 10);
  CHECK(contents.ours.back() == place.state->path() + "/lock");
  CHECK(contents.others.empty());
  REQUIRE(remove_state(*place.state, *place.witness, false).ok());
  CHECK(fs::is_empty(place.state->path()));
  CHECK(fs::is_empty(place.witness->path()));
  // Once more is no error: a kill may have come in between.
  CHECK(remove_state(*place.state, *place.witness, false).ok());
}

TEST_CASE("FilesOfOthersAndStoresStayAndAreNamed", "[main]") {
  const Place place;
  for (const char* name : {"sequences.db", "log.2", "history.db.backup", "lock.old"})
    Place::put(place.state->path() + "/" + name);
  Place::put(place.witness->path() + "/seqd-1-2.witness");
  CHECK(state_contents(*place.state, *place.witness, false).others.size() == 4);
  REQUIRE(remove_state(*place.state, *place.witness, false).ok());
  CHECK(place.has("sequences.db"));
  CHECK(place.has("history.db.backup"));
  CHECK(fs::exists(place.witness->path() + "/seqd-1-2.witness"));
  CHECK_FALSE(place.has("lock"));
}

TEST_CASE("AHistoryThatIsKeptIsNotAmongWhatGoes", "[main]") {
  const Place place;
  const StateContents contents = state_contents(*place.state, *place.witness, true);
  CHECK(contents.others.size() == 3);
  REQUIRE(remove_state(*place.state, *place.witness, true).ok());
  CHECK(place.has("history.db"));
  CHECK_FALSE(place.has("log.0"));
}

TEST_CASE("WhileSomethingCannotBeRemovedTheMarkStays", "[main]") {
  const Place place;
  fs::remove(place.state->path() + "/log.0");
  fs::create_directories(place.state->path() + "/log.0/in-the-way");
  const Status removed = remove_state(*place.state, *place.witness, false);
  REQUIRE_FALSE(removed.ok());
  CHECK(removed.text().find("log.0") != std::string::npos);
  CHECK(place.has("retiring"));
  CHECK(place.has("lock"));
  CHECK_FALSE(place.has("log.1"));
}

}  // namespace
}  // namespace seqd
