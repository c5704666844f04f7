// The words of the contract of every store: its cases run against an SQLite file, one MongoDB
// server, a replica set of three and DynamoDB Local, all of them real, and in every mode of
// leasing.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "daemon/store/counter_value.h"
#include "tests/adapters/store_fixtures.h"

#include <catch2/catch.hpp>

namespace seqd::testing {

#define STORE_TEST(name)                                                                         \
  TEMPLATE_TEST_CASE("Store: " name, "[store]", testing::SqliteFixture,                          \
                     testing::MongoAloneFixture, testing::MongoReplicaSetFixture,                \
                     testing::MongoAlonePlainFixture, testing::MongoReplicaSetPlainFixture,      \
                     testing::MongoReplicaSetSlotFixture, testing::MongoReplicaSetLedgerFixture, \
                     testing::DynamoFixture, testing::DynamoPlainFixture)

inline void require_granted(const LeaseOutcome& outcome, std::int64_t begin, std::int64_t end) {
  INFO(outcome.error.to_string());
  REQUIRE(outcome.kind == LeaseOutcome::Kind::granted);
  REQUIRE(outcome.begin == begin);
  REQUIRE(outcome.end == end);
}

inline void require_refused(const LeaseOutcome& outcome, ErrorCode code) {
  INFO(outcome.error.to_string());
  REQUIRE(outcome.kind == LeaseOutcome::Kind::refused);
  REQUIRE(error_name(outcome.error.code()) == error_name(code));
  REQUIRE(outcome.error.text().size() > 20);
}

// The return of the rest of what was leased.
inline ReturnRequest return_of(const LeaseRequest& lease, std::int64_t begin, std::int64_t end,
                               Reuse reuse, LeaseTrace trace) {
  ReturnRequest request;
  request.binding = lease.binding;
  request.token = random_token(trace);
  request.instance = lease.instance;
  request.sequence = lease.sequence;
  request.begin = begin;
  request.end = end;
  request.reuse = reuse;
  return request;
}

inline void require_returned(const ReturnOutcome& outcome) {
  INFO(outcome.error.to_string());
  REQUIRE(outcome.kind == ReturnOutcome::Kind::returned);
}

inline void require_kept(const ReturnOutcome& outcome, ErrorCode code) {
  INFO(outcome.error.to_string());
  REQUIRE(outcome.kind == ReturnOutcome::Kind::kept);
  REQUIRE(error_name(outcome.error.code()) == error_name(code));
  REQUIRE(outcome.error.text().size() > 20);
}

// A lease by another instance, which takes what is parked or not.
inline LeaseRequest of_another_host(const LeaseRequest& lease, bool take_parked, LeaseTrace trace) {
  LeaseRequest request = lease;
  request.token = random_token(trace);
  request.instance.fill(9);
  request.take_parked = take_parked;
  request.high_water = 0;
  return request;
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

// As the core does it: whatever was refused for a time is asked for again, by another token, and
// what may have been applied is looked up first. The last outcome where kPatientMs were not enough.
inline LeaseOutcome lease_until_decided(BlockingStore& store, LeaseRequest request,
                                        LeaseTrace trace) {
  using Kind = LeaseOutcome::Kind;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatientMs);
  LeaseOutcome outcome = store.lease(request);
  while (std::chrono::steady_clock::now() < end) {
    if (outcome.kind == Kind::unknown) {
      const Resolution found = store.resolve(request);
      if (found.kind == Resolution::Kind::untraceable) break;
      if (found.kind == Resolution::Kind::granted) {
        outcome.kind = Kind::granted;
        outcome.begin = found.begin;
        outcome.end = found.end;
        outcome.parked = found.parked;
      } else if (found.kind == Resolution::Kind::absent) {
        outcome.kind = Kind::refused;
        outcome.contended = true;
      }
    }
    const bool again = outcome.contended || outcome.error.code() == ErrorCode::UNAVAILABLE;
    if (outcome.kind == Kind::granted || (outcome.kind == Kind::refused && !again)) break;
    std::this_thread::yield();
    if (outcome.kind == Kind::unknown) continue;
    request.token = random_token(trace);
    outcome = store.lease(request);
  }
  return outcome;
}

// The spans, in any order, are exactly [begin, end): nothing twice, nothing left out.
inline void require_exactly(std::vector<LeasedSpan> spans, std::int64_t begin, std::int64_t end) {
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

}  // namespace seqd::testing
