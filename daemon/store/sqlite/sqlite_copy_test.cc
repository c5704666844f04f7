// The copy that is made of a file before its schema is changed.
#include <sqlite3.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/store/sqlite/sqlite_store.h"
#include "tests/adapters/store_fixtures.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using testing::lease_request;
using testing::SqliteFixture;

constexpr const char* kOlder = "DROP TABLE floor; PRAGMA user_version = 3";

// The first number of an answer.
std::int64_t ask(const std::string& file, const char* sql) {
  sqlite3* handle = nullptr;
  REQUIRE(sqlite3_open_v2(file.c_str(), &handle, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK);
  sqlite3_stmt* statement = nullptr;
  REQUIRE(sqlite3_prepare_v2(handle, sql, -1, &statement, nullptr) == SQLITE_OK);
  REQUIRE(sqlite3_step(statement) == SQLITE_ROW);
  const std::int64_t found = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  sqlite3_close(handle);
  return found;
}

bool is_there(const std::string& path) {
  return std::filesystem::symlink_status(path).type() != std::filesystem::file_type::not_found;
}

TEST_CASE("SqliteStore: a file of an earlier schema is copied whole before it is changed",
          "[sqlite]") {
  SqliteFixture fixture;
  const std::string copy = fixture.file() + ".schema-3";
  REQUIRE(fixture.open()->lease(lease_request("orders", 10)).end == 11);
  REQUIRE_FALSE(is_there(copy));
  fixture.run(kOlder);
  auto store = fixture.open();
  REQUIRE(store->lease(lease_request("orders", 10)).end == 21);
  CHECK(ask(copy, "PRAGMA user_version") == 3);
  CHECK(ask(copy, "SELECT seq FROM sequence WHERE name = 'orders'") == 10);
  CHECK(ask(copy, "SELECT count(*) FROM sqlite_master WHERE name = 'floor'") == 0);
  CHECK(ask(fixture.file(), "SELECT count(*) FROM sqlite_master WHERE name = 'floor'") == 1);
  struct stat facts {};
  REQUIRE(::stat(copy.c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0600);
  for (const char* end : {".new", ".new-journal", "-wal", "-shm"})
    CHECK_FALSE(is_there(copy + end));

  const std::optional<SchemaConversion> told = store->take_conversion();
  REQUIRE(told.has_value());
  CHECK(told->from == 3);
  CHECK(told->to == ask(fixture.file(), "PRAGMA user_version"));
  CHECK(told->copy == copy);
  CHECK_FALSE(store->take_conversion().has_value());
  CHECK_FALSE(fixture.open()->take_conversion().has_value());
}

TEST_CASE("SqliteStore: a later copy takes the place of an earlier one", "[sqlite]") {
  SqliteFixture fixture;
  const std::string copy = fixture.file() + ".schema-3";
  for (std::int64_t last : {10, 20}) {
    REQUIRE(fixture.open()->lease(lease_request("orders", 10)).end == last + 1);
    fixture.run(kOlder);
    fixture.open();
    CHECK(ask(copy, "SELECT seq FROM sequence WHERE name = 'orders'") == last);
  }
}

// What runs just before the next BEGIN IMMEDIATE of any connection; once.
std::function<void()> before_begin;

int on_statement(unsigned, void*, void*, void* sql) {
  if (before_begin && std::string_view(static_cast<const char*>(sql)) == "BEGIN IMMEDIATE")
    std::exchange(before_begin, nullptr)();
  return 0;
}

int trace(sqlite3* handle, char**, const sqlite3_api_routines*) {
  return sqlite3_trace_v2(handle, SQLITE_TRACE_STMT, on_statement, nullptr);
}

TEST_CASE("SqliteStore: a newer seqd that converts the file first is not undone", "[sqlite]") {
  SqliteFixture fixture;
  fixture.open();
  fixture.run(kOlder);
  const auto traced = reinterpret_cast<void (*)()>(trace);
  REQUIRE(sqlite3_auto_extension(traced) == SQLITE_OK);
  bool converted = false;
  before_begin = [&] {
    fixture.run("PRAGMA user_version = 9");
    converted = true;
  };
  const auto refused = SqliteStore::open({.path = fixture.file()});
  sqlite3_cancel_auto_extension(traced);
  REQUIRE(converted);
  REQUIRE(refused.status().code() == ErrorCode::STORE_REFUSED);
  CHECK(refused.status().text().find("newer seqd") != std::string::npos);
  CHECK(ask(fixture.file(), "PRAGMA user_version") == 9);
  CHECK_FALSE(is_there(fixture.file() + ".schema-9"));
}

TEST_CASE("SqliteStore: what cannot be copied is not changed", "[sqlite]") {
  SqliteFixture fixture;
  const std::string copy = fixture.file() + ".schema-3";
  fixture.open();
  fixture.run(kOlder);
  std::filesystem::create_directories(copy + "/in the way");
  const auto refused = SqliteStore::open({.path = fixture.file()});
  REQUIRE(refused.status().code() == ErrorCode::STORE_REFUSED);
  CHECK(refused.status().text().find("the copy " + copy) != std::string::npos);
  CHECK(refused.status().text().find("Nothing was changed") != std::string::npos);
  CHECK(ask(fixture.file(), "PRAGMA user_version") == 3);
  CHECK_FALSE(is_there(copy + ".new"));
  std::filesystem::remove_all(copy);
  CHECK(SqliteStore::open({.path = fixture.file()}).ok());
  CHECK(ask(copy, "PRAGMA user_version") == 3);
}

}  // namespace
}  // namespace seqd
