// Older copies of an SQLite file, and copies beside it, which are noticed by the number of changes
// that this boot remembers: also where the log went back with the file, so no heartbeat is given.
#include "daemon/store/sqlite/sqlite_commit_mark.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "daemon/os/files/posix_files.h"
#include "daemon/store/sqlite/sqlite_store.h"
#include "tests/adapters/sqlite/wal_layer.h"
#include "tests/adapters/store_fixtures.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

namespace fs = std::filesystem;
using testing::lease_request;
using Kind = LeaseOutcome::Kind;

struct Host {
  Host() : boot(open_boot("boot")) {}
  std::unique_ptr<Directory> open_boot(const std::string& name) const {
    auto directory = open_directory(fixture.file() + "-" + name);
    REQUIRE(directory.ok());
    return std::move(*directory);
  }
  std::unique_ptr<SqliteStore> open(const std::string& file, int busy_timeout_ms = 2'000) const {
    auto store = SqliteStore::open(
        {.path = file, .busy_timeout_ms = busy_timeout_ms, .boot_memory = boot.get()});
    INFO(store.status().to_string());
    REQUIRE(store.ok());
    return std::move(*store);
  }
  std::unique_ptr<SqliteStore> open() const { return open(fixture.file()); }
  std::string copy() const { return fixture.file() + "-copy"; }
  // While it is closed, so that it is one file.
  void back_up() const {
    fs::copy_file(fixture.file(), copy(), fs::copy_options::overwrite_existing);
  }
  void put_back() const {
    fs::copy_file(copy(), fixture.file(), fs::copy_options::overwrite_existing);
  }
  std::string mark() const {
    return boot->path() + "/" + SqliteCommitMark::name(*open()->place().identity);
  }

  testing::SqliteFixture fixture;
  std::unique_ptr<Directory> boot;
};

void lease(BlockingStore& store, std::int64_t begin) {
  const LeaseOutcome outcome = store.lease(lease_request("orders", 10));
  INFO(outcome.error.to_string());
  REQUIRE(outcome.kind == Kind::granted);
  REQUIRE(outcome.begin == begin);
}

void require_refused(SqliteStore& store) {
  const LeaseOutcome outcome = store.lease(lease_request("orders", 10));
  REQUIRE(outcome.kind == Kind::refused);
  REQUIRE(outcome.restored);
  REQUIRE(outcome.error.code() == ErrorCode::SEQ_REGRESSED);
  REQUIRE(outcome.error.text().find("was restored from an older copy") != std::string::npos);
}

// Two leases after the backup, and the copy is put back.
void put_back_an_older_copy(const Host& host) {
  lease(*host.open(), 1);
  host.back_up();
  {
    auto store = host.open();
    lease(*store, 11);
    lease(*store, 21);
  }
  host.put_back();
}

TEST_CASE("SqliteCommitMark: a file that is put back grants nothing and takes nothing back",
          "[sqlite]") {
  const Host host;
  put_back_an_older_copy(host);
  auto store = host.open();
  require_refused(*store);
  const LeaseRequest request = lease_request("orders", 10);
  const Resolution resolution = store->resolve(request);
  CHECK(resolution.kind == Resolution::Kind::failed);
  CHECK(resolution.restored);
  const ReturnOutcome kept = store->return_range({.binding = request.binding,
                                                  .token = testing::random_token(),
                                                  .instance = request.instance,
                                                  .sequence = "orders",
                                                  .begin = 5,
                                                  .end = 11});
  CHECK(kept.kind == ReturnOutcome::Kind::failed);
  CHECK(kept.restored);
  for (const bool raise : {false, true}) {
    const auto beat = store->beat({request.instance, 0, raise});
    REQUIRE(beat.ok());
    CHECK(beat->older);
    CHECK(beat->why.code() == ErrorCode::SEQ_REGRESSED);
  }
  const auto claim = store->claim({request.instance, 0, testing::random_token()});
  CHECK(claim.status().code() == ErrorCode::SEQ_REGRESSED);
}

TEST_CASE("SqliteCommitMark: no number of changes makes an older copy the right file", "[sqlite]") {
  const Host host;
  put_back_an_older_copy(host);
  const LeaseRequest request = lease_request("orders", 10);
  for (int at = 0; at < 5; ++at) {
    auto store = host.open();
    store->abandoned(testing::random_token());
    REQUIRE(*store->advance({.binding = request.binding, .next_id = 40 + at, .withdraw = true}) ==
            40 + at);
    REQUIRE(store->forget({.instance = request.instance, .slots = {}}).ok());
    require_refused(*store);
  }
}

TEST_CASE("SqliteCommitMark: a claim after an operator resumed makes it the right file",
          "[sqlite]") {
  const Host host;
  put_back_an_older_copy(host);
  const LeaseRequest request = lease_request("orders", 10);
  {
    auto store = host.open();
    REQUIRE(*store->advance({.binding = request.binding, .next_id = 31, .withdraw = true}) == 31);
    const ClaimRequest lost{request.instance, 7, testing::random_token(), true};
    REQUIRE(*store->claim(lost) == ClaimOutcome::lost);
    require_refused(*store);
    const ClaimRequest claim{request.instance, 0, testing::random_token(), true};
    REQUIRE(*store->claim(claim) == ClaimOutcome::won);
    lease(*store, 31);
  }
  lease(*host.open(), 41);
  // The copy is older than that, too.
  host.put_back();
  require_refused(*host.open());
}

TEST_CASE("SqliteCommitMark: of two copies in use the first to change goes on", "[sqlite]") {
  const Host host;
  lease(*host.open(), 1);
  host.back_up();
  auto store = host.open();
  auto twin = host.open(host.copy());
  SECTION("the original") {
    lease(*store, 11);
    require_refused(*twin);
    lease(*store, 21);
  }
  SECTION("the copy") {
    lease(*twin, 11);
    require_refused(*store);
    lease(*twin, 21);
  }
}

TEST_CASE("SqliteCommitMark: a copy is not compared while another one is being changed",
          "[sqlite]") {
  const Host host;
  const std::string mark = host.mark();
  auto store = host.open(host.fixture.file(), 50);
  auto held = host.boot->map(fs::path(mark).filename(), SqliteCommitMark::size);
  REQUIRE(held.ok());
  const LeaseOutcome outcome = store->lease(lease_request("orders", 10));
  CHECK(outcome.kind == Kind::refused);
  CHECK_FALSE(outcome.restored);
  CHECK(outcome.error.code() == ErrorCode::UNAVAILABLE);
  held->reset();
  lease(*store, 1);
}

TEST_CASE("SqliteCommitMark: several handles on one file go on together", "[sqlite]") {
  Host host;
  auto first = host.open();
  auto second = host.open();
  auto without = host.fixture.open();
  for (std::int64_t at = 1; at < 200; at += 30) {
    lease(*first, at);
    lease(*second, at + 10);
    lease(*without, at + 20);
  }
  lease(*host.open(), 211);
}

TEST_CASE("SqliteCommitMark: a commit whose outcome is unknown is no false alarm", "[sqlite]") {
  const Host host;
  int fault = SQLITE_OK;
  testing::WalLayer layer([&] { return fault == SQLITE_IOERR_FSYNC ? SQLITE_OK : fault; },
                          [&] { return fault == SQLITE_IOERR_FSYNC ? fault : SQLITE_OK; });
  auto store = host.open();
  lease(*store, 1);
  fault = GENERATE(SQLITE_IOERR_FSYNC, SQLITE_IOERR_WRITE, SQLITE_FULL);
  const LeaseRequest request = lease_request("orders", 10);
  CHECK(store->lease(request).kind == (fault == SQLITE_FULL ? Kind::refused : Kind::unknown));
  fault = SQLITE_OK;
  CHECK(store->resolve(request).kind != Resolution::Kind::failed);
  CHECK(store->lease(lease_request("orders", 10)).kind == Kind::granted);
  store.reset();
  CHECK(host.open()->lease(lease_request("orders", 10)).kind == Kind::granted);
}

TEST_CASE("SqliteCommitMark: a kill between a commit and its mark is no alarm, and made good",
          "[sqlite]") {
  const Host host;
  const std::string mark = host.mark();
  lease(*host.open(), 1);
  const std::string former = mark + ".former";
  fs::copy_file(mark, former);
  lease(*host.open(), 11);
  fs::copy_file(former, mark, fs::copy_options::overwrite_existing);
  host.back_up();
  // It is read, and then the mark is as high as the file.
  REQUIRE(host.open()->beat({lease_request("orders", 1).instance, 0, false}).ok());
  lease(*host.open(), 21);
  host.put_back();
  require_refused(*host.open());
}

TEST_CASE("SqliteCommitMark: a commit mark that is gone or garbage says nothing and is made again",
          "[sqlite]") {
  const Host host;
  const std::string mark = host.mark();
  put_back_an_older_copy(host);
  const std::string content = GENERATE("gone", "", "x", "garbage!", "much longer than a mark is");
  if (content == "gone") {
    fs::remove(mark);
  } else {
    std::ofstream(mark, std::ios::trunc) << content;
  }
  auto store = host.open();
  lease(*store, 11);
  struct stat facts {};
  REQUIRE(stat(mark.c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0600);
  store.reset();
  host.put_back();
  require_refused(*host.open());
}

TEST_CASE("SqliteCommitMark: a store that runs remembers what was removed from the memory",
          "[sqlite]") {
  const Host host;
  const std::string mark = host.mark();
  lease(*host.open(), 1);
  host.back_up();
  auto twin = host.open(host.copy());
  lease(*host.open(), 11);
  require_refused(*twin);
  fs::remove(mark);
  require_refused(*twin);
}

TEST_CASE("SqliteCommitMark: after a reboot nothing is compared, nor without memory of the boot",
          "[sqlite]") {
  Host host;
  put_back_an_older_copy(host);
  if (GENERATE(false, true)) {
    host.boot = host.open_boot("next");
  } else {
    host.boot.reset();
  }
  lease(*host.open(), 11);
}

TEST_CASE("SqliteCommitMark: an older copy that was met stays one after a reboot", "[sqlite]") {
  Host host;
  put_back_an_older_copy(host);
  require_refused(*host.open());
  host.boot = host.open_boot("next");
  const LeaseRequest request = lease_request("orders", 10);
  auto store = host.open();
  require_refused(*store);
  REQUIRE(*store->advance({.binding = request.binding, .next_id = 31, .withdraw = true}) == 31);
  require_refused(*store);
  const ClaimRequest claim{request.instance, 0, testing::random_token(), true};
  REQUIRE(*store->claim(claim) == ClaimOutcome::won);
  lease(*store, 31);
  lease(*host.open(), 41);
}

TEST_CASE("SqliteCommitMark: a number of changes at the end of all numbers is no alarm",
          "[sqlite]") {
  Host host;
  lease(*host.open(), 1);
  host.fixture.run("UPDATE identity SET commits = 9223372036854775807");
  auto store = host.open();
  lease(*store, 11);
  lease(*store, 21);
}

}  // namespace
}  // namespace seqd
