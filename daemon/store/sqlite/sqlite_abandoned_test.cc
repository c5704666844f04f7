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
    store->abandoned(instance.token);
  }
  // The newest of each start.
  CHECK(number(fixture, "SELECT count(*) FROM lease WHERE name = 'orders'") == 20 * 4);
  CHECK(number(fixture, "SELECT count(*) FROM lease WHERE name = 'tickets'") == 20 * 3);
  // An older copy of the file would be noticed by them.
  CHECK(number(fixture, "SELECT count(*) FROM heartbeat") == 20);
  const auto reading =
      store->read({.binding = lease_request("orders", 1).binding, .instance = Instance(21).token});
  REQUIRE(reading.ok());
  CHECK(reading->next_id == 14'001);
  CHECK(reading->totals->all.ids == 14'000);
  CHECK(reading->totals->all.leases == 1'400);
}

TEST_CASE("SqliteStore: of a key the records of 256 instances stay", "[store]") {
  SqliteFixture fixture;
  auto store = fixture.open();
  const Instance first(1);
  first.lease(*store, "orders", 3);
  const LeaseRequest last = first.lease(*store, "tickets", 1);
  // Instances that leased since.
  const auto others = [&](int count) {
    fixture.run(fmt::format(
        "CREATE TEMP TABLE other AS WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM "
        "n WHERE i < {}) SELECT randomblob(16) AS id FROM n;"
        "INSERT INTO lease(token, instance, name, state, first, after) SELECT randomblob(16), id, "
        "'orders', 'granted', 1, 11 FROM other;"
        "INSERT INTO total(name, instance, since, leases, ids) SELECT 'orders', id, 1, 1, 10 FROM "
        "other",
        count));
  };
  others(254);
  const Instance former(2);
  const LeaseRequest newest = former.lease(*store, "orders", 6);
  store->abandoned(former.token);
  CHECK(records_of(fixture, first) == 4);
  CHECK(records_of(fixture, former) == 4);
  others(500);
  store->abandoned(former.token);
  CHECK(number(fixture, "SELECT count(DISTINCT instance) FROM lease WHERE name = 'orders'") == 256);
  CHECK(number(fixture, "SELECT count(*) FROM lease WHERE name = 'orders'") == 256);
  CHECK(records_of(fixture, former) == 0);
  CHECK(store->resolve(last).kind == Resolution::Kind::granted);
  CHECK(store->resolve(newest).kind == Resolution::Kind::absent);
  // Theirs and those of nobody.
  CHECK(number(fixture, "SELECT count(*) FROM total WHERE name = 'orders'") == 257);
  const auto reading =
      store->read({.binding = lease_request("orders", 1).binding, .instance = first.token});
  REQUIRE(reading.ok());
  CHECK(reading->totals->ours.ids == 0);
  CHECK(reading->totals->all.ids == 9 * 10 + 754 * 10);
  CHECK(reading->totals->all.leases == 9 + 754);
}

TEST_CASE("SqliteStore: what another daemon may ask for stays", "[store]") {
  SqliteFixture fixture;
  auto store = fixture.open();
  const Instance former(1);
  const Instance other(2);
  const Instance third(3);
  // Two sequences of one daemon may use one counter: the first one's outcome may be open when the
  // second one leases.
  const LeaseRequest first = former.lease(*store, "orders", 1);
  former.lease(*store, "orders", 1);
  other.lease(*store, "orders", 1);
  store->abandoned(other.token);
  CHECK(store->resolve(first).begin == 1);
  CHECK(store->resolve(first).kind == Resolution::Kind::granted);
  // A copy of the state directory takes `former` for its own past; the original asks later.
  store->abandoned(former.token);
  const LeaseRequest last = former.lease(*store, "orders", 1);
  third.lease(*store, "orders", 1);
  store->abandoned(former.token);
  store->abandoned(third.token);
  CHECK(store->resolve(first).begin == 1);
  CHECK(store->resolve(last).begin == 31);
}

TEST_CASE("SqliteStore: an original that was copied returns a range from its own sums", "[store]") {
  SqliteFixture fixture;
  auto store = fixture.open();
  const Instance former(1);
  const Instance third(3);
  former.lease(*store, "orders", 2);
  const auto sums = [&] {
    const auto reading =
        store->read({.binding = lease_request("orders", 1).binding, .instance = former.token});
    REQUIRE(reading.ok());
    return std::pair(reading->totals->ours.ids, reading->totals->all.ids);
  };
  const auto returned = [&](std::int64_t begin, std::int64_t end) {
    ReturnRequest request;
    request.binding = lease_request("orders", 1).binding;
    request.token = random_token();
    request.instance = former.token;
    request.begin = begin;
    request.end = end;
    request.reuse = Reuse::parked;
    const ReturnOutcome outcome = store->return_range(request);
    INFO(outcome.error.to_string());
    REQUIRE(outcome.kind == ReturnOutcome::Kind::returned);
  };
  store->abandoned(former.token);
  CHECK(sums() == std::pair<std::int64_t, std::int64_t>(20, 20));
  third.lease(*store, "orders", 1);
  store->abandoned(third.token);
  returned(5, 11);
  CHECK(sums() == std::pair<std::int64_t, std::int64_t>(14, 24));
  // What an earlier seqd moved to nobody is taken from there.
  fixture.run(
      "UPDATE total SET instance = zeroblob(16) WHERE instance = (SELECT instance FROM "
      "lease WHERE ordinal = 1)");
  returned(15, 21);
  CHECK(sums() == std::pair<std::int64_t, std::int64_t>(0, 18));
}

}  // namespace
}  // namespace seqd
