#include "daemon/main/state/state_mark.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/adapters/store_fixtures.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

namespace fs = std::filesystem;

void put(const std::string& path) {
  std::ofstream(path) << "x";
}

TEST_CASE("AHostWithAMarkDoesNotBeginInAnEmptyDirectory", "[main]") {
  const testing::ScratchDirectory scratch;
  const std::string state = scratch.path("state");
  const StateMark mark(scratch.path("mark"));
  fs::create_directory(state);
  CHECK(mark.check(state).ok());
  REQUIRE(mark.make().ok());
  REQUIRE(mark.make().ok());  // it is there
  const Status refused = mark.check(state);
  CHECK(refused.code() == ErrorCode::CONFIG);
  CHECK_THAT(refused.text(), Catch::Contains(state + " has no log"));
  CHECK_THAT(refused.text(), Catch::Contains("remove " + scratch.path("mark/has-state")));
  CHECK(mark.check(scratch.path("not-made-yet")).code() == ErrorCode::CONFIG);

  // An SQLite store alone is no state: the log of this host would be empty.
  put(state + "/sequences.db");
  CHECK(mark.check(state).code() == ErrorCode::CONFIG);
  for (const char* name : {"log.0", "log.1", "retiring"}) {
    put(state + "/" + name);
    CHECK(mark.check(state).ok());
    fs::remove(state + "/" + name);
  }

  REQUIRE(mark.remove().ok());
  REQUIRE(mark.remove().ok());
  CHECK(mark.check(state).ok());
}

TEST_CASE("WithoutAPlaceForTheMarkNothingIsChecked", "[main]") {
  const StateMark mark("");
  CHECK(mark.make().ok());
  CHECK(mark.check("/nonexistent").ok());
  CHECK(mark.remove().ok());
  const testing::ScratchDirectory scratch;
  put(scratch.path("file"));
  CHECK(StateMark(scratch.path("file")).make().code() == ErrorCode::STATE_IO);
}

TEST_CASE("TheMarkLiesInItsStateDirectoryOfTheUnit", "[main]") {
  const char* const before = std::getenv("STATE_DIRECTORY");
  const std::string kept = before == nullptr ? "" : before;
  const auto named = [](const char* directories) {
    ::setenv("STATE_DIRECTORY", directories, 1);
    return mark_directory();
  };
  CHECK(named("/var/lib/seqd:/var/lib/seqd-mark") == "/var/lib/seqd-mark");
  // systemd sorts them, and a drop-in may add some.
  CHECK(named("/var/lib/backup:/var/lib/seqd:/var/lib/seqd-mark") == "/var/lib/seqd-mark");
  CHECK(named("/a:/b:/c").empty());
  CHECK(named("/var/lib/seqd").empty());
  CHECK(named("").empty());
  ::unsetenv("STATE_DIRECTORY");
  CHECK(mark_directory().empty());
  if (before != nullptr) ::setenv("STATE_DIRECTORY", kept.c_str(), 1);
}

}  // namespace
}  // namespace seqd
