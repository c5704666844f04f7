// The contract of every store: the same cases against an SQLite file, one MongoDB server and a
// replica set of three, all of them real, and in every mode of leasing.
#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

#include "daemon/store/counter_value.h"
#include "tests/adapters/store_fixtures.h"

// After the project's headers: both define CHECK, and here Catch's is meant.
#include <catch2/catch.hpp>

namespace seqd {
namespace {

using testing::lease_request;
using testing::random_token;

using Kind = LeaseOutcome::Kind;

#define STORE_TEST(name)                                                                    \
  TEMPLATE_TEST_CASE("Store: " name, "[store]", testing::SqliteFixture,                     \
                     testing::MongoAloneFixture, testing::MongoReplicaSetFixture,           \
                     testing::MongoAlonePlainFixture, testing::MongoReplicaSetPlainFixture, \
                     testing::MongoReplicaSetSlotFixture)

void require_granted(const LeaseOutcome& outcome, std::int64_t begin, std::int64_t end) {
  INFO(outcome.error.to_string());
  REQUIRE(outcome.kind == Kind::granted);
  REQUIRE(outcome.begin == begin);
  REQUIRE(outcome.end == end);
}

void require_refused(const LeaseOutcome& outcome, ErrorCode code) {
  INFO(outcome.error.to_string());
  REQUIRE(outcome.kind == Kind::refused);
  REQUIRE(error_name(outcome.error.code()) == error_name(code));
  REQUIRE(outcome.error.text().size() > 20);
}

// Runs `body(i)` in `count` threads that start together.
template <typename Body>
void race(int count, Body body) {
  std::atomic<int> ready = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&ready, count, i, body] {
      ++ready;
      while (ready < count) std::this_thread::yield();
      body(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The spans, in any order, are exactly [begin, end): nothing twice, nothing left out.
void require_exactly(std::vector<LeasedSpan> spans, std::int64_t begin, std::int64_t end) {
  std::sort(spans.begin(), spans.end(),
            [](LeasedSpan a, LeasedSpan b) { return a.begin < b.begin; });
  std::int64_t at = begin;
  for (const LeasedSpan span : spans) {
    REQUIRE(span.begin == at);
    REQUIRE(span.end > span.begin);
    at = span.end;
  }
  REQUIRE(at == end);
}

STORE_TEST("a new counter begins at first_id in every meaning and goes on without a hole") {
  TestType fixture;
  auto store = fixture.open();
  const Meaning meaning = GENERATE(Meaning::unset, Meaning::last, Meaning::next);
  const std::int64_t first = GENERATE(std::int64_t{1}, std::int64_t{1000});
  auto request = lease_request("orders", 10, TestType::kTrace);
  request.binding.meaning = meaning;
  request.binding.first_id = first;
  require_granted(store->lease(request), first, first + 10);
  request.token = random_token(TestType::kTrace);
  request.guard = first + 10;
  request.count = 5;
  require_granted(store->lease(request), first + 10, first + 15);
  REQUIRE(fixture.value("orders") == (meaning == Meaning::next ? first + 15 : first + 14));
}

STORE_TEST("grants of many threads and two handles are disjoint and complete") {
  TestType fixture;
  auto one = fixture.open();
  auto two = fixture.open();
  std::mutex mutex;
  std::vector<LeasedSpan> spans;
  std::int64_t sum = 0;
  race(8, [&](int i) {
    for (int n = 1; n <= 12; ++n) {
      LeaseRequest request = lease_request("orders", n, TestType::kTrace);
      request.instance.fill(static_cast<std::uint8_t>(i));
      const LeaseOutcome outcome = (i % 2 == 0 ? one : two)->lease(request);
      const std::lock_guard lock(mutex);
      if (outcome.kind != Kind::granted) continue;  // found below: the sum is short
      spans.push_back({outcome.begin, outcome.end});
      sum += n;
    }
  });
  REQUIRE(spans.size() == 8 * 12);
  require_exactly(spans, 1, sum + 1);
}

STORE_TEST("fifty racing first leases of an empty store create one counter") {
  TestType fixture;
  auto one = fixture.open();
  auto two = fixture.open();
  std::mutex mutex;
  std::vector<LeasedSpan> spans;
  std::string failure;
  race(50, [&](int i) {
    LeaseRequest request = lease_request("orders", 10, TestType::kTrace);
    request.instance.fill(static_cast<std::uint8_t>(i));
    const LeaseOutcome outcome = (i % 2 == 0 ? one : two)->lease(request);
    const std::lock_guard lock(mutex);
    if (outcome.kind == Kind::granted) {
      spans.push_back({outcome.begin, outcome.end});
    } else {
      failure = outcome.error.to_string();
    }
  });
  REQUIRE(failure.empty());
  require_exactly(spans, 1, 501);
}

STORE_TEST("a missing counter is not created when a guard says it existed") {
  TestType fixture;
  auto store = fixture.open();
  auto request = lease_request("orders", 10, TestType::kTrace);
  require_granted(store->lease(request), 1, 11);
  fixture.remove("orders");
  request.token = random_token(TestType::kTrace);
  request.guard = 11;
  require_refused(store->lease(request), ErrorCode::SEQ_REGRESSED);
  REQUIRE(fixture.value("orders") == -1);
}

STORE_TEST("a counter below the guard is refused unmoved, one at the guard is not") {
  TestType fixture;
  auto store = fixture.open();
  const Meaning meaning = GENERATE(Meaning::last, Meaning::next);
  const std::int64_t next = meaning == Meaning::next ? 0 : 1;
  fixture.put("orders", 500 - next, meaning);  // the next ID is 500
  auto request = lease_request("orders", 10, TestType::kTrace);
  request.guard = 501;
  require_refused(store->lease(request), ErrorCode::SEQ_REGRESSED);
  REQUIRE(fixture.value("orders") == 500 - next);
  request.token = random_token(TestType::kTrace);
  request.guard = 500;
  require_granted(store->lease(request), 500, 510);
}

STORE_TEST("the last lease is shortened, then the counter is exhausted unmoved") {
  TestType fixture;
  auto store = fixture.open();
  const Meaning meaning = GENERATE(Meaning::last, Meaning::next);
  auto request = lease_request("orders", 10, TestType::kTrace);
  request.binding.meaning = meaning;
  request.max_value = 25;
  for (const std::int64_t begin : {1, 11}) {
    request.token = random_token(TestType::kTrace);
    require_granted(store->lease(request), begin, begin + 10);
  }
  request.token = random_token(TestType::kTrace);
  require_granted(store->lease(request), 21, 26);
  const std::int64_t value = fixture.value("orders");
  request.token = random_token(TestType::kTrace);
  require_refused(store->lease(request), ErrorCode::EXHAUSTED);
  REQUIRE(fixture.value("orders") == value);
}

STORE_TEST("a counter passes 2^31 and 2^53 and ends below 2^63 without overflow") {
  TestType fixture;
  auto store = fixture.open();
  constexpr std::int64_t kTop = std::numeric_limits<std::int64_t>::max();
  const Meaning meaning = GENERATE(Meaning::last, Meaning::next);
  const std::int64_t next = meaning == Meaning::next ? 1 : 0;
  auto request = lease_request("orders", 10, TestType::kTrace);
  request.max_value = kTop;
  for (const std::int64_t last : {(std::int64_t{1} << 31) - 3, (std::int64_t{1} << 53) - 3}) {
    fixture.put("orders", last + next, meaning);
    request.token = random_token(TestType::kTrace);
    require_granted(store->lease(request), last + 1, last + 11);
  }
  fixture.put("orders", kTop - 4 + next, meaning);
  request.token = random_token(TestType::kTrace);
  require_granted(store->lease(request), kTop - 3, kTop);
  request.token = random_token(TestType::kTrace);
  require_refused(store->lease(request), ErrorCode::EXHAUSTED);
  fixture.put("orders", kTop, meaning);
  request.token = random_token(TestType::kTrace);
  require_refused(store->lease(request), ErrorCode::EXHAUSTED);
}

STORE_TEST("an existing counter without a mark needs a configured meaning") {
  TestType fixture;
  auto store = fixture.open();
  fixture.put("orders", 100, Meaning::unset);
  auto request = lease_request("orders", 10, TestType::kTrace);
  require_refused(store->lease(request), ErrorCode::SEQ_MEANING);
  REQUIRE(fixture.value("orders") == 100);
  request.token = random_token(TestType::kTrace);
  request.binding.meaning = Meaning::last;
  require_granted(store->lease(request), 101, 111);
  request.token = random_token(TestType::kTrace);
  request.binding.meaning = Meaning::next;
  fixture.put("orders", 100, Meaning::unset);
  require_granted(store->lease(request), 100, 110);
}

STORE_TEST("a mark in the store is believed, and contradicting it is refused unmoved") {
  TestType fixture;
  auto store = fixture.open();
  fixture.put("orders", 100, Meaning::next);
  auto request = lease_request("orders", 10, TestType::kTrace);
  require_granted(store->lease(request), 100, 110);
  request.token = random_token(TestType::kTrace);
  request.binding.meaning = Meaning::last;
  require_refused(store->lease(request), ErrorCode::SEQ_MEANING);
  REQUIRE(fixture.value("orders") == 110);
}

STORE_TEST("numbers below the lowest legal one are refused") {
  TestType fixture;
  auto store = fixture.open();
  auto request = lease_request("orders", 10, TestType::kTrace);
  fixture.put("orders", -1, Meaning::last);
  require_refused(store->lease(request), ErrorCode::SEQ_TYPE);
  fixture.put("orders", 0, Meaning::next);
  require_refused(store->lease(request), ErrorCode::SEQ_TYPE);
  fixture.put("orders", std::numeric_limits<std::int64_t>::min(), Meaning::next);
  require_refused(store->lease(request), ErrorCode::SEQ_TYPE);
}

STORE_TEST("a counter that may not be created is named, and not created") {
  TestType fixture;
  auto store = fixture.open();
  auto request = lease_request("orders", 10, TestType::kTrace);
  request.binding.create = false;
  require_refused(store->lease(request), ErrorCode::NO_SEQUENCE);
  REQUIRE(fixture.value("orders") == -1);
}

STORE_TEST("requests that cannot be served are refused with their reason") {
  TestType fixture;
  auto store = fixture.open();
  auto request = lease_request("", 10, TestType::kTrace);
  require_refused(store->lease(request), ErrorCode::CONFIG);
  request = lease_request(std::string("a\0b", 3), 10, TestType::kTrace);
  require_refused(store->lease(request), ErrorCode::CONFIG);
  request = lease_request("orders", 0, TestType::kTrace);
  require_refused(store->lease(request), ErrorCode::INTERNAL);
  request = lease_request("orders", 1, TestType::kTrace);
  request.max_value = 0;
  require_refused(store->lease(request), ErrorCode::CONFIG);
  request = lease_request("orders", 1, TestType::kTrace);
  request.binding.first_id = 0;
  require_refused(store->lease(request), ErrorCode::CONFIG);
}

STORE_TEST("an applied lease is found by its token where tokens are kept") {
  TestType fixture;
  auto store = fixture.open();
  const auto request = lease_request("orders", 10, TestType::kTrace);
  require_granted(store->lease(request), 1, 11);
  const Resolution resolution = store->resolve(request);
  if (!TestType::kTracesTokens) {
    REQUIRE(resolution.kind == Resolution::Kind::untraceable);
    return;
  }
  REQUIRE(resolution.kind == Resolution::Kind::granted);
  REQUIRE(resolution.begin == 1);
  REQUIRE(resolution.end == 11);
  // Delivered again, it is the same lease.
  require_granted(store->lease(request), 1, 11);
  REQUIRE(fixture.value("orders") == 10);
}

STORE_TEST("a token that is absent is voided, and its late request refused") {
  TestType fixture;
  auto store = fixture.open();
  require_granted(store->lease(lease_request("orders", 10, TestType::kTrace)), 1, 11);
  const auto late = lease_request("orders", 10, TestType::kTrace);
  const Resolution resolution = store->resolve(late);
  if (!TestType::kTracesTokens) {
    REQUIRE(resolution.kind == Resolution::Kind::untraceable);
    return;
  }
  REQUIRE(resolution.kind == Resolution::Kind::absent);
  require_refused(store->lease(late), ErrorCode::STORE_REFUSED);
  REQUIRE(store->resolve(late).kind == Resolution::Kind::absent);
  REQUIRE(fixture.value("orders") == 10);
}

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
  request.guard = 77;
  require_granted(store->lease(request), 77, 87);
  fixture.remove("orders");
  request.token = random_token();
  request.guard = 87;
  require_refused(store->lease(request), ErrorCode::SEQ_REGRESSED);
  REQUIRE(*store->advance({.binding = request.binding, .next_id = 87}) == 87);
  request.token = random_token();
  require_granted(store->lease(request), 87, 97);
}

STORE_TEST("an advance of what is no counter changes nothing") {
  TestType fixture;
  auto store = fixture.open();
  const CounterBinding binding = lease_request("orders", 1).binding;
  for (const std::int64_t next_id : {std::int64_t{0}, std::int64_t{-1}, kHighestId + 1}) {
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
