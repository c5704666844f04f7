// The contract of every store: what it says of a counter, how a counter is raised, and who owns an
// epoch.
#include <limits>
#include <mutex>
#include <utility>

#include "tests/adapters/store_contract.h"

namespace seqd {
namespace {

using namespace testing;
using Kind = LeaseOutcome::Kind;

CounterReading read(BlockingStore& store, const CounterBinding& binding, Token instance) {
  auto reading = store.read({.binding = binding, .instance = instance});
  INFO(reading.status().to_string());
  REQUIRE(reading.ok());
  return *reading;
}

STORE_TEST("a reading tells the next ID in every meaning, and creates nothing") {
  TestType fixture;
  auto store = fixture.open();
  auto request = lease_request("orders", 10, TestType::kTrace);
  request.binding.meaning = GENERATE(Meaning::last, Meaning::next);
  CounterReading reading = read(*store, request.binding, request.instance);
  REQUIRE_FALSE(reading.exists);
  REQUIRE(reading.next_id == 0);
  REQUIRE_FALSE(reading.totals.has_value());
  REQUIRE(fixture.value("orders") == -1);
  require_granted(store->lease(request), 1, 11);
  reading = read(*store, request.binding, request.instance);
  REQUIRE(reading.exists);
  REQUIRE(reading.meaning == request.binding.meaning);
  REQUIRE(reading.next_id == 11);
  fixture.put("orders", std::numeric_limits<std::int64_t>::max(), request.binding.meaning);
  reading = read(*store, request.binding, request.instance);
  REQUIRE(reading.next_id == std::numeric_limits<std::int64_t>::max());
}

STORE_TEST("a counter that cannot be leased from cannot be read either") {
  TestType fixture;
  auto store = fixture.open();
  auto request = lease_request("orders", 10, TestType::kTrace);
  const ReadRequest question{.binding = request.binding, .instance = request.instance};
  fixture.put("orders", -1, Meaning::last);
  REQUIRE(store->read(question).status().code() == ErrorCode::SEQ_TYPE);
  fixture.put("orders", 100, Meaning::unset);
  REQUIRE(store->read(question).status().code() == ErrorCode::SEQ_MEANING);
  REQUIRE(store->read({.binding = {}, .instance = {}}).status().code() == ErrorCode::CONFIG);
  REQUIRE(fixture.value("orders") == 100);
}

STORE_TEST("a reading sums up the leases of one instance and of all") {
  TestType fixture;
  auto store = fixture.open();
  fixture.put("orders", 4999, Meaning::last);
  auto request = lease_request("orders", 10, TestType::kTrace);
  const Token ours = request.instance;
  for (int i = 0; i < 70; ++i) {  // more than the tokens that are kept
    request.token = random_token(TestType::kTrace);
    REQUIRE(store->lease(request).kind == Kind::granted);
  }
  request.token = random_token(TestType::kTrace);
  request.instance = random_token();
  request.count = 7;
  REQUIRE(store->lease(request).kind == Kind::granted);
  require_refused(store->lease(lease_request("orders", 0, TestType::kTrace)), ErrorCode::INTERNAL);
  const CounterReading reading = read(*store, request.binding, ours);
  REQUIRE(reading.next_id == 5707);
  REQUIRE(reading.totals.has_value() == TestType::kCountsLeases);
  if (!TestType::kCountsLeases) return;
  REQUIRE(reading.totals->since == 5000);
  REQUIRE(reading.totals->ours.leases == 70);
  REQUIRE(reading.totals->ours.ids == 700);
  REQUIRE(reading.totals->all.leases == 71);
  REQUIRE(reading.totals->all.ids == 707);
  REQUIRE_FALSE(read(*store, lease_request("others", 1, TestType::kTrace).binding, ours).exists);
}

STORE_TEST("a claim wins once, repeats with its nonce, and loses otherwise") {
  TestType fixture;
  auto store = fixture.open();
  auto claim = [&](Token instance, std::uint64_t epoch, Token nonce) {
    auto outcome = store->claim({.instance = instance, .epoch = epoch, .nonce = nonce});
    INFO(outcome.status().to_string());
    REQUIRE(outcome.ok());
    return *outcome;
  };
  const Token us = random_token();
  const Token first = random_token();
  const Token second = random_token();
  REQUIRE(claim(us, 0, first) == ClaimOutcome::won);
  REQUIRE(claim(us, 0, first) == ClaimOutcome::won);
  REQUIRE(claim(us, 0, second) == ClaimOutcome::lost);
  REQUIRE(claim(us, 1, second) == ClaimOutcome::won);
  REQUIRE(claim(us, 1, second) == ClaimOutcome::won);
  REQUIRE(claim(us, 1, first) == ClaimOutcome::lost);
  REQUIRE(claim(us, 0, first) == ClaimOutcome::lost);   // an older copy of the state
  REQUIRE(claim(us, 5, second) == ClaimOutcome::lost);  // the store was set back
  REQUIRE(claim(random_token(), 3, second) == ClaimOutcome::lost);
  auto impossible = store->claim({.instance = us, .epoch = ~std::uint64_t{0}, .nonce = first});
  REQUIRE(impossible.status().code() == ErrorCode::STATE_CORRUPT);
}

STORE_TEST("of twenty racing claims of one epoch exactly one wins") {
  TestType fixture;
  auto store = fixture.open();
  const Token us = random_token();
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    std::atomic<int> won = 0;
    std::atomic<int> lost = 0;
    race(20, [&](int) {
      auto outcome = store->claim({.instance = us, .epoch = epoch, .nonce = random_token()});
      if (outcome.ok()) ++(*outcome == ClaimOutcome::won ? won : lost);
    });
    REQUIRE(won == 1);
    REQUIRE(lost == 19);
  }
}

STORE_TEST("an advance raises a counter in every meaning, never lowers it, and may be repeated") {
  TestType fixture;
  auto store = fixture.open();
  auto request = lease_request("orders", 10);
  request.binding.meaning = GENERATE(Meaning::last, Meaning::next);
  require_granted(store->lease(request), 1, 11);
  for (int delivery = 0; delivery < 2; ++delivery) {
    auto reached = store->advance({.binding = request.binding, .next_id = 500});
    REQUIRE(reached.ok());
    REQUIRE(*reached == 500);
  }
  REQUIRE(*store->advance({.binding = request.binding, .next_id = 400}) == 500);
  request.token = random_token();
  require_granted(store->lease(request), 500, 510);
  REQUIRE(*store->advance({.binding = request.binding, .next_id = 500}) == 510);
}

STORE_TEST("an advance makes a counter that is missing, with the mark others agree by") {
  TestType fixture;
  auto store = fixture.open();
  auto request = lease_request("orders", 10);
  request.binding.create = false;
  REQUIRE(*store->advance({.binding = request.binding, .next_id = 77}) == 77);
  request.high_water = 77;
  require_granted(store->lease(request), 77, 87);
  fixture.remove("orders");
  request.token = random_token();
  request.high_water = 87;
  require_refused(store->lease(request), ErrorCode::SEQ_REGRESSED);
  REQUIRE(*store->advance({.binding = request.binding, .next_id = 87}) == 87);
  request.token = random_token();
  require_granted(store->lease(request), 87, 97);
}

STORE_TEST("an advance of what is no counter changes nothing") {
  TestType fixture;
  auto store = fixture.open();
  const CounterBinding binding = lease_request("orders", 1).binding;
  for (const std::int64_t next_id : {std::int64_t{0}, std::int64_t{-1}}) {
    REQUIRE(store->advance({.binding = binding, .next_id = next_id}).status().code() ==
            ErrorCode::BAD_REQUEST);
  }
  REQUIRE(fixture.value("orders") == -1);
  fixture.put("orders", -5, Meaning::last);
  REQUIRE(store->advance({.binding = binding, .next_id = 10}).status().code() ==
          ErrorCode::SEQ_TYPE);
  REQUIRE(fixture.value("orders") == -5);
  fixture.put("orders", 5, Meaning::unset);
  REQUIRE(store->advance({.binding = binding, .next_id = 10}).status().code() ==
          ErrorCode::SEQ_MEANING);
  REQUIRE(fixture.value("orders") == 5);
  fixture.put("orders", 5, Meaning::last);
  REQUIRE(*store->advance({.binding = binding, .next_id = kHighestId}) == kHighestId);
}

// A sequence that was leased to its end, whose database was put back from an older copy.
STORE_TEST("a counter is advanced behind the highest ID of all") {
  TestType fixture;
  auto store = fixture.open();
  const Meaning meaning = GENERATE(Meaning::last, Meaning::next);
  fixture.put("orders", 5, meaning);
  auto request = lease_request("orders", 10);
  request.max_value = kHighestId;
  request.high_water = kHighestId + 1;
  require_refused(store->lease(request), ErrorCode::SEQ_REGRESSED);
  const bool withdraw = GENERATE(false, true);
  for (int times = 0; times < 2; ++times) {
    REQUIRE(*store->advance(
                {.binding = request.binding, .next_id = kHighestId + 1, .withdraw = withdraw}) ==
            kHighestId + 1);
  }
  request.token = random_token();
  require_refused(store->lease(request), ErrorCode::EXHAUSTED);
  REQUIRE(store->read({request.binding, request.instance})->next_id == kHighestId + 1);
}

STORE_TEST("advances and leases of many threads at once grant nothing twice") {
  TestType fixture;
  auto store = fixture.open();
  std::mutex mutex;
  std::vector<std::pair<std::int64_t, std::int64_t>> spans;
  race(4, [&](int thread) {
    for (int i = 0; i < 25; ++i) {
      if (thread == 0) {
        static_cast<void>(
            store->advance({.binding = lease_request("orders", 1).binding, .next_id = 40 * i + 1}));
        continue;
      }
      const LeaseOutcome outcome = store->lease(lease_request("orders", 10));
      if (outcome.kind != Kind::granted) continue;
      const std::lock_guard lock(mutex);
      spans.emplace_back(outcome.begin, outcome.end);
    }
  });
  std::sort(spans.begin(), spans.end());
  REQUIRE(spans.size() > 50);
  for (std::size_t i = 1; i < spans.size(); ++i) REQUIRE(spans[i - 1].second <= spans[i].first);
}

}  // namespace
}  // namespace seqd
