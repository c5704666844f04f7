// The SQLite file as a thing that can be moved, replaced and told from others.
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>

#include "daemon/store/sqlite/sqlite_store.h"
#include "tests/adapters/sqlite/wal_layer.h"
#include "tests/adapters/store_contract.h"

namespace seqd {
namespace {

using namespace testing;
using Kind = LeaseOutcome::Kind;

void copy_over(const SqliteFixture& fixture) {
  const std::string copy = fixture.file() + ".copy";
  std::filesystem::copy_file(fixture.file(), copy);
  std::filesystem::rename(copy, fixture.file());
}

TEST_CASE("SqliteStore: a file that is replaced while it is open leases nothing any more",
          "[store]") {
  SqliteFixture fixture;
  auto store = fixture.open();
  require_granted(store->lease(lease_request("orders", 10)), 1, 11);
  const bool removed = GENERATE(false, true);
  if (removed) {
    std::filesystem::remove(fixture.file());
  } else {
    copy_over(fixture);
  }
  const auto lease = lease_request("orders", 10);
  for (int times = 0; times < 2; ++times) {
    const LeaseOutcome outcome = store->lease(lease);
    require_refused(outcome, ErrorCode::STORE_REFUSED);
    REQUIRE(outcome.error.text().find("restart seqd") != std::string::npos);
  }
  REQUIRE(store->resolve(lease).kind == Resolution::Kind::failed);
  REQUIRE_FALSE(store->read({lease.binding, lease.instance}).ok());
  REQUIRE_FALSE(store->claim({lease.instance, 0, random_token()}).ok());
  REQUIRE_FALSE(store->advance({lease.binding, 100, false}).ok());
  const auto returned = return_of(lease, 5, 11, Reuse::tail, LeaseTrace::plain);
  REQUIRE(store->return_range(returned).kind == ReturnOutcome::Kind::failed);
  // Whoever opens the file that is there now goes on, until that one is replaced, too.
  auto next = fixture.open();
  const LeaseOutcome outcome = next->lease(lease_request("orders", 10));
  REQUIRE(outcome.kind == Kind::granted);
}

// The umask is the process's, and is wider for a moment while the socket is made.
TEST_CASE("SqliteStore: its files are the daemon's alone, whatever the umask is", "[store]") {
  SqliteFixture fixture;
  const std::string path = fixture.file() + ".private";
  const mode_t before = umask(0);
  const auto opened = SqliteStore::open({.path = path});
  umask(before);
  REQUIRE(opened.ok());
  for (const char* const end : {"", "-wal", "-shm"}) {
    INFO(path << end);
    REQUIRE((std::filesystem::status(path + end).permissions() & std::filesystem::perms::all) ==
            (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
  }
}

TEST_CASE("SqliteStore: the file may be a symbolic link", "[store]") {
  SqliteFixture fixture;
  const std::string link = fixture.file() + ".link";
  const std::string other = fixture.file() + ".other";
  std::filesystem::create_symlink(fixture.file(), link);
  const auto opened = SqliteStore::open({.path = link});
  INFO(opened.status().to_string());
  REQUIRE(opened.ok());
  SqliteStore& store = **opened;
  require_granted(store.lease(lease_request("orders", 10)), 1, 11);
  require_granted(fixture.open()->lease(lease_request("orders", 10)), 11, 21);
  std::filesystem::copy_file(fixture.file(), other);
  std::filesystem::remove(link);
  std::filesystem::create_symlink(other, link);
  require_refused(store.lease(lease_request("orders", 10)), ErrorCode::STORE_REFUSED);
  std::filesystem::remove(link);
  std::filesystem::remove(other);
}

// What SQLite itself does not notice.
TEST_CASE("SqliteStore: a path that leads elsewhere leases nothing any more", "[store]") {
  SqliteFixture fixture;
  const std::string folder = fixture.file() + ".folders";
  std::filesystem::create_directories(folder + "/former");
  std::filesystem::create_directories(folder + "/newer");
  std::filesystem::create_directory_symlink("former", folder + "/current");
  const auto opened = SqliteStore::open({.path = folder + "/current/ids.db"});
  REQUIRE(opened.ok());
  SqliteStore& store = **opened;
  require_granted(store.lease(lease_request("orders", 10)), 1, 11);
  std::string moved = folder + "/current/ids.db";
  SECTION("the link was changed") {
    std::filesystem::remove(folder + "/current");
    std::filesystem::create_directory_symlink("newer", folder + "/current");
    std::filesystem::copy(folder + "/former", folder + "/newer");
  }
  SECTION("the write-ahead log was removed") {
    moved = folder + "/former/ids.db-wal";
    std::filesystem::remove(moved);
  }
  SECTION("the write-ahead log is another one") {
    moved = folder + "/former/ids.db-wal";
    std::filesystem::copy_file(moved, folder + "/copy");
    std::filesystem::rename(folder + "/copy", moved);
  }
  SECTION("the shared memory was removed") {
    moved = folder + "/former/ids.db-shm";
    std::filesystem::remove(moved);
  }
  const LeaseOutcome outcome = store.lease(lease_request("orders", 10));
  require_refused(outcome, ErrorCode::STORE_REFUSED);
  CHECK(outcome.error.text().find("SQLite file " + moved + " was replaced") != std::string::npos);
  std::filesystem::remove_all(folder);
}

// Another file takes the place of the store's during the next commit once it is armed.
struct ReplacedDuringACommit {
  SqliteFixture fixture;
  bool armed = false;
  const testing::WalLayer disk{[] { return SQLITE_OK; },
                               [this] {
                                 if (std::exchange(armed, false)) copy_over(fixture);
                                 return SQLITE_OK;
                               }};
};

TEST_CASE("SqliteStore: a lease whose file is replaced during its commit is not used", "[store]") {
  ReplacedDuringACommit file;
  auto store = file.fixture.open();
  require_granted(store->lease(lease_request("orders", 10)), 1, 11);
  file.armed = true;
  const LeaseOutcome outcome = store->lease(lease_request("orders", 10));
  INFO(outcome.error.to_string());
  REQUIRE(outcome.kind == Kind::unknown);
  REQUIRE(outcome.error.code() == ErrorCode::STORE_REFUSED);
}

TEST_CASE("SqliteStore: nothing that is looked up counts if the file is replaced meanwhile",
          "[store]") {
  ReplacedDuringACommit file;
  auto store = file.fixture.open();
  const LeaseRequest known = lease_request("orders", 10);
  require_granted(store->lease(known), 1, 11);
  // The second one is not there, which has to be written down.
  const std::vector<LeaseRequest> both{known, lease_request("orders", 10)};
  file.armed = true;
  const std::vector<Resolution> found = store->resolve_all(both);
  REQUIRE_FALSE(file.armed);
  for (const Resolution& one : found) REQUIRE(one.kind == Resolution::Kind::failed);
}

TEST_CASE("SqliteStore: a file that was put back is used again", "[store]") {
  SqliteFixture fixture;
  auto store = fixture.open();
  require_granted(store->lease(lease_request("orders", 10)), 1, 11);
  std::filesystem::rename(fixture.file(), fixture.file() + ".away");
  require_refused(store->lease(lease_request("orders", 10)), ErrorCode::STORE_REFUSED);
  std::filesystem::rename(fixture.file() + ".away", fixture.file());
  require_granted(store->lease(lease_request("orders", 10)), 11, 21);
}

TEST_CASE("SqliteStore: a file that cannot be opened now is opened by a later request", "[store]") {
  SqliteFixture fixture;
  const StorePlace before = fixture.open()->place();
  sqlite3* other = nullptr;
  REQUIRE(sqlite3_open(fixture.file().c_str(), &other) == SQLITE_OK);
  REQUIRE(sqlite3_exec(other, "PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; COMMIT", nullptr,
                       nullptr, nullptr) == SQLITE_OK);
  const SqliteStoreOptions options{.path = fixture.file(), .busy_timeout_ms = 50};
  REQUIRE(SqliteStore::open(options).status().code() == ErrorCode::UNAVAILABLE);
  const auto opened = SqliteStore::open_when_available(options);
  REQUIRE(opened.ok());
  SqliteStore& store = **opened;
  CHECK(store.place().text == before.text);
  CHECK_FALSE(store.place().identity);
  require_refused(store.lease(lease_request("orders", 10)), ErrorCode::UNAVAILABLE);
  CHECK(store.identify({}).status().code() == ErrorCode::UNAVAILABLE);
  REQUIRE(sqlite3_close(other) == SQLITE_OK);
  require_granted(store.lease(lease_request("orders", 10)), 1, 11);
  CHECK(store.identify({}).value() == before.identity);
  CHECK(store.place().identity == before.identity);
}

// While it lives, no file can be opened.
class NoDescriptor {
 public:
  NoDescriptor() {
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before_) == 0);
    const int lowest_free = dup(0);
    REQUIRE(lowest_free >= 0);
    close(lowest_free);
    rlimit none = before_;
    none.rlim_cur = static_cast<rlim_t>(lowest_free);
    REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  }
  ~NoDescriptor() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptor(const NoDescriptor&) = delete;
  NoDescriptor& operator=(const NoDescriptor&) = delete;

 private:
  rlimit before_{};
};

TEST_CASE("SqliteStore: a process that may open no more files is an outage", "[store]") {
  SqliteFixture fixture;
  if (GENERATE(false, true)) static_cast<void>(fixture.open());
  auto opened = [&] {
    const NoDescriptor none;
    return SqliteStore::open_when_available({.path = fixture.file()});
  }();
  INFO(opened.status().to_string());
  REQUIRE(opened.ok());
  SqliteStore& store = **opened;
  LeaseOutcome outcome;
  {
    const NoDescriptor none;
    outcome = store.lease(lease_request("orders", 10));
  }
  require_refused(outcome, ErrorCode::UNAVAILABLE);
  CHECK(outcome.error.text().find("reached its limit of open files") != std::string::npos);
  require_granted(store.lease(lease_request("orders", 10)), 1, 11);
  // A directory that is not there does not pass.
  const auto nowhere = SqliteStore::open_when_available({.path = fixture.file() + "/none"});
  CHECK(nowhere.status().code() == ErrorCode::STORE_REFUSED);
}

TEST_CASE("SqliteStore: what does not pass by itself is no outage", "[store]") {
  SqliteFixture fixture;
  static_cast<void>(fixture.open());
  fixture.run(GENERATE("PRAGMA user_version = 1000", "PRAGMA application_id = 7"));
  const auto opened = SqliteStore::open_when_available({.path = fixture.file()});
  REQUIRE(opened.status().code() == ErrorCode::STORE_REFUSED);
}

TEST_CASE("SqliteStore: a file whose identity was removed by hand is refused", "[store]") {
  SqliteFixture fixture;
  static_cast<void>(fixture.open());
  fixture.run(GENERATE("DELETE FROM identity", "UPDATE identity SET identity = x'01'"));
  SqliteStoreOptions options;
  options.path = fixture.file();
  const auto opened = SqliteStore::open(options);
  REQUIRE_FALSE(opened.ok());
  REQUIRE(opened.status().code() == ErrorCode::STORE_REFUSED);
  REQUIRE(opened.status().text().find("identity") != std::string::npos);
}

}  // namespace
}  // namespace seqd
