// Several sequences of one daemon use one key: whatever the others do in the meantime, each finds
// the record of its own newest lease or return.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/store/sqlite/sqlite_store.h"
#include "tests/adapters/store_contract.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;

constexpr int kLeasesOfOthers = 200;

LeaseRequest request_of(const std::string& sequence, std::int64_t count = 10) {
  LeaseRequest request = lease_request("orders", count);
  request.sequence = sequence;
  return request;
}

LeaseOutcome lease(BlockingStore& store, const LeaseRequest& request) {
  LeaseOutcome outcome = store.lease(request);
  INFO(outcome.error.to_string());
  REQUIRE(outcome.kind == LeaseOutcome::Kind::granted);
  return outcome;
}

void others_lease(BlockingStore& store) {
  for (int at = 0; at < kLeasesOfOthers; ++at) lease(store, request_of("busy", 1));
}

ReturnRequest return_of(const LeaseRequest& lease, std::int64_t begin, std::int64_t end) {
  ReturnRequest request;
  request.binding = lease.binding;
  request.token = random_token();
  request.instance = lease.instance;
  request.sequence = lease.sequence;
  request.begin = begin;
  request.end = end;
  request.reuse = Reuse::parked;
  return request;
}

TEST_CASE("SqliteSharedKey: a return is applied once, however much others leased", "[sqlite]") {
  SqliteFixture fixture;
  auto store = fixture.open();
  const LeaseRequest leased = request_of("quiet");
  REQUIRE(lease(*store, leased).end == 11);
  const ReturnRequest back = return_of(leased, 5, 11);
  REQUIRE(store->return_range(back).kind == ReturnOutcome::Kind::returned);
  // Somebody takes it, and what he leases afterwards makes room in the file.
  LeaseRequest taker = request_of("busy", 6);
  taker.take_parked = true;
  REQUIRE(lease(*store, taker).parked);
  others_lease(*store);
  CHECK(store->return_range(back).kind == ReturnOutcome::Kind::returned);
  const auto reading = store->read({.binding = leased.binding, .instance = leased.instance});
  REQUIRE(reading.ok());
  CHECK(reading->parked.ranges == 0);
}

TEST_CASE("SqliteSharedKey: a range that was taken stays known as parked", "[sqlite]") {
  SqliteFixture fixture;
  auto store = fixture.open();
  const LeaseRequest leased = request_of("former");
  lease(*store, leased);
  REQUIRE(store->return_range(return_of(leased, 5, 11)).kind == ReturnOutcome::Kind::returned);
  LeaseRequest taker = request_of("quiet", 6);
  taker.take_parked = true;
  REQUIRE(lease(*store, taker).parked);
  others_lease(*store);
  // Taking another parked range removes the marks whose leases have no record any more.
  LeaseRequest busy = request_of("busy", 10);
  const LeaseOutcome range = lease(*store, busy);
  REQUIRE(store->return_range(return_of(busy, range.begin, range.end)).kind ==
          ReturnOutcome::Kind::returned);
  busy = request_of("busy", 10);
  busy.take_parked = true;
  REQUIRE(lease(*store, busy).parked);
  const Resolution resolution = store->resolve(taker);
  CHECK(resolution.kind == Resolution::Kind::granted);
  CHECK(resolution.begin == 5);
  CHECK(resolution.parked);
}

TEST_CASE("SqliteSharedKey: a look-up of one sequence leaves the leases of the others known",
          "[sqlite]") {
  SqliteFixture fixture;
  auto store = fixture.open();
  std::vector<LeaseRequest> requests;
  for (int at = 0; at < 250; ++at) requests.push_back(request_of("s" + std::to_string(at)));
  for (const LeaseOutcome& outcome : store->lease_all(requests))
    REQUIRE(outcome.kind == LeaseOutcome::Kind::granted);
  for (std::size_t at = 0; at < requests.size(); ++at) {
    const Resolution resolution = store->resolve(requests[at]);
    REQUIRE(resolution.kind == Resolution::Kind::granted);
    REQUIRE(resolution.begin == static_cast<std::int64_t>(10 * at + 1));
  }
}

TEST_CASE("SqliteSharedKey: a start that forfeits leaves the newest of each sequence", "[sqlite]") {
  SqliteFixture fixture;
  auto store = fixture.open();
  const LeaseRequest quiet = request_of("quiet");
  lease(*store, quiet);
  for (int at = 0; at < 10; ++at) lease(*store, request_of("busy"));
  store->abandoned(quiet.instance);
  CHECK(store->resolve(quiet).kind == Resolution::Kind::granted);
}

}  // namespace
}  // namespace seqd
