// Batches of leases: each lease has the outcome that it would have alone.
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "daemon/store/sqlite/sqlite_store.h"
#include "tests/adapters/sqlite/wal_layer.h"
#include "tests/adapters/store_fixtures.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using testing::lease_request;
using testing::SqliteFixture;
using Kind = LeaseOutcome::Kind;

std::string text_of(const LeaseOutcome& outcome) {
  return std::to_string(static_cast<int>(outcome.kind)) + " " + std::to_string(outcome.begin) +
         ".." + std::to_string(outcome.end) + (outcome.parked ? " parked " : " ") +
         outcome.error.text();
}

std::string text_of(const Resolution& resolution) {
  return std::to_string(static_cast<int>(resolution.kind)) + " " +
         std::to_string(resolution.begin) + ".." + std::to_string(resolution.end);
}

// For one of five sequences: some end soon, some do not exist, some may not be created.
LeaseRequest any_request(std::mt19937& random, const std::vector<LeaseRequest>& before) {
  const auto one_of = [&random](std::uint_fast32_t n) {
    return static_cast<std::int64_t>(random() % n);
  };
  if (!before.empty() && one_of(8) == 0)
    return before[static_cast<std::size_t>(one_of(before.size()))];
  LeaseRequest request =
      lease_request(std::string(1, static_cast<char>('a' + one_of(5))), 1 + one_of(9));
  request.token.fill(0);
  for (std::uint8_t& byte : request.token) byte = static_cast<std::uint8_t>(random());
  request.instance.fill(static_cast<std::uint8_t>(one_of(2)));
  request.binding.create = one_of(4) != 0;
  request.binding.first_id = 10;
  if (one_of(4) == 0) request.max_value = 5 + one_of(40);
  if (one_of(16) == 0) request.high_water = 3;
  if (one_of(32) == 0) request.count = 0;
  return request;
}

TEST_CASE("SqliteLeases: a batch has the same outcomes as single leases", "[sqlite]") {
  std::mt19937 random(20'261'123);
  SqliteFixture alone_file;
  SqliteFixture together_file;
  auto alone = alone_file.open();
  auto together = together_file.open();
  std::vector<LeaseRequest> before;
  int granted = 0;
  int refused = 0;
  for (int round = 0; round < 60; ++round) {
    std::vector<LeaseRequest> requests;
    for (std::uint_fast32_t left = 1 + random() % 30; left > 0; --left)
      requests.push_back(any_request(random, before));
    const std::vector<LeaseOutcome> outcomes = together->lease_all(requests);
    REQUIRE(outcomes.size() == requests.size());
    for (std::size_t at = 0; at < requests.size(); ++at) {
      if (outcomes[at].error.text() == "the batch contains this lease twice") continue;
      std::string expected = text_of(alone->lease(requests[at]));
      const std::string file = alone_file.file();
      for (std::size_t found = expected.find(file); found != std::string::npos;
           found = expected.find(file, found))
        expected.replace(found, file.size(), together_file.file());
      REQUIRE(text_of(outcomes[at]) == expected);
      ++(outcomes[at].kind == Kind::granted ? granted : refused);
    }
    before.insert(before.end(), requests.begin(), requests.end());
  }
  const std::vector<Resolution> resolutions = together->resolve_all(before);
  REQUIRE(resolutions.size() == before.size());
  for (std::size_t at = 0; at < before.size(); ++at)
    REQUIRE(text_of(resolutions[at]) == text_of(alone->resolve(before[at])));
  for (char name = 'a'; name < 'f'; ++name)
    REQUIRE(together_file.value(std::string(1, name)) == alone_file.value(std::string(1, name)));
  REQUIRE(granted > 100);
  REQUIRE(refused > 100);
}

TEST_CASE("SqliteLeases: a refused lease leaves no trace in a batch", "[sqlite]") {
  SqliteFixture fixture;
  auto store = fixture.open();
  std::vector<LeaseRequest> requests = {lease_request("orders", 10), lease_request("ended", 10),
                                        lease_request("users", 10)};
  // The counter is created before the lease turns out to be beyond its maximum.
  requests[1].binding.first_id = 100;
  requests[1].max_value = 50;
  const auto outcomes = store->lease_all(requests);
  CHECK(outcomes[0].end == 11);
  CHECK(outcomes[1].kind == Kind::refused);
  CHECK(outcomes[2].end == 11);
  CHECK(fixture.value("ended") == -1);
  CHECK(store->resolve(requests[0]).kind == Resolution::Kind::granted);
  CHECK(store->resolve(requests[1]).kind == Resolution::Kind::absent);
  CHECK(store->resolve(requests[2]).kind == Resolution::Kind::granted);
}

TEST_CASE("SqliteLeases: a batch that is rolled back is repeated lease by lease", "[sqlite]") {
  SqliteFixture fixture;
  auto store = fixture.open();
  const LeaseRequest earlier = lease_request("orders", 10);
  REQUIRE(store->lease(earlier).end == 11);
  fixture.run(
      "CREATE TRIGGER ends BEFORE INSERT ON lease WHEN new.name = 'users' "
      "BEGIN SELECT RAISE(ROLLBACK, 'no room'); END");
  const std::vector<LeaseRequest> requests = {earlier, lease_request("orders", 10),
                                              lease_request("users", 10),
                                              lease_request("orders", 10)};
  const auto outcomes = store->lease_all(requests);
  fixture.run("DROP TRIGGER ends");
  CHECK(outcomes[0].end == 11);  // from before
  CHECK(outcomes[1].begin == 11);
  CHECK(outcomes[1].end == 21);
  CHECK(outcomes[2].kind == Kind::refused);
  CHECK(outcomes[2].error.text().find("no room") != std::string::npos);
  CHECK(outcomes[3].begin == 21);
  CHECK(outcomes[3].end == 31);
  CHECK(store->resolve(requests[1]).begin == 11);
  CHECK(store->resolve(requests[2]).kind == Resolution::Kind::absent);
  CHECK(store->resolve(requests[3]).begin == 21);
  CHECK(fixture.value("orders") == 30);
  CHECK(fixture.value("users") == -1);
}

TEST_CASE("SqliteLeases: after a failed commit each lease is unknown and can be resolved",
          "[sqlite]") {
  int fault = SQLITE_OK;
  const testing::WalLayer layer{[] { return SQLITE_OK; }, [&fault] { return fault; }};
  SqliteFixture fixture;
  auto store = fixture.open();
  const LeaseRequest earlier = lease_request("orders", 10);
  REQUIRE(store->lease(earlier).end == 11);
  std::vector<LeaseRequest> requests = {earlier, lease_request("orders", 10),
                                        lease_request("users", 10), lease_request("none", 10)};
  requests[3].binding.create = false;
  requests.push_back(requests[1]);
  fault = SQLITE_IOERR_FSYNC;
  const auto outcomes = store->lease_all(requests);
  fault = SQLITE_OK;
  CHECK(outcomes[0].kind == Kind::granted);
  CHECK(outcomes[1].kind == Kind::unknown);
  CHECK(outcomes[2].kind == Kind::unknown);
  CHECK(outcomes[3].kind == Kind::refused);
  // The repeated token.
  CHECK(outcomes[4].kind == Kind::unknown);
  const Resolution orders = store->resolve(requests[1]);
  const Resolution users = store->resolve(requests[2]);
  CHECK(orders.kind == users.kind);
  CHECK(store->lease(lease_request("orders", 10)).begin ==
        (orders.kind == Resolution::Kind::granted ? 21 : 11));
}

TEST_CASE("SqliteLeases: a full disk refuses the whole batch", "[sqlite]") {
  int fault = SQLITE_OK;
  const testing::WalLayer layer{[&fault] { return fault; }, [] { return SQLITE_OK; }};
  SqliteFixture fixture;
  auto store = fixture.open();
  REQUIRE(store->lease(lease_request("orders", 10)).end == 11);
  const std::vector<LeaseRequest> requests = {lease_request("orders", 10),
                                              lease_request("users", 10)};
  fault = SQLITE_FULL;
  const auto outcomes = store->lease_all(requests);
  fault = SQLITE_OK;
  for (std::size_t at = 0; at < requests.size(); ++at) {
    CHECK(outcomes[at].kind == Kind::refused);
    CHECK(store->resolve(requests[at]).kind == Resolution::Kind::absent);
  }
  CHECK(store->lease(lease_request("orders", 10)).begin == 11);
}

TEST_CASE("SqliteLeases: look-ups whose commit fails are asked for again", "[sqlite]") {
  int fault = SQLITE_OK;
  int flushes = 0;
  const testing::WalLayer layer{[&fault] { return fault; },
                                [&flushes] {
                                  ++flushes;
                                  return SQLITE_OK;
                                }};
  SqliteFixture fixture;
  auto store = fixture.open();
  std::vector<LeaseRequest> requests = {lease_request("orders", 10)};
  REQUIRE(store->lease(requests[0]).end == 11);
  for (int at = 0; at < 100; ++at) requests.push_back(lease_request("users", 10));
  fault = SQLITE_FULL;
  std::vector<Resolution> resolutions = store->resolve_all(requests);
  fault = SQLITE_OK;
  CHECK(resolutions[0].kind == Resolution::Kind::granted);
  for (std::size_t at = 1; at < requests.size(); ++at)
    CHECK(resolutions[at].kind == Resolution::Kind::failed);
  flushes = 0;
  resolutions = store->resolve_all(requests);
  CHECK(flushes <= 2);  // one transaction
  CHECK(resolutions[0].kind == Resolution::Kind::granted);
  for (std::size_t at = 1; at < requests.size(); ++at)
    CHECK(resolutions[at].kind == Resolution::Kind::absent);
  CHECK(store->lease(requests.back()).kind == Kind::refused);
}

TEST_CASE("SqliteLeases: look-ups that are rolled back are repeated one by one", "[sqlite]") {
  SqliteFixture fixture;
  auto store = fixture.open();
  const std::vector<LeaseRequest> requests = {
      lease_request("orders", 10), lease_request("orders", 10), lease_request("users", 10),
      lease_request("tickets", 10)};
  REQUIRE(store->lease(requests[0]).end == 11);
  fixture.run(
      "CREATE TRIGGER ends BEFORE INSERT ON lease WHEN new.name = 'users' "
      "BEGIN SELECT RAISE(ROLLBACK, 'no room'); END");
  std::vector<Resolution> resolutions = store->resolve_all(requests);
  fixture.run("DROP TRIGGER ends");
  CHECK(resolutions[0].kind == Resolution::Kind::granted);
  CHECK(resolutions[1].kind == Resolution::Kind::absent);
  CHECK(resolutions[2].kind == Resolution::Kind::failed);
  CHECK(resolutions[3].kind == Resolution::Kind::absent);
  CHECK(store->lease(requests[1]).kind == Kind::refused);
  CHECK(store->lease(requests[2]).kind == Kind::granted);
  CHECK(store->lease(requests[3]).kind == Kind::refused);
}

TEST_CASE("SqliteLeases: a savepoint needs no temporary file", "[sqlite]") {
  const testing::WalLayer layer{[] { return SQLITE_OK; }, [] { return SQLITE_OK; }};
  SqliteFixture fixture;
  auto store = fixture.open();
  REQUIRE(store->lease(lease_request("orders", 10)).end == 11);
  // Each lease changes 400 pages, and SQLite keeps 16 of a savepoint in memory by itself.
  fixture.run(
      "CREATE TABLE large(x); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE "
      "i < 400) INSERT INTO large SELECT randomblob(4000) FROM n; "
      "CREATE TRIGGER grows AFTER INSERT ON lease BEGIN UPDATE large SET x = randomblob(4000); "
      "END");
  REQUIRE(store->lease(lease_request("orders", 10)).end == 21);
  CHECK(layer.temporary_files() == 0);
}

}  // namespace
}  // namespace seqd
