// What is particular to registers in an SQLite file: when their tables are made, a disk that fails,
// and a file that was put back from an older copy.
#include "daemon/store/sqlite/sqlite_register.h"

#include <sqlite3.h>

#include <filesystem>
#include <string>

#include "daemon/os/files/posix_files.h"
#include "daemon/store/sqlite/sqlite_store.h"
#include "tests/adapters/register_contract.h"
#include "tests/adapters/sqlite/wal_layer.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;
using Ended = RegisterOutcome::Kind;

int tables_of(const std::string& file) {
  sqlite3* handle = nullptr;
  REQUIRE(sqlite3_open_v2(file.c_str(), &handle, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK);
  sqlite3_stmt* query = nullptr;
  REQUIRE(sqlite3_prepare_v2(handle,
                             "SELECT count(*) FROM sqlite_master WHERE name LIKE 'register%'", -1,
                             &query, nullptr) == SQLITE_OK);
  REQUIRE(sqlite3_step(query) == SQLITE_ROW);
  const int count = sqlite3_column_int(query, 0);
  sqlite3_finalize(query);
  sqlite3_close(handle);
  return count;
}

// The versions that know no registers open a file without one.
TEST_CASE("SqliteRegister: its tables are made with the first number, once", "[sqlite][register]") {
  SqliteFixture fixture;
  auto one = fixture.open();
  auto two = fixture.open();
  TestRegister invoices(*one);
  TestRegister orders(*two, "", "orders");
  REQUIRE(invoices.read({"a"}).highest == 0);
  require_ended(invoices.write({invoices.confirm(1, "a")}), Ended::changed, 0);
  REQUIRE(tables_of(fixture.file()) == 0);
  require_ended(invoices.write({invoices.add(1, "a")}), Ended::all, 1);
  const int made = tables_of(fixture.file());
  REQUIRE(made > 0);
  require_ended(orders.write({orders.add(1, "a")}), Ended::all, 1);
  REQUIRE(tables_of(fixture.file()) == made);
}

TEST_CASE("SqliteRegister: a commit that fails at the disk is unknown, and asking again tells",
          "[sqlite][register]") {
  int fault = SQLITE_OK;
  const WalLayer layer{[&] { return fault == SQLITE_IOERR_FSYNC ? SQLITE_OK : fault; },
                       [&] { return fault == SQLITE_IOERR_FSYNC ? fault : SQLITE_OK; }};
  SqliteFixture fixture;
  auto store = fixture.open();
  TestRegister invoices(*store);
  require_ended(invoices.write({invoices.add(1, "a")}), Ended::all, 1);
  fault = GENERATE(SQLITE_IOERR_FSYNC, SQLITE_IOERR_WRITE, SQLITE_FULL);
  const RegisterOutcome outcome = invoices.write({invoices.add(2, "b")});
  REQUIRE(outcome.kind == (fault == SQLITE_FULL ? Ended::failed : Ended::unknown));
  REQUIRE((outcome.done == 0 && outcome.error.code() == ErrorCode::UNAVAILABLE));
  fault = SQLITE_OK;
  const std::int64_t assigned = invoices.assign("b");
  REQUIRE(assigned == 2);
  store.reset();
  store = fixture.open();
  TestRegister later(*store);
  REQUIRE(later.assign("b") == 2);
  REQUIRE(later.keys() == std::vector<std::string>{"a", "b"});
}

TEST_CASE("SqliteRegister: a file that was put back is noticed without a heartbeat",
          "[sqlite][register]") {
  SqliteFixture fixture;
  auto boot = open_directory(fixture.file() + "-boot");
  REQUIRE(boot.ok());
  const auto open = [&] {
    return std::move(*SqliteStore::open({.path = fixture.file(), .boot_memory = boot->get()}));
  };
  {
    auto store = open();
    TestRegister invoices(*store);
    REQUIRE(invoices.assign("a") == 1);
  }
  const std::string copy = fixture.file() + "-copy";
  std::filesystem::copy_file(fixture.file(), copy);
  {
    auto store = open();
    TestRegister invoices(*store);
    REQUIRE(invoices.assign("b") == 2);
  }
  std::filesystem::copy_file(copy, fixture.file(),
                             std::filesystem::copy_options::overwrite_existing);
  auto store = open();
  TestRegister invoices(*store);
  for (const char* key : {"a", "b"})
    REQUIRE(store->read_register({invoices.place, {key}, {}, 0}).status().code() ==
            ErrorCode::SEQ_REGRESSED);
  // What it has lost can be made void, and it stays an older copy.
  invoices.place.takes_older = true;
  require_ended(invoices.write({invoices.add(2, "")}), RegisterOutcome::Kind::all, 1);
  invoices.place.takes_older = false;
  REQUIRE(store->read_register({invoices.place, {"a"}, {}, 0}).status().code() ==
          ErrorCode::SEQ_REGRESSED);
}

}  // namespace
}  // namespace seqd
