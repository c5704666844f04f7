// The contract of every store: ranges that are returned, and leased again.
#include <mutex>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/adapters/store_contract.h"

namespace seqd {
namespace {

using namespace testing;
using Kind = ReturnOutcome::Kind;

STORE_TEST("the end of the counter is returned by lowering it, and leased again") {
  TestType fixture;
  auto store = fixture.open();
  auto lease = lease_request("orders", 10, TestType::kTrace);
  lease.binding.meaning = GENERATE(Meaning::last, Meaning::next);
  require_granted(store->lease(lease), 1, 11);
  const std::int64_t before = fixture.value("orders");
  const auto back = return_of(lease, 4, 11, Reuse::tail, TestType::kTrace);
  if (!TestType::kTracesTokens) {
    require_kept(store->return_range(back), ErrorCode::STORE_REFUSED);
    REQUIRE(fixture.value("orders") == before);
    return;
  }
  require_returned(store->return_range(back));
  REQUIRE(fixture.value("orders") == before - 7);
  require_returned(store->return_range(back));  // delivered twice
  REQUIRE(fixture.value("orders") == before - 7);
  lease.token = random_token(TestType::kTrace);
  lease.high_water = 4;
  require_granted(store->lease(lease), 4, 14);
}

STORE_TEST("what is not the end of the counter any more is kept, for ever") {
  if (!TestType::kTracesTokens) return;
  TestType fixture;
  auto store = fixture.open();
  const auto lease = lease_request("orders", 10, TestType::kTrace);
  require_granted(store->lease(lease), 1, 11);
  const auto other = of_another_host(lease, false, TestType::kTrace);
  require_granted(store->lease(other), 11, 21);
  const auto back = return_of(lease, 4, 11, Reuse::tail, TestType::kTrace);
  require_kept(store->return_range(back), ErrorCode::STORE_REFUSED);
  REQUIRE(fixture.value("orders") == 20);
  // The other returns what is behind it; but the token was made void.
  require_returned(store->return_range(return_of(other, 11, 21, Reuse::tail, TestType::kTrace)));
  REQUIRE(fixture.value("orders") == 10);
  REQUIRE(store->return_range(back).kind == Kind::kept);
}

STORE_TEST("a parked range is leased by any host that wants it, before the counter moves") {
  TestType fixture;
  auto store = fixture.open();
  auto lease = lease_request("orders", 10, TestType::kTrace);
  require_granted(store->lease(lease), 1, 11);
  lease.token = random_token(TestType::kTrace);
  require_granted(store->lease(lease), 11, 21);
  const auto high = return_of(lease, 15, 21, Reuse::parked, TestType::kTrace);
  if (!TestType::kTracesTokens) {
    require_kept(store->return_range(high), ErrorCode::STORE_REFUSED);
    return;
  }
  require_returned(store->return_range(high));
  const auto low = return_of(lease, 4, 11, Reuse::parked, TestType::kTrace);
  require_returned(store->return_range(low));
  require_returned(store->return_range(low));
  REQUIRE(fixture.value("orders") == 20);
  require_granted(store->lease(of_another_host(lease, false, TestType::kTrace)), 21, 31);
  auto other = of_another_host(lease, true, TestType::kTrace);
  other.count = 2;
  other.high_water = 31;
  const LeaseOutcome outcome = store->lease(other);
  require_granted(outcome, 4, 11);  // whole, and the lowest
  REQUIRE(outcome.parked);
  const LeaseOutcome again = store->lease(other);  // delivered twice
  require_granted(again, 4, 11);
  REQUIRE(again.parked);
  const Resolution found = fixture.open()->resolve(other);
  REQUIRE(found.kind == Resolution::Kind::granted);
  REQUIRE(found.begin == 4);
  REQUIRE(found.end == 11);
  REQUIRE(found.parked);
  other.token = random_token(TestType::kTrace);
  require_granted(store->lease(other), 15, 21);
  other.token = random_token(TestType::kTrace);
  const LeaseOutcome behind = store->lease(other);
  require_granted(behind, 31, 33);
  REQUIRE_FALSE(behind.parked);
  REQUIRE(fixture.value("orders") == 32);
}

STORE_TEST("a return that was given up is void, and one that arrives late changes nothing") {
  if (!TestType::kTracesTokens) return;
  TestType fixture;
  auto store = fixture.open();
  auto lease = lease_request("orders", 10, TestType::kTrace);
  require_granted(store->lease(lease), 1, 11);
  auto back = return_of(lease, 4, 11, GENERATE(Reuse::tail, Reuse::parked), TestType::kTrace);
  back.give_up = true;
  require_kept(store->return_range(back), ErrorCode::UNAVAILABLE);
  REQUIRE(store->return_range(back).kind == Kind::kept);
  back.give_up = false;
  REQUIRE(fixture.open()->return_range(back).kind == Kind::kept);
  REQUIRE(fixture.value("orders") == 10);
  lease.token = random_token(TestType::kTrace);
  lease.take_parked = true;
  require_granted(store->lease(lease), 11, 21);
}

STORE_TEST("giving up a return that was applied says so") {
  if (!TestType::kTracesTokens) return;
  TestType fixture;
  auto store = fixture.open();
  const auto lease = lease_request("orders", 10, TestType::kTrace);
  require_granted(store->lease(lease), 1, 11);
  auto back = return_of(lease, 4, 11, GENERATE(Reuse::tail, Reuse::parked), TestType::kTrace);
  require_returned(store->return_range(back));
  // Others take it meanwhile.
  const bool parked = back.reuse == Reuse::parked;
  require_granted(store->lease(of_another_host(lease, true, TestType::kTrace)), 4,
                  parked ? 11 : 14);
  back.give_up = true;
  require_returned(fixture.open()->return_range(back));
  back.give_up = false;
  require_returned(fixture.open()->return_range(back));
  require_granted(store->lease(of_another_host(lease, true, TestType::kTrace)), parked ? 11 : 14,
                  parked ? 21 : 24);
}

STORE_TEST("a return whose record another program wiped is not applied a second time") {
  if (TestType::kTrace != LeaseTrace::slot) return;
  TestType fixture;
  auto store = fixture.open();
  const auto lease = lease_request("orders", 10, TestType::kTrace);
  REQUIRE(*store->claim({.instance = lease.instance, .epoch = 0, .nonce = lease.token}) ==
          ClaimOutcome::won);
  require_granted(store->lease(lease), 1, 11);
  const Reuse reuse = GENERATE(Reuse::tail, Reuse::parked);
  const auto back = return_of(lease, 4, 11, reuse, TestType::kTrace);
  require_returned(store->return_range(back));
  // The answer is lost. Others issue what was returned, and write the document again as a whole.
  require_granted(store->lease(of_another_host(lease, reuse == Reuse::parked, TestType::kTrace)), 4,
                  reuse == Reuse::parked ? 11 : 14);
  fixture.put("orders", 10, Meaning::last);
  require_kept(fixture.open()->return_range(back), ErrorCode::STORE_REFUSED);
  REQUIRE(fixture.value("orders") == 10);
  require_granted(store->lease(of_another_host(lease, true, TestType::kTrace)), 11, 21);
}

STORE_TEST("nothing is returned to a counter that was set back, nor taken from it") {
  if (!TestType::kTracesTokens) return;
  TestType fixture;
  auto store = fixture.open();
  const auto lease = lease_request("orders", 10, TestType::kTrace);
  require_granted(store->lease(lease), 1, 11);
  const auto parked = return_of(lease, 8, 11, Reuse::parked, TestType::kTrace);
  require_returned(store->return_range(parked));
  fixture.put("orders", 5, Meaning::last);
  const Reuse reuse = GENERATE(Reuse::tail, Reuse::parked);
  const auto back = return_of(lease, 4, 8, reuse, TestType::kTrace);
  // Slots went with the document that was replaced, and with them what was known of the lease slot.
  const bool slots_lost = TestType::kTrace == LeaseTrace::slot;
  require_kept(store->return_range(back),
               slots_lost ? ErrorCode::STORE_REFUSED : ErrorCode::SEQ_REGRESSED);
  REQUIRE(fixture.value("orders") == 5);
  if (slots_lost) return;
  require_refused(store->lease(of_another_host(lease, true, TestType::kTrace)),
                  ErrorCode::SEQ_REGRESSED);
  fixture.remove("orders");
  const auto gone = return_of(lease, 4, 8, reuse, TestType::kTrace);
  REQUIRE(store->return_range(gone).kind == Kind::kept);
}

STORE_TEST("leases and returns of many hosts never grant one ID to two at a time") {
  if (!TestType::kTracesTokens) return;
  TestType fixture;
  auto one = fixture.open();
  auto two = fixture.open();
  const Reuse reuse = GENERATE(Reuse::tail, Reuse::parked);
  std::mutex mutex;
  std::vector<LeasedSpan> used;
  std::vector<LeasedSpan> kept;
  std::string wrong;
  race(4, [&](int i) {
    BlockingStore& store = i % 2 == 0 ? *one : *two;
    for (int n = 0; n < 10; ++n) {
      LeaseRequest lease = lease_request("orders", 10, TestType::kTrace);
      lease.instance.fill(static_cast<std::uint8_t>(i + 1));
      lease.take_parked = reuse == Reuse::parked;
      const LeaseOutcome granted = lease_until_decided(store, lease, TestType::kTrace);
      const std::int64_t middle = granted.begin + 1;
      Kind outcome = Kind::failed;
      if (middle < granted.end) {
        const auto back = return_of(lease, middle, granted.end, reuse, TestType::kTrace);
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatientMs);
        do {
          outcome = store.return_range(back).kind;
        } while (outcome == Kind::failed && std::chrono::steady_clock::now() < end);
      }
      const std::lock_guard lock(mutex);
      if (granted.kind != LeaseOutcome::Kind::granted) wrong = granted.error.to_string();
      used.push_back({granted.begin, middle});
      if (middle < granted.end && outcome != Kind::returned) kept.push_back({middle, granted.end});
    }
  });
  REQUIRE(wrong == "");
  // What is parked is taken to the last of it; with the tail nothing is left over.
  LeaseRequest last = lease_request("orders", 1, TestType::kTrace);
  last.instance.fill(77);
  last.take_parked = true;
  LeaseOutcome granted = one->lease(last);
  while (granted.kind == LeaseOutcome::Kind::granted && granted.parked) {
    used.push_back({granted.begin, granted.end});
    last.token = random_token(TestType::kTrace);
    granted = one->lease(last);
  }
  used.insert(used.end(), kept.begin(), kept.end());
  require_exactly(used, 1, granted.begin);
}

STORE_TEST("what is parked is counted until it is leased, and for its own counter alone") {
  if (!TestType::kTracesTokens) return;
  TestType fixture;
  auto store = fixture.open();
  std::vector<LeaseRequest> leases;
  const auto parked = [&](const LeaseRequest& of) {
    return store->read({.binding = of.binding, .instance = of.instance})->parked;
  };
  for (const char* name : {"orders", "orders x"}) {
    leases.push_back(lease_request(name, 10, TestType::kTrace));
    require_granted(store->lease(leases.back()), 1, 11);
    REQUIRE(parked(leases.back()).ranges == 0);
  }
  require_returned(
      store->return_range(return_of(leases[0], 4, 7, Reuse::parked, TestType::kTrace)));
  require_returned(
      store->return_range(return_of(leases[0], 7, 11, Reuse::parked, TestType::kTrace)));
  REQUIRE(parked(leases[0]).ranges == 2);
  REQUIRE(parked(leases[0]).ids == 7);
  REQUIRE(parked(leases[1]).ranges == 0);
  require_granted(store->lease(of_another_host(leases[0], true, TestType::kTrace)), 4, 7);
  REQUIRE(parked(leases[0]).ranges == 1);
  REQUIRE(parked(leases[0]).ids == 4);
}

// Somebody's, in the document of the first counter.
template <typename Fixture>
void put_second_number(Fixture& fixture) {
  if constexpr (std::is_base_of_v<MongoFixture, Fixture>) {
    fixture.server.command(
        R"({"update": "counters", "updates": [{"q": {"_id": "5"}, "u": {"$set": {"more": 0, "name": "first"}}}],
            "writeConcern": {"w": "majority"}})");
  } else if constexpr (std::is_base_of_v<DynamoFixture, Fixture>) {
    fixture.server.call("UpdateItem",
                        R"({"TableName": "counters", "Key": {"_id": {"S": "5"}},
                            "UpdateExpression": "SET more = :zero",
                            "ExpressionAttributeValues": {":zero": {"N": "0"}}})");
  }
}

// Counters that differ in one thing each from the first: the field of the number (in the same
// document), the type of the key, the field of the key.
template <typename Fixture>
std::vector<LeaseRequest> neighbours() {
  std::vector<LeaseRequest> found = {lease_request("5", 10, Fixture::kTrace)};
  LeaseRequest other = found.front();
  other.sequence = "other field";
  other.binding.counter_field = "more";
  other.binding.meaning = Meaning::last;
  found.push_back(other);
  if constexpr (std::is_base_of_v<MongoFixture, Fixture>) {
    other = found.front();
    other.sequence = "integer key";
    other.binding.key_type = KeyType::integer;
    found.push_back(other);
    other = found.front();
    other.sequence = "another key field";
    other.binding.key_field = "name";
    other.binding.create_index = true;
    found.push_back(other);
  }
  return found;
}

STORE_TEST("what is parked of a counter is leased of no other that looks like it") {
  if (!TestType::kTracesTokens || std::is_base_of_v<SqliteFixture, TestType>) return;
  TestType fixture;
  auto store = fixture.open();
  std::vector<LeaseRequest> leases = neighbours<TestType>();
  for (LeaseRequest& lease : leases) {
    if (lease.binding.counter_field == "more") {
      put_second_number(fixture);
    }
    lease.token = random_token(TestType::kTrace);
    INFO(lease.sequence);
    require_granted(store->lease(lease), 1, 11);
  }
  require_returned(
      store->return_range(return_of(leases[0], 4, 11, Reuse::parked, TestType::kTrace)));
  for (std::size_t at = 1; at < leases.size(); ++at) {
    INFO(leases[at].sequence);
    CHECK(store->read({.binding = leases[at].binding, .instance = {}})->parked.ranges == 0);
    require_granted(store->lease(of_another_host(leases[at], true, TestType::kTrace)), 11, 21);
    // One of its own that begins at the same number.
    require_returned(
        store->return_range(return_of(leases[at], 4, 8, Reuse::parked, TestType::kTrace)));
    require_granted(store->lease(of_another_host(leases[at], true, TestType::kTrace)), 4, 8);
    require_returned(
        store->return_range(return_of(leases[at], 8, 11, Reuse::parked, TestType::kTrace)));
  }
  // Those below a floor go, and the others' stay.
  REQUIRE(store->advance({.binding = leases[0].binding, .next_id = 1, .withdraw = true}).ok());
  CHECK(store->read({.binding = leases[0].binding, .instance = {}})->parked.ranges == 0);
  for (std::size_t at = 1; at < leases.size(); ++at) {
    INFO(leases[at].sequence);
    require_granted(store->lease(of_another_host(leases[at], true, TestType::kTrace)), 8, 11);
  }
}

STORE_TEST("what was returned is not in the sums of leases") {
  if (!TestType::kCountsLeases) return;
  TestType fixture;
  auto store = fixture.open();
  const auto lease = lease_request("orders", 10, TestType::kTrace);
  require_granted(store->lease(lease), 1, 11);
  const Reuse reuse = GENERATE(Reuse::tail, Reuse::parked);
  require_returned(store->return_range(return_of(lease, 4, 11, reuse, TestType::kTrace)));
  const auto sums = [&] {
    return *store->read({.binding = lease.binding, .instance = lease.instance})->totals;
  };
  REQUIRE(sums().ours.ids == 3);
  auto other = of_another_host(lease, true, TestType::kTrace);
  other.count = 7;
  require_granted(store->lease(other), 4, 11);
  REQUIRE(sums().ours.ids == 3);
  REQUIRE(sums().all.ids == 10);
}

}  // namespace
}  // namespace seqd
