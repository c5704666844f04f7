// What a start that forfeits leaves of the former instance in the SQLite file: the file must not
// grow with every one of them.
#include <fmt/format.h>
#include <sqlite3.h>

#include <memory>
#include <string>

#include "daemon/store/sqlite/sqlite_store.h"
#include "tests/adapters/store_contract.h"

namespace seqd {
namespace {

using namespace testing;

// One instance of the daemon on the file.
struct Instance {
  explicit Instance(std::uint8_t number) { token.fill(number); }
  LeaseRequest request(const std::string& key) const {
    LeaseRequest out = lease_request(key, 10);
    out.instance = token;
    return out;
  }
  LeaseRequest lease(BlockingStore& store, const std::string& key, int times) const {
    LeaseRequest last;
    for (int at = 0; at < times; ++at) {
      last = request(key);
      const LeaseOutcome outcome = store.lease(last);
      INFO(outcome.error.to_string());
      REQUIRE(outcome.kind == LeaseOutcome::Kind::granted);
    }
    return last;
  }
  Token token;
};

std::int64_t number(const SqliteFixture& fixture, const std::string& sql) {
  sqlite3* handle = nullptr;
  REQUIRE(sqlite3_open(fixture.file().c_str(), &handle) == SQLITE_OK);
  sqlite3_stmt* statement = nullptr;
  REQUIRE(sqlite3_prepare_v2(handle, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK);
  REQUIRE(sqlite3_step(statement) == SQLITE_ROW);
  const std::int64_t value = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  sqlite3_close(handle);
  return value;
}

std::int64_t records_of(const SqliteFixture& fixture, const Instance& instance) {
  return number(fixture, fmt::format("SELECT count(*) FROM lease WHERE instance = x'{}'",
                                     to_hex(instance.token)));
}

TEST_CASE("SqliteStore: the file does not grow with each start that forfeits", "[store]") {
  SqliteFixture fixture;
  auto store = fixture.open();
  for (std::uint8_t start = 1; start <= 20; ++start) {
    const Instance instance(start);
    REQUIRE(store->claim({instance.token, 0, random_token()}).value() == ClaimOutcome::won);
    REQUIRE(store->beat({instance.token, 0, true}).ok());
    instance.lease(*store, "orders", 70);
    instance.lease(*store, "tickets", 3);
    store->left_behind(instance.token);
  }
  // The newest of each sequence.
  CHECK(number(fixture, "SELECT count(*) FROM lease") == 2);
  CHECK(number(fixture, "SELECT count(*) FROM total") == 2);
  // An older copy of the file would be noticed by them.
  CHECK(number(fixture, "SELECT count(*) FROM heartbeat") == 20);
  const auto reading =
      store->read({.binding = lease_request("orders", 1).binding, .instance = Instance(21).token});
  REQUIRE(reading.ok());
  CHECK(reading->next_id == 14'001);
  CHECK(reading->totals->all.ids == 14'000);
  CHECK(reading->totals->all.leases == 1'400);
}

TEST_CASE("SqliteStore: what a daemon that goes on may ask for stays", "[store]") {
  SqliteFixture fixture;
  auto store = fixture.open();
  const Instance former(1);
  const Instance other(2);
  const LeaseRequest last = former.lease(*store, "orders", 5);
  const LeaseRequest others = other.lease(*store, "orders", 5);
  store->left_behind(former.token);
  CHECK(records_of(fixture, former) == 1);
  CHECK(records_of(fixture, other) == 1);
  CHECK(store->resolve(last).begin == 41);
  CHECK(store->resolve(others).begin == 91);
  // The next start that forfeits.
  const Instance later(3);
  later.lease(*store, "orders", 5);
  store->left_behind(later.token);
  CHECK(records_of(fixture, former) == 0);
  CHECK(records_of(fixture, other) == 1);
  CHECK(records_of(fixture, later) == 1);
  CHECK(store->resolve(others).begin == 91);
}

}  // namespace
}  // namespace seqd
