// What is particular to the SQLite file: who made it, what a hand did to it, and a disk that fails.
#include "daemon/store/sqlite/sqlite_store.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/adapters/sqlite/wal_layer.h"
#include "tests/adapters/store_fixtures.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using testing::lease_request;
using testing::SqliteFixture;
using Kind = LeaseOutcome::Kind;

// A disk on which writes or flushes of the write-ahead log fail with `fault`.
struct FailingDisk {
  int fault = SQLITE_OK;
  testing::WalLayer layer{[this] { return fault == SQLITE_IOERR_FSYNC ? SQLITE_OK : fault; },
                          [this] { return fault == SQLITE_IOERR_FSYNC ? fault : SQLITE_OK; }};
};

Status open_error(const std::string& path, int busy_timeout_ms = 50) {
  return SqliteStore::open({.path = path, .busy_timeout_ms = busy_timeout_ms}).status();
}

TEST_CASE("SqliteStore: counters and epochs are there after the file was closed and opened",
          "[sqlite]") {
  SqliteFixture fixture;
  const ClaimRequest claim = {
      .instance = testing::random_token(), .epoch = 0, .nonce = testing::random_token()};
  const LeaseRequest request = lease_request("orders", 10);
  {
    auto store = fixture.open();
    REQUIRE(store->lease(request).end == 11);
    REQUIRE(*store->claim(claim) == ClaimOutcome::won);
  }
  auto store = fixture.open();
  REQUIRE(store->resolve(request).kind == Resolution::Kind::granted);
  REQUIRE(store->lease(lease_request("orders", 10)).begin == 11);
  REQUIRE(
      *store->claim({.instance = claim.instance, .epoch = 0, .nonce = testing::random_token()}) ==
      ClaimOutcome::lost);
}

TEST_CASE("SqliteStore: a number edited by hand into something else is refused by its type",
          "[sqlite]") {
  SqliteFixture fixture;
  auto store = fixture.open();
  for (const auto& [value, named] :
       std::vector<std::pair<std::string, std::string>>{{"'12'", "text"},
                                                        {"12.0", "floating"},
                                                        {"x'0c'", "blob"},
                                                        {"9223372036854775808", "floating"},
                                                        {"-3", "-3"}}) {
    INFO(value);
    fixture.run("INSERT OR REPLACE INTO sequence(name, seq, meaning) VALUES('orders', " + value +
                ", 'last')");
    const LeaseOutcome outcome = store->lease(lease_request("orders", 10));
    REQUIRE(outcome.kind == Kind::refused);
    REQUIRE(outcome.error.code() == ErrorCode::SEQ_TYPE);
    REQUIRE(outcome.error.text().find(named) != std::string::npos);
    REQUIRE(outcome.error.text().find("orders") != std::string::npos);
  }
}

TEST_CASE("SqliteStore: another program's file is refused and left as it is", "[sqlite]") {
  SqliteFixture fixture;
  const std::string how =
      GENERATE("CREATE TABLE t(a)", "PRAGMA application_id = 77", "PRAGMA user_version = 3");
  fixture.run(how);
  std::ifstream before_file(fixture.file(), std::ios::binary);
  const std::string before{std::istreambuf_iterator<char>(before_file), {}};
  const Status error = open_error(fixture.file());
  REQUIRE(error.code() == ErrorCode::STORE_REFUSED);
  REQUIRE(error.text().find("another program") != std::string::npos);
  std::ifstream after_file(fixture.file(), std::ios::binary);
  REQUIRE(std::string{std::istreambuf_iterator<char>(after_file), {}} == before);
}

TEST_CASE("SqliteStore: another schema is refused", "[sqlite]") {
  SqliteFixture fixture;
  fixture.open();
  for (const auto& [version, whose] : std::map<int, std::string>{{7, "an older seqd (schema 7,"},
                                                                 {9, "a newer seqd (schema 9,"}}) {
    fixture.run("PRAGMA user_version = " + std::to_string(version));
    const Status error = open_error(fixture.file());
    REQUIRE(error.code() == ErrorCode::STORE_REFUSED);
    REQUIRE(error.text().find(whose) != std::string::npos);
  }
}

TEST_CASE("SqliteStore: a file that is no database is refused", "[sqlite]") {
  SqliteFixture fixture;
  std::ofstream(fixture.file()) << std::string(8192, 'x');
  const Status error = open_error(fixture.file());
  REQUIRE(error.code() == ErrorCode::STORE_REFUSED);
  REQUIRE(error.text().find("not an SQLite file") != std::string::npos);
}

TEST_CASE("SqliteStore: a damaged page is found when the file is opened", "[sqlite]") {
  SqliteFixture fixture;
  {
    auto store = fixture.open();
    for (int i = 0; i < 20; ++i)
      REQUIRE(store->lease(lease_request(fmt::format("sequence-{}", i), 10)).kind == Kind::granted);
  }
  std::fstream file(fixture.file(), std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(0, std::ios::end);
  const auto size = static_cast<std::int64_t>(file.tellp());
  file.seekp(4096);
  const std::vector<char> junk(static_cast<std::size_t>(size - 4096), '\x5a');
  file.write(junk.data(), static_cast<std::streamsize>(junk.size()));
  file.close();
  const Status error = open_error(fixture.file());
  REQUIRE(error.code() == ErrorCode::STORE_REFUSED);
  INFO(error.text());
  REQUIRE(error.text().find("damaged") != std::string::npos);
  REQUIRE(error.text().find("backup") != std::string::npos);
}

TEST_CASE("SqliteStore: paths that cannot be opened say what is needed", "[sqlite]") {
  SqliteFixture fixture;
  REQUIRE(open_error("").code() == ErrorCode::CONFIG);
  REQUIRE(open_error(":memory:").code() == ErrorCode::CONFIG);
  const Status error = open_error(fixture.file() + "/no/such/directory");
  REQUIRE(error.code() == ErrorCode::STORE_REFUSED);
  REQUIRE(error.text().find("directory must exist") != std::string::npos);
}

TEST_CASE("SqliteStore: a lock held by somebody else is waited for in bounds, then refused",
          "[sqlite]") {
  SqliteFixture fixture;
  auto store = SqliteStore::open({.path = fixture.file(), .busy_timeout_ms = 50});
  REQUIRE(store.ok());
  REQUIRE((*store)->lease(lease_request("orders", 10)).kind == Kind::granted);
  sqlite3* other = nullptr;
  REQUIRE(sqlite3_open(fixture.file().c_str(), &other) == SQLITE_OK);
  REQUIRE(sqlite3_exec(other, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr) == SQLITE_OK);
  const LeaseRequest request = lease_request("orders", 10);
  const LeaseOutcome outcome = (*store)->lease(request);
  REQUIRE(outcome.kind == Kind::refused);
  REQUIRE(outcome.error.code() == ErrorCode::UNAVAILABLE);
  REQUIRE(outcome.error.text().find("lock") != std::string::npos);
  REQUIRE((*store)->resolve(request).kind == Resolution::Kind::failed);
  const auto forgotten = (*store)->forget({.instance = request.instance, .slots = {}});
  REQUIRE(forgotten.status().code() == ErrorCode::UNAVAILABLE);
  sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr);
  sqlite3_close(other);
  REQUIRE((*store)->lease(request).begin == 11);
}

TEST_CASE("SqliteStore: a full disk refuses, and the same counter goes on when there is room",
          "[sqlite]") {
  FailingDisk disk;
  SqliteFixture fixture;
  auto store = fixture.open();
  REQUIRE(store->lease(lease_request("orders", 10)).kind == Kind::granted);
  disk.fault = SQLITE_FULL;
  const LeaseOutcome outcome = store->lease(lease_request("orders", 10));
  REQUIRE(outcome.kind == Kind::refused);
  REQUIRE(outcome.error.text().find("disk is full") != std::string::npos);
  disk.fault = SQLITE_OK;
  REQUIRE(store->lease(lease_request("orders", 10)).begin == 11);
}

TEST_CASE("SqliteStore: a commit that fails at the disk is unknown and resolves exactly",
          "[sqlite]") {
  FailingDisk disk;
  SqliteFixture fixture;
  auto store = fixture.open();
  REQUIRE(store->lease(lease_request("orders", 10)).kind == Kind::granted);
  disk.fault = GENERATE(SQLITE_IOERR_FSYNC, SQLITE_IOERR_WRITE);
  const LeaseRequest request = lease_request("orders", 10);
  const LeaseOutcome outcome = store->lease(request);
  INFO(outcome.error.to_string());
  REQUIRE(outcome.kind == Kind::unknown);
  REQUIRE(store->resolve(request).kind == Resolution::Kind::failed);
  disk.fault = SQLITE_OK;
  const Resolution resolution = store->resolve(request);
  const LeaseOutcome next = store->lease(lease_request("orders", 10));
  REQUIRE(next.kind == Kind::granted);
  if (resolution.kind == Resolution::Kind::granted) {
    REQUIRE(resolution.begin == 11);
    REQUIRE(next.begin == 21);
  } else {
    REQUIRE(resolution.kind == Resolution::Kind::absent);
    REQUIRE(next.begin == 11);
    REQUIRE(store->lease(request).kind == Kind::refused);
  }
  // What was said holds after the file is closed and its log read again.
  store.reset();
  store = fixture.open();
  REQUIRE(store->resolve(request).kind == resolution.kind);
  REQUIRE(store->lease(lease_request("orders", 10)).begin == next.end);
}

TEST_CASE("SqliteStore: tokens are bounded, and the newest of every sequence stay", "[sqlite]") {
  SqliteFixture fixture;
  auto store = fixture.open();
  const LeaseRequest quiet = lease_request("quiet", 1);
  REQUIRE(store->lease(quiet).kind == Kind::granted);
  std::vector<LeaseRequest> busy;
  for (int i = 0; i < 200; ++i) {
    busy.push_back(lease_request("busy", 1));
    REQUIRE(store->lease(busy.back()).kind == Kind::granted);
  }
  REQUIRE(store->resolve(quiet).kind == Resolution::Kind::granted);
  for (std::size_t i = busy.size() - SqliteStore::kTokensKept; i < busy.size(); ++i) {
    REQUIRE(store->resolve(busy[i]).kind == Resolution::Kind::granted);
  }
  REQUIRE(store->resolve(busy[0]).kind == Resolution::Kind::absent);
}

TEST_CASE("SqliteStore: a token of another sequence is not taken for this one's", "[sqlite]") {
  SqliteFixture fixture;
  auto store = fixture.open();
  LeaseRequest request = lease_request("orders", 10);
  REQUIRE(store->lease(request).kind == Kind::granted);
  request.binding.key = "invoices";
  REQUIRE(store->lease(request).error.code() == ErrorCode::STORE_REFUSED);
  REQUIRE(store->resolve(request).kind == Resolution::Kind::failed);
}

}  // namespace
}  // namespace seqd
