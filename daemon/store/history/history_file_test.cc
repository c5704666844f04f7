#include "daemon/store/history/history_file.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "daemon/store/sqlite/sqlite_connection.h"
#include "tests/adapters/sqlite/kept_history.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;

TEST_CASE("AHistoryThatIsNotThereKnowsNothingAndIsNotMade") {
  KeptHistory kept;
  CHECK_FALSE(kept.opened->file.read_mark().exists);
  CHECK_FALSE(kept.id(5).known);
  CHECK_FALSE(kept.sums().known);
  CHECK_FALSE(std::filesystem::exists(kept.path));
}

// It has the users who took IDs.
TEST_CASE("AHistoryIsTheDaemonsAloneWhateverTheUmaskIs") {
  KeptHistory kept;
  const mode_t before = umask(0);
  const Status written = kept.write(HistoryRows(1).lease(1, 11));
  umask(before);
  REQUIRE(written.ok());
  CHECK((std::filesystem::status(kept.path).permissions() & std::filesystem::perms::all) ==
        (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
}

// Under the thread sanitizer this is what notices a handle that is used after it was closed.
TEST_CASE("AConnectionIsInterruptedWhileAnotherThreadClosesIt") {
  KeptHistory kept;
  REQUIRE(kept.write(HistoryRows(1).lease(1, 11)).ok());
  HistoryDatabase audited(kept.path, HistoryDatabase::Access::read);
  for (int round = 0; round < 20; ++round) {
    REQUIRE(audited.open().ok());
    std::jthread auditor([&] {
      static_cast<void>(audited.number("SELECT count(*) FROM lease").ok());
      audited.close();
    });
    for (int times = 0; times < 200; ++times) audited.interrupt();
  }
}

TEST_CASE("AFileThatIsNoneIsSetAsideAndANewOneIsBegun") {
  KeptHistory kept;
  SECTION("text") {
    std::ofstream(kept.path) << std::string(5'000, 'x');
  }
  SECTION("another program's") {
    HistoryDatabase other(kept.path);
    REQUIRE(other.open().ok());
    REQUIRE(other.run("PRAGMA application_id = 77").ok());
  }
  SECTION("another version's") {
    HistoryDatabase newer(kept.path);
    REQUIRE(newer.open().ok());
    REQUIRE(newer.run("PRAGMA user_version = 4").ok());
  }
  SECTION("ours without its tables") {
    HistoryDatabase holed(kept.path);
    REQUIRE(holed.open().ok());
    REQUIRE(holed.run("DROP TABLE span; DROP TABLE about").ok());
  }
  const std::string before = [&] {
    std::ifstream in(kept.path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }();
  kept.open();
  CHECK_FALSE(kept.opened->file.read_mark().exists);
  Status written = kept.write(HistoryRows(1).lease(1, 101).issue(1, 11));
  if (!written.ok()) written = kept.write(HistoryRows(1).lease(1, 101).issue(1, 11));
  REQUIRE(written.to_string() == "OK");
  CHECK(kept.id(5).issue);
  CHECK(kept.opened->database.take_warnings().size() == 1);
  CHECK(std::filesystem::exists(kept.path + HistoryDatabase::kSetAside));
}

TEST_CASE("DamageInTheMiddleIsFoundWhenItIsMetAndANewHistoryBegins") {
  KeptHistory kept;
  HistoryRows batch(1);
  for (std::int64_t id = 1; id < 4'000; id += 2) batch.issue(id, id + 1);
  REQUIRE(kept.write(batch).ok());
  kept.opened.reset();
  {
    std::fstream file(kept.path, std::ios::in | std::ios::out | std::ios::binary);
    for (std::streamoff at = 4'096; at < 80'000; at += 64) {
      file.seekp(at);
      file.write("damage", 6);
    }
  }
  kept.open();
  static_cast<void>(kept.opened->file.read_mark());
  Status written;
  for (LogPosition attempt = 2; attempt < 5; ++attempt) {
    written = kept.write(HistoryRows(attempt).issue(10'001, 10'011));
    if (written.ok()) break;
  }
  REQUIRE(written.to_string() == "OK");
  CHECK(kept.id(10'005).issue);
  CHECK(std::filesystem::exists(kept.path + HistoryDatabase::kSetAside));
}

TEST_CASE("AFullDiskRefusesABatchAndTheNextTryWritesIt") {
  KeptHistory kept;
  REQUIRE(kept.write(HistoryRows(1).lease(1, 101)).ok());
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  rlimit small = before;
  small.rlim_cur = 100'000;
  HistoryRows batch(2);
  for (std::int64_t id = 1; id < 6'000; id += 2) batch.issue(id, id + 1);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const Status refused = kept.write(batch);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK(refused.code() == ErrorCode::STATE_IO);
  CHECK(kept.sums().rows == SequenceTotals{0, 100, 0, 0, 0, 0});
  REQUIRE(kept.write(batch).to_string() == "OK");
  CHECK(kept.sums().rows.issued == batch.orders().added.issued);
  CHECK(kept.opened->database.take_warnings().empty());
}

TEST_CASE("AFileThatSomebodyHoldsLockedIsNotReadAsEmpty") {
  KeptHistory kept;
  REQUIRE(kept.write(HistoryRows(9).lease(1, 101)).ok());
  kept.open();
  HistoryDatabase other(kept.path);
  REQUIRE(other.open().ok());
  REQUIRE(other.run("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE").ok());
  const Status refused = kept.write(HistoryRows(10).issue(1, 2));
  CHECK(refused.code() == ErrorCode::STATE_IO);
  REQUIRE(other.run("COMMIT; PRAGMA locking_mode = NORMAL; SELECT count(*) FROM span").ok());
  other.close();
  CHECK(kept.write(HistoryRows(10).issue(1, 2)).to_string() == "OK");
  CHECK(kept.opened->file.read_mark().position == 10);
}

TEST_CASE("AHistoryThatIsSwitchedOffIsRemoved") {
  KeptHistory kept;
  REQUIRE(kept.write(HistoryRows(1).issue(1, 5)).ok());
  std::ofstream(kept.path + HistoryDatabase::kSetAside) << "personal";
  REQUIRE(kept.opened->file.remove().ok());
  CHECK(std::filesystem::is_empty(kept.directory.path("")));
  REQUIRE(kept.opened->file.remove().ok());
}

}  // namespace
}  // namespace seqd
