// The contract of every store: a counter that is advanced for every host, and what lies below its
// floor.
#include <string>

#include "tests/adapters/store_contract.h"

namespace seqd {
namespace {

using namespace testing;

CounterReading read(BlockingStore& store, const CounterBinding& binding) {
  auto reading = store.read({.binding = binding, .instance = {}});
  INFO(reading.status().to_string());
  REQUIRE(reading.ok());
  return *reading;
}

std::int64_t withdraw(BlockingStore& store, const CounterBinding& binding, std::int64_t next_id) {
  auto reached = store.advance({.binding = binding, .next_id = next_id, .withdraw = true});
  INFO(reached.status().to_string());
  REQUIRE(reached.ok());
  return *reached;
}

STORE_TEST("an advance for every host sets the floor where the counter then is") {
  TestType fixture;
  auto store = fixture.open();
  auto lease = lease_request("orders", 10, TestType::kTrace);
  lease.binding.meaning = GENERATE(Meaning::last, Meaning::next);
  require_granted(store->lease(lease), 1, 11);
  REQUIRE(read(*store, lease.binding).floor == 0);
  REQUIRE(withdraw(*store, lease.binding, 500) == 500);
  REQUIRE(withdraw(*store, lease.binding, 500) == 500);  // delivered twice
  REQUIRE(read(*store, lease.binding).floor == 500);
  lease.token = random_token(TestType::kTrace);
  require_granted(store->lease(lease), 500, 510);
  CounterReading reading = read(*fixture.open(), lease.binding);
  REQUIRE(reading.floor == 500);
  REQUIRE(reading.next_id == 510);
  // What is below the counter already is the counter.
  REQUIRE(withdraw(*store, lease.binding, 20) == 510);
  REQUIRE(read(*store, lease.binding).floor == 510);
  // Without a word of every host the floor stays.
  REQUIRE(*store->advance({.binding = lease.binding, .next_id = 600}) == 600);
  reading = read(*store, lease.binding);
  REQUIRE(reading.floor == 510);
  REQUIRE(reading.next_id == 600);
}

STORE_TEST("an advance for every host makes a counter that is missing, with its floor") {
  TestType fixture;
  auto store = fixture.open();
  auto lease = lease_request("orders", 10, TestType::kTrace);
  REQUIRE(withdraw(*store, lease.binding, 77) == 77);
  REQUIRE(read(*store, lease.binding).floor == 77);
  require_granted(store->lease(lease), 77, 87);
}

// A daemon knows the floor only once it has read it; another one may have a lower mark, or none.
STORE_TEST("a counter that was set back below its floor grants nothing") {
  TestType fixture;
  auto store = fixture.open();
  auto lease = lease_request("orders", 10, TestType::kTrace);
  const Meaning meaning = GENERATE(Meaning::last, Meaning::next);
  lease.binding.meaning = meaning;
  require_granted(store->lease(lease), 1, 11);
  REQUIRE(withdraw(*store, lease.binding, 500) == 500);
  const std::int64_t value = meaning == Meaning::last ? 499 : 500;
  REQUIRE(fixture.value("orders") == value);
  for (const std::int64_t lower : {std::int64_t{60}, value - 1}) {
    fixture.set("orders", lower);
    lease.token = random_token(TestType::kTrace);
    lease.high_water = 11;
    require_refused(store->lease(lease), ErrorCode::SEQ_REGRESSED);
    auto other = of_another_host(lease, GENERATE(false, true), TestType::kTrace);
    other.high_water = 0;
    require_refused(fixture.open()->lease(other), ErrorCode::SEQ_REGRESSED);
    REQUIRE(fixture.value("orders") == lower);
  }
  REQUIRE(*store->advance({.binding = lease.binding, .next_id = 1}) == 500);
  lease.token = random_token(TestType::kTrace);
  require_granted(store->lease(lease), 500, 510);
}

STORE_TEST("what lies below the floor is not taken back") {
  if (!TestType::kTracesTokens) return;
  TestType fixture;
  auto store = fixture.open();
  auto lease = lease_request("orders", 10, TestType::kTrace);
  require_granted(store->lease(lease), 1, 11);
  const Reuse reuse = GENERATE(Reuse::tail, Reuse::parked);
  // The counter stays where it is, so that the range is its end.
  REQUIRE(withdraw(*store, lease.binding, 5) == 11);
  const auto back = return_of(lease, 4, 11, reuse, TestType::kTrace);
  require_kept(store->return_range(back), ErrorCode::STORE_REFUSED);
  require_kept(store->return_range(back), ErrorCode::UNAVAILABLE);  // its token is void
  REQUIRE(fixture.value("orders") == 10);
  REQUIRE(read(*store, lease.binding).parked.ranges == 0);
  // What was leased since is.
  lease.token = random_token(TestType::kTrace);
  require_granted(store->lease(lease), 11, 21);
  require_returned(store->return_range(return_of(lease, 11, 21, reuse, TestType::kTrace)));
}

STORE_TEST("what was parked below the floor is leased by nobody any more") {
  if (!TestType::kTracesTokens) return;
  TestType fixture;
  auto store = fixture.open();
  auto lease = lease_request("orders", 10, TestType::kTrace);
  require_granted(store->lease(lease), 1, 11);
  require_returned(store->return_range(return_of(lease, 4, 11, Reuse::parked, TestType::kTrace)));
  auto others = lease_request("other", 10, TestType::kTrace);
  require_granted(store->lease(others), 1, 11);
  require_returned(store->return_range(return_of(others, 4, 11, Reuse::parked, TestType::kTrace)));
  REQUIRE(withdraw(*store, lease.binding, 5) == 11);
  REQUIRE(read(*store, lease.binding).parked.ranges == 0);
  require_granted(store->lease(of_another_host(lease, true, TestType::kTrace)), 11, 21);
  REQUIRE(read(*store, others.binding).parked.ranges == 1);
  require_granted(store->lease(of_another_host(others, true, TestType::kTrace)), 4, 11);
}

STORE_TEST("whoever returns while the floor is set brings nothing below it") {
  if (!TestType::kTracesTokens) return;
  TestType fixture;
  auto store = fixture.open();
  auto first = lease_request("orders", 10, TestType::kTrace);
  require_granted(store->lease(first), 1, 11);
  const Reuse reuse = GENERATE(Reuse::tail, Reuse::parked);
  race(3, [&](int thread) {
    for (int i = 0; i < 15; ++i) {
      if (thread == 0) {
        // Where it is lost against the others for too long, it says so and has changed nothing.
        static_cast<void>(
            store->advance({.binding = first.binding, .next_id = 1, .withdraw = true}));
        continue;
      }
      auto lease = of_another_host(first, false, TestType::kTrace);
      lease.instance.fill(static_cast<std::uint8_t>(thread));
      const LeaseOutcome outcome = store->lease(lease);
      if (outcome.kind != LeaseOutcome::Kind::granted) continue;
      static_cast<void>(store->return_range(
          return_of(lease, outcome.begin + 3, outcome.end, reuse, TestType::kTrace)));
    }
  });
  const std::int64_t floor = withdraw(*store, first.binding, 1);
  REQUIRE(read(*store, first.binding).floor == floor);
  for (int i = 0; i < 3; ++i) {
    const LeaseOutcome outcome = store->lease(of_another_host(first, true, TestType::kTrace));
    REQUIRE(outcome.kind == LeaseOutcome::Kind::granted);
    REQUIRE(outcome.begin >= floor);
  }
}

TEST_CASE("Store: a floor in a row that is none is an error, and the lease is not disturbed",
          "[store]") {
  SqliteFixture fixture;
  auto store = fixture.open();
  auto lease = lease_request("orders", 10);
  require_granted(store->lease(lease), 1, 11);
  fixture.run("INSERT INTO floor(name, floor) VALUES('orders', 'high')");
  REQUIRE(store->read({.binding = lease.binding, .instance = {}}).status().code() ==
          ErrorCode::SEQ_TYPE);
  REQUIRE(
      store->advance({.binding = lease.binding, .next_id = 50, .withdraw = true}).status().code() ==
      ErrorCode::SEQ_TYPE);
  lease.token = random_token();
  require_granted(store->lease(lease), 11, 21);
}

TEST_CASE("Store: a floor in a document that is none is an error, and the lease is not disturbed",
          "[store][mongo]") {
  MongoAloneFixture fixture;
  auto store = fixture.open();
  fixture.server.put("counters", "orders", R"({"seq": {"$numberLong": "10"},
      "seqd": {"meaning": "last", "floors": {"seq": "high"}}})");
  auto lease = lease_request("orders", 10, LeaseTrace::slot);
  REQUIRE(store->read({.binding = lease.binding, .instance = {}}).status().code() ==
          ErrorCode::SEQ_TYPE);
  REQUIRE(store->advance({.binding = lease.binding, .next_id = 50}).status().code() ==
          ErrorCode::SEQ_TYPE);
  require_granted(store->lease(lease), 11, 21);
}

TEST_CASE("Store: a counter that was set back below its floor is advanced to it at least",
          "[store][mongo]") {
  MongoAloneFixture fixture;
  auto store = fixture.open();
  fixture.server.put("counters", "orders", R"({"seq": {"$numberLong": "10"},
      "seqd": {"meaning": "last", "floors": {"seq": {"$numberLong": "500"}}}})");
  const CounterBinding binding = lease_request("orders", 10).binding;
  const CounterReading reading = read(*store, binding);
  REQUIRE(reading.next_id == 11);
  REQUIRE(reading.floor == 500);
  REQUIRE(*store->advance({.binding = binding, .next_id = 20}) == 500);
}

}  // namespace
}  // namespace seqd
