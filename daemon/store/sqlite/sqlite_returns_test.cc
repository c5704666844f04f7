// Batches of returns: each return has the outcome that it would have alone.
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "daemon/store/sqlite/sqlite_store.h"
#include "tests/adapters/sqlite/wal_layer.h"
#include "tests/adapters/store_contract.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using testing::lease_request;
using testing::return_of;
using testing::SqliteFixture;
using Kind = ReturnOutcome::Kind;

std::vector<Kind> kinds_of(const std::vector<ReturnOutcome>& outcomes) {
  std::vector<Kind> kinds;
  for (const ReturnOutcome& outcome : outcomes) kinds.push_back(outcome.kind);
  return kinds;
}

// Leases of 10 IDs of so many sequences, of each of which 7 come back.
std::vector<ReturnRequest> leased(BlockingStore& store, int sequences, Reuse reuse) {
  std::vector<ReturnRequest> requests;
  for (int at = 0; at < sequences; ++at) {
    const LeaseRequest lease = lease_request("s" + std::to_string(at), 10);
    REQUIRE(store.lease(lease).end == 11);
    requests.push_back(return_of(lease, 4, 11, reuse, SqliteFixture::kTrace));
  }
  return requests;
}

// What a lease begins with.
std::int64_t next_of(BlockingStore& store, const std::string& sequence) {
  LeaseRequest lease = lease_request(sequence, 10);
  lease.take_parked = true;
  return store.lease(lease).begin;
}

std::vector<std::int64_t> next_of_all(BlockingStore& store, int sequences) {
  std::vector<std::int64_t> begins;
  for (int at = 0; at < sequences; ++at) begins.push_back(next_of(store, "s" + std::to_string(at)));
  return begins;
}

TEST_CASE("SqliteReturns: a batch has the same outcomes as single returns", "[sqlite]") {
  const Reuse reuse = GENERATE(Reuse::tail, Reuse::parked);
  constexpr int kSequences = 40;
  std::mt19937 random(20'261'125);
  SqliteFixture alone_file;
  SqliteFixture together_file;
  auto alone = alone_file.open();
  auto together = together_file.open();
  std::vector<ReturnRequest> requests = leased(*alone, kSequences, reuse);
  leased(*together, kSequences, reuse);
  for (std::size_t at = 0; at < requests.size(); ++at) {
    ReturnRequest& request = requests[at];
    switch (random() % 6) {
      case 0:
        request.give_up = true;
        break;
      case 1:
        request.end += 5;  // above the counter
        break;
      case 2:
        request.begin = request.end;  // nothing
        break;
      case 3:
        if (at > 0) request = requests[at - 1];  // once more
        break;
      default:
        break;
    }
  }
  for (int round = 0; round < 2; ++round) {  // the second time all are known
    std::vector<ReturnOutcome> one_by_one;
    for (const ReturnRequest& request : requests)
      one_by_one.push_back(alone->return_range(request));
    const std::vector<ReturnOutcome> batch = together->return_all(requests);
    REQUIRE(kinds_of(batch) == kinds_of(one_by_one));
    for (std::size_t at = 0; at < batch.size(); ++at)
      CHECK((batch[at].error.text().empty()) == (one_by_one[at].error.text().empty()));
  }
  CHECK(next_of_all(*together, kSequences) == next_of_all(*alone, kSequences));
}

TEST_CASE("SqliteReturns: after a failed commit each return is asked for again", "[sqlite]") {
  const Reuse reuse = GENERATE(Reuse::tail, Reuse::parked);
  int fault = SQLITE_OK;
  int flushes = 0;
  const testing::WalLayer layer{[&fault] { return fault; },
                                [&flushes] {
                                  ++flushes;
                                  return SQLITE_OK;
                                }};
  SqliteFixture fixture;
  auto store = fixture.open();
  std::vector<ReturnRequest> requests = leased(*store, 100, reuse);
  requests.push_back(requests.front());  // finds what the first one wrote
  fault = SQLITE_FULL;
  for (const ReturnOutcome& outcome : store->return_all(requests))
    CHECK(outcome.kind == Kind::failed);
  fault = SQLITE_OK;
  flushes = 0;
  for (const ReturnOutcome& outcome : store->return_all(requests))
    CHECK(outcome.kind == Kind::returned);
  CHECK(flushes <= 2);  // one transaction
  CHECK(next_of_all(*store, 100) == std::vector<std::int64_t>(100, 4));
}

TEST_CASE("SqliteReturns: one that fails leaves no trace and does not fail the others",
          "[sqlite]") {
  // ABORT undoes the statement, ROLLBACK the whole transaction.
  const std::string how = GENERATE("ABORT", "ROLLBACK");
  SqliteFixture fixture;
  auto store = fixture.open();
  const std::vector<ReturnRequest> requests = leased(*store, 3, Reuse::parked);
  fixture.run(
      "CREATE TRIGGER ends BEFORE INSERT ON lease WHEN new.name = 's1' BEGIN SELECT RAISE(" + how +
      ", 'no room'); END");
  CHECK(kinds_of(store->return_all(requests)) ==
        std::vector<Kind>{Kind::returned, Kind::failed, Kind::returned});
  fixture.run("DROP TRIGGER ends");
  // Its range was parked before its record failed.
  CHECK(next_of(*store, "s1") == 11);
  CHECK(kinds_of(store->return_all(requests)) == std::vector<Kind>(3, Kind::returned));
  CHECK(next_of_all(*store, 3) == std::vector<std::int64_t>(3, 4));
}

}  // namespace
}  // namespace seqd
