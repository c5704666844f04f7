// The contract of every store: an instance that is forgotten.
#include <string>

#include "tests/adapters/store_contract.h"

namespace seqd {
namespace {

using namespace testing;

ClaimRequest claim_of(const LeaseRequest& lease, std::uint64_t epoch) {
  return {lease.instance, epoch, random_token()};
}

ForgetRequest forget_of(const LeaseRequest& lease) {
  ForgetRequest request;
  request.instance = lease.instance;
  request.slots.push_back({lease.binding, lease.sequence});
  return request;
}

ForgetRequest look_at(const LeaseRequest& lease) {
  ForgetRequest request = forget_of(lease);
  request.only_look = true;
  return request;
}

InstanceRecords must(const Result<InstanceRecords>& records) {
  INFO(records.status().to_string());
  REQUIRE(records.ok());
  return *records;
}

LeaseRequest of_another_host(const LeaseRequest& lease, LeaseTrace trace) {
  LeaseRequest request = lease;
  request.token = random_token(trace);
  request.instance.fill(9);
  return request;
}

template <typename Store>
void claim_and_lease(Store& store, const LeaseRequest& lease, std::int64_t begin,
                     std::int64_t end) {
  const auto claimed = store->claim(claim_of(lease, 0));
  REQUIRE(claimed.ok());
  REQUIRE(*claimed == ClaimOutcome::won);
  require_granted(store->lease(lease), begin, end);
}

STORE_TEST("what is kept of an instance is told, and forgotten once") {
  TestType fixture;
  auto store = fixture.open();
  const auto lease = lease_request("orders.eu", 10, TestType::kTrace);
  REQUIRE_FALSE(must(store->forget(look_at(lease))).entry);
  claim_and_lease(store, lease, 1, 11);
  const std::int64_t records = TestType::kTracesTokens ? 1 : 0;
  for (int times = 0; times < 2; ++times) {
    const InstanceRecords found = must(store->forget(look_at(lease)));
    REQUIRE(found.entry);
    REQUIRE(found.records == records);
  }
  const InstanceRecords forgotten = must(store->forget(forget_of(lease)));
  REQUIRE(forgotten.entry);
  REQUIRE(forgotten.records == records);
  for (auto& handle : {fixture.open(), fixture.open()}) {
    REQUIRE_FALSE(must(handle->forget(look_at(lease))).entry);
    REQUIRE(must(handle->forget(look_at(lease))).records == 0);
    REQUIRE(must(handle->forget(forget_of(lease))).records == 0);
  }
  REQUIRE(fixture.value("orders.eu") == 10);
}

STORE_TEST("a copy of an instance that was forgotten loses its claim") {
  TestType fixture;
  auto store = fixture.open();
  const auto lease = lease_request("orders", 10, TestType::kTrace);
  claim_and_lease(store, lease, 1, 11);
  must(store->forget(forget_of(lease)));
  for (const std::uint64_t epoch : {std::uint64_t{1}, std::uint64_t{2}}) {
    const auto claimed = store->claim(claim_of(lease, epoch));
    REQUIRE(claimed.ok());
    REQUIRE(*claimed == ClaimOutcome::lost);
  }
  REQUIRE_FALSE(must(store->forget(look_at(lease))).entry);
}

STORE_TEST("others' records, the counter and what is parked stay") {
  TestType fixture;
  auto store = fixture.open();
  const auto lease = lease_request("orders", 10, TestType::kTrace);
  claim_and_lease(store, lease, 1, 11);
  auto other = of_another_host(lease, TestType::kTrace);
  claim_and_lease(store, other, 11, 21);
  ReturnRequest back;
  back.binding = lease.binding;
  back.token = random_token(TestType::kTrace);
  back.instance = lease.instance;
  back.sequence = lease.sequence;
  back.begin = 4;
  back.end = 11;
  if (TestType::kTracesTokens)
    REQUIRE(store->return_range(back).kind == ReturnOutcome::Kind::returned);
  must(store->forget(forget_of(lease)));
  const InstanceRecords kept = must(store->forget(look_at(other)));
  REQUIRE(kept.entry);
  REQUIRE(kept.records == (TestType::kTracesTokens ? 1 : 0));
  REQUIRE(fixture.value("orders") == 20);
  if (TestType::kTracesTokens) {
    const Resolution found = fixture.open()->resolve(other);
    REQUIRE(found.kind == Resolution::Kind::granted);
    REQUIRE(found.begin == 11);
  }
  const auto claimed = store->claim(claim_of(other, 1));
  REQUIRE(claimed.ok());
  REQUIRE(*claimed == ClaimOutcome::won);
  other.token = random_token(TestType::kTrace);
  other.high_water = 21;
  other.take_parked = true;
  if (TestType::kTracesTokens) {
    require_granted(store->lease(other), 4, 11);
  } else {
    require_granted(store->lease(other), 21, 31);
  }
}

STORE_TEST("only the last request forgets the instance itself") {
  TestType fixture;
  auto store = fixture.open();
  const auto lease = lease_request("orders", 10, TestType::kTrace);
  claim_and_lease(store, lease, 1, 11);
  ForgetRequest first = forget_of(lease);
  first.entry = false;
  must(store->forget(first));
  REQUIRE(must(store->forget(look_at(lease))).entry);
  ForgetRequest last;
  last.instance = lease.instance;
  must(store->forget(last));
  REQUIRE_FALSE(must(store->forget(look_at(lease))).entry);
  REQUIRE(must(store->forget(look_at(lease))).records == 0);
}

STORE_TEST(
    "a lease of an instance that was forgotten is never taken for one that was not applied") {
  if (!TestType::kTracesTokens || TestType::kCountsLeases) return;  // SQLite: nothing comes late
  TestType fixture;
  auto store = fixture.open();
  const auto lease = lease_request("orders", 10, TestType::kTrace);
  claim_and_lease(store, lease, 1, 11);
  must(store->forget(forget_of(lease)));
  REQUIRE(fixture.open()->resolve(lease).kind == Resolution::Kind::untraceable);
}

TEST_CASE("SQLite: the sums of an instance that was forgotten stay, without its name", "[store]") {
  SqliteFixture fixture;
  auto store = fixture.open();
  const auto lease = lease_request("orders", 10);
  claim_and_lease(store, lease, 1, 11);
  const auto other = of_another_host(lease, LeaseTrace::plain);
  claim_and_lease(store, other, 11, 21);
  const auto before = store->read({other.binding, other.instance});
  must(store->forget(forget_of(lease)));
  must(store->forget(forget_of(lease)));
  const auto after = store->read({other.binding, other.instance});
  REQUIRE((before.ok() && after.ok()));
  REQUIRE(after->totals.has_value());
  CHECK(after->totals->since == 1);
  CHECK(after->totals->all.ids == 20);
  CHECK(after->totals->all.leases == 2);
  CHECK(after->totals->ours.ids == 10);
  must(store->forget(forget_of(other)));
  CHECK(store->read({other.binding, other.instance})->totals->all.ids == 20);
}

}  // namespace
}  // namespace seqd
