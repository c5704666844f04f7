// The contract of every store: leases and their tokens.
#include <limits>
#include <mutex>
#include <thread>

#include "tests/adapters/in_time.h"
#include "tests/adapters/store_contract.h"

namespace seqd {
namespace {

using namespace testing;
using Kind = LeaseOutcome::Kind;

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
  request.high_water = first + 10;
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
  std::string failure;
  int lost = 0;  // a server went away, and nothing tells what it had done
  race(8, [&](int i) {
    for (int n = 1; n <= 12; ++n) {
      LeaseRequest request = lease_request("orders", n, TestType::kTrace);
      request.instance.fill(static_cast<std::uint8_t>(i));
      const LeaseOutcome outcome =
          lease_until_decided(i % 2 == 0 ? *one : *two, request, TestType::kTrace);
      const std::lock_guard lock(mutex);
      if (outcome.kind == Kind::unknown) ++lost;
      if (outcome.kind == Kind::refused) failure = outcome.error.to_string();
      if (outcome.kind != Kind::granted) continue;
      spans.push_back({outcome.begin, outcome.end});
      sum += n;
    }
  });
  REQUIRE(failure == "");
  REQUIRE_IN_TIME(lost == 0);
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
    const LeaseOutcome outcome =
        lease_until_decided(i % 2 == 0 ? *one : *two, request, TestType::kTrace);
    const std::lock_guard lock(mutex);
    if (outcome.kind == Kind::granted) {
      spans.push_back({outcome.begin, outcome.end});
    } else {
      failure = outcome.error.to_string();
    }
  });
  REQUIRE(failure == "");
  require_exactly(spans, 1, 501);
}

STORE_TEST("a missing counter is not created when a high-water mark says it existed") {
  TestType fixture;
  auto store = fixture.open();
  auto request = lease_request("orders", 10, TestType::kTrace);
  require_granted(store->lease(request), 1, 11);
  fixture.remove("orders");
  request.token = random_token(TestType::kTrace);
  request.high_water = 11;
  require_refused(store->lease(request), ErrorCode::SEQ_REGRESSED);
  REQUIRE(fixture.value("orders") == -1);
}

STORE_TEST(
    "a counter below the high-water mark is refused unmoved, one at the high-water mark is not") {
  TestType fixture;
  auto store = fixture.open();
  const Meaning meaning = GENERATE(Meaning::last, Meaning::next);
  const std::int64_t next = meaning == Meaning::next ? 0 : 1;
  fixture.put("orders", 500 - next, meaning);  // the next ID is 500
  auto request = lease_request("orders", 10, TestType::kTrace);
  request.high_water = 501;
  require_refused(store->lease(request), ErrorCode::SEQ_REGRESSED);
  REQUIRE(fixture.value("orders") == 500 - next);
  request.token = random_token(TestType::kTrace);
  request.high_water = 500;
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

}  // namespace
}  // namespace seqd
