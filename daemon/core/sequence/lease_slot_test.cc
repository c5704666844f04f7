// When a sequence leases, how much, and what it does with what the store answers.
#include <algorithm>

#include "tests/unit/orders.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using LeaseKind = ScriptedStore::LeaseScript::Kind;
using ResolveKind = ScriptedStore::ResolveScript::Kind;
using Runs = std::vector<Run>;

const Status kAway(ErrorCode::UNAVAILABLE, "away");
const Status kDenied(ErrorCode::STORE_REFUSED, "denied");

TEST_CASE("RangeMayTakeSeveralLeases", "[sequence]") {
  Orders orders([](SequenceSettings& settings) { settings.lease_max = 20; });
  REQUIRE_FALSE(orders.world.range("orders", 50, caller(1)));
  orders.world.settle();
  REQUIRE(orders.world.store.lease_calls.size() >= 3);
  REQUIRE(orders.sent().size() == 1);
  REQUIRE(orders.sent()[0].runs == Runs{{1, 50, 1}});
}

TEST_CASE("RangeOverLeasesThatDoNotFollowHasSeveralRuns", "[sequence]") {
  Orders orders([](SequenceSettings& settings) { settings.lease_max = 20; });
  orders.fill();  // 2..10
  orders.world.store.next_id["orders"] = 101;
  REQUIRE_FALSE(orders.world.range("orders", 15, caller(1)));
  orders.world.settle();
  REQUIRE(orders.sent().size() == 1);
  REQUIRE(orders.sent()[0].runs == Runs{{2, 9, 1}, {101, 6, 1}});
  REQUIRE(orders.sequence().totals().issued == 16);
}

// A store that answers at once would otherwise lose one range after another, as fast as it can.
TEST_CASE("UntraceableLeasesAreAskedForMoreAndMoreSeldom", "[sequence]") {
  Orders orders;
  for (int time = 0; time < 10; ++time) {
    orders.world.store.leases.push_back({LeaseKind::unknown_applied, kAway});
    orders.world.store.resolutions.push_back({ResolveKind::untraceable});
  }
  static_cast<void>(orders.world.next("orders", caller(1), 3'600'000));
  orders.world.settle();
  orders.world.advance(1);
  orders.world.settle();
  REQUIRE(orders.world.store.lease_calls.size() == 1);
  for (int second = 0; second < 60 && orders.sent().empty(); ++second) {
    orders.world.advance(1'000);
    orders.world.settle();
    if (second == 0) REQUIRE(orders.world.store.lease_calls.size() < 8);
  }
  REQUIRE(orders.world.store.lease_calls.size() == 11);
  REQUIRE(orders.sent().size() == 1);
  REQUIRE(orders.sequence().totals().unknown == 10);
}

TEST_CASE("NextLeaseIsFetchedBeforeTheLastOneEnds", "[sequence]") {
  Orders orders;
  orders.fill();
  REQUIRE(orders.world.store.lease_calls.size() == 1);
  std::int64_t id = 2;
  while (orders.world.store.lease_calls.size() == 1) {
    REQUIRE(orders.world.next("orders") == id++);
    orders.world.settle();
  }
  REQUIRE(id < 10);
}

TEST_CASE("UnusedSequenceLeasesNothing", "[sequence]") {
  Orders orders;
  orders.fill();
  for (int at = 0; at < 100; ++at) orders.world.advance(60'000);
  REQUIRE(orders.world.store.lease_calls.size() == 1);
}

TEST_CASE("LeasesGrowWithTheRate", "[sequence]") {
  Orders orders;
  for (int second = 0; second < 60; ++second) {
    for (int at = 0; at < 100; ++at) static_cast<void>(orders.world.next("orders", caller(1)));
    orders.world.settle();
    orders.world.advance(1'000);
  }
  REQUIRE(orders.world.store.lease_calls.back().count >= 500);
  REQUIRE(orders.world.store.lease_calls.back().count <= 1'600);
  REQUIRE(orders.world.store.lease_calls.size() < 40);
}

TEST_CASE("AvailableNeverExceedsTheGapBudget", "[sequence]") {
  Orders orders([](SequenceSettings& settings) { settings.max_available = 40; });
  for (int at = 0; at < 500; ++at) {
    static_cast<void>(orders.world.range("orders", 1 + orders.world.random.below(40), caller(1)));
    orders.world.settle();
    REQUIRE(orders.sequence().available() <= 40);
  }
  REQUIRE(orders.sent().size() + 500 >= 500);
  REQUIRE(orders.sequence().waiters().size() == 0);
}

TEST_CASE("PermanentErrorIsAnsweredAtOnceAndTriedAgainAfterThePause", "[sequence]") {
  Orders orders;
  orders.world.store.leases = {{LeaseKind::refuse, kDenied, 0, 0}};
  REQUIRE_FALSE(orders.world.next("orders", caller(1)));
  orders.world.settle();
  REQUIRE(orders.sent().size() == 1);
  REQUIRE(orders.sent()[0].status.code() == ErrorCode::STORE_REFUSED);
  REQUIRE(state_name(orders.sequence()) == "stopped");
  // During the pause callers hear the same without waiting.
  REQUIRE_FALSE(orders.world.next("orders", caller(2)));
  REQUIRE(orders.world.status.code() == ErrorCode::STORE_REFUSED);
  orders.world.advance(Backoff::kMostMs);
  REQUIRE_FALSE(orders.world.next("orders", caller(3)));
  REQUIRE(orders.world.status.ok());
  orders.world.settle();
  REQUIRE(orders.sent().back().runs == Runs{{1, 1, 1}});
  REQUIRE(request_error(orders.sequence()).ok());
}

TEST_CASE("ASequenceThatMeetsOthersAtItsCounterIsServedSoonAndItsStoreIsReady", "[sequence]") {
  Orders orders;
  for (int at = 0; at < 30; ++at)
    orders.world.store.leases.push_back({LeaseKind::refuse, kAway, 0, 0, true});
  REQUIRE_FALSE(orders.world.next("orders", caller(1)));
  const std::int64_t began_ms = orders.world.time.monotonic_ms();
  for (int at = 0; orders.sent().empty() && at < 1'000; ++at) {
    orders.world.settle();
    orders.world.advance(10);
  }
  REQUIRE(orders.world.store.leases.empty());
  REQUIRE(orders.sent().size() == 1);
  REQUIRE(orders.sent()[0].runs == Runs{{1, 1, 1}});
  REQUIRE(orders.world.time.monotonic_ms() - began_ms <= 31 * Backoff::kMostConflictMs);
  REQUIRE(orders.world.events.count(EventKind::store_down) == 0);
}

TEST_CASE("HostsThatMeetAreNoFailureUnlessItGoesOnForLong", "[sequence]") {
  const bool long_enough = GENERATE(false, true);
  Orders orders;
  orders.world.store.leases.assign(long_enough ? 50 : 49, {LeaseKind::refuse, kAway, 0, 0, true});
  REQUIRE_FALSE(orders.world.next("orders", caller(1), 3'600'000));
  for (int at = 0; orders.sent().empty() && at < 1'000; ++at) {
    orders.world.settle();
    orders.world.advance(10);
  }
  REQUIRE(orders.sent().size() == 1);
  REQUIRE(orders.world.events.count(EventKind::lease_failed) == (long_enough ? 1 : 0));
}

TEST_CASE("RequestsFailWhereTheStoreWillLoseTheNextRangeToo", "[sequence]") {
  const bool passes = GENERATE(true, false);
  Orders orders;
  orders.world.store.leases = {{LeaseKind::unknown_lost, passes ? kAway : kDenied, 0, 0}};
  orders.world.store.resolutions = {{ResolveKind::untraceable}};
  REQUIRE_FALSE(orders.world.next("orders", caller(1)));
  orders.world.settle();
  REQUIRE(orders.sequence().totals().unknown == 1);
  REQUIRE(orders.sent().empty() == passes);
  if (!passes) REQUIRE(orders.sent()[0].status.code() == ErrorCode::STORE_REFUSED);
}

// What is not known stays open: the next start looks it up.
TEST_CASE("AfterAStopNoLeaseIsTriedOrLookedUp", "[sequence]") {
  const auto kind = GENERATE(LeaseKind::refuse, LeaseKind::unknown_applied);
  const int answers = GENERATE(0, 1, 2);  // before the stop: of the lease, of a look-up
  Orders orders;
  orders.world.store.leases = {{kind, kAway, 0, 0}};
  orders.world.store.resolutions = {{ResolveKind::failed, kAway, 0, 0}};
  REQUIRE_FALSE(orders.world.next("orders", caller(1)));
  orders.world.turn();
  orders.world.flush();
  for (int answer = 0; answer < answers; ++answer) orders.world.store.deliver();
  orders.world.table->begin_stop({ErrorCode::STOPPING, "stop"});
  orders.world.settle();
  orders.world.advance(60'000);
  orders.world.settle();
  REQUIRE_FALSE(in_flight(orders.sequence()));
  REQUIRE(orders.world.store.lease_calls.size() == 1);
  const bool unknown = kind == LeaseKind::unknown_applied;
  REQUIRE(orders.world.store.resolve_calls.size() == (unknown && answers > 0 ? 1 : 0));
  REQUIRE(orders.sequence().slot().leasing() == unknown);
}

TEST_CASE("PermanentErrorDoesNotKeepBackWhatIsAvailable", "[sequence]") {
  Orders orders([](SequenceSettings& settings) {
    settings.lease_min = settings.lease_max = 100;
    settings.max_value = 100;
  });
  orders.fill();  // 2..100 available, of which some are reserved
  orders.world.restart();
  for (SessionId session = 1; session <= 99; ++session) {
    REQUIRE_FALSE(orders.world.next("orders", caller(session)));
  }
  REQUIRE_FALSE(orders.world.next("orders", caller(100)));
  orders.world.settle();
  REQUIRE(orders.sent().size() == 100);
  for (const Answer& answer : orders.sent()) {
    CAPTURE(answer.caller.session, answer.status.to_string());
    REQUIRE(answer.status.ok() == (answer.caller.session <= 99));
  }
}

TEST_CASE("PassingErrorIsWaitedOut", "[sequence]") {
  Orders orders;
  orders.world.store.leases = {{LeaseKind::refuse, kAway, 0, 0}, {LeaseKind::refuse, kAway, 0, 0}};
  REQUIRE_FALSE(orders.world.next("orders", caller(1), 3'600'000));
  orders.world.settle();
  REQUIRE(orders.sent().empty());
  REQUIRE(request_error(orders.sequence()).code() == ErrorCode::UNAVAILABLE);
  for (int at = 0; at < 3; ++at) {
    orders.world.advance(200);
    orders.world.settle();
  }
  REQUIRE(orders.sent().size() == 1);
  REQUIRE(orders.sent()[0].status.ok());
}

TEST_CASE("TimeOutNamesTheCause", "[sequence]") {
  Orders orders;
  orders.world.store.leases = {{LeaseKind::refuse, kAway, 0, 0}};
  REQUIRE_FALSE(orders.world.next("orders", caller(1), 10));
  orders.world.settle();
  orders.world.advance(10);
  REQUIRE(orders.sent()[0].status.text().find("away") != std::string::npos);
}

// Whoever waits is served after an outcome that was unknown, whatever became of it.
TEST_CASE("WaitersOutlastAnUnknownOutcome", "[sequence]") {
  const auto resolution =
      GENERATE(ResolveKind::truth, ResolveKind::untraceable, ResolveKind::failed);
  const auto kind = GENERATE(LeaseKind::unknown_applied, LeaseKind::unknown_lost);
  Orders orders;
  orders.world.store.leases = {{kind, kAway, 0, 0}};
  orders.world.store.resolutions = {{resolution, kAway, 0, 0}};
  REQUIRE_FALSE(orders.world.next("orders", caller(1)));
  orders.world.settle();
  orders.world.advance(100);
  orders.world.settle();
  REQUIRE(orders.sent().size() == 1);
  REQUIRE(orders.sent()[0].status.ok());
}

TEST_CASE("UntraceableLeaseIsCounted", "[sequence]") {
  Orders orders;
  orders.world.store.leases = {{LeaseKind::unknown_applied, kAway, 0, 0}};
  orders.world.store.resolutions = {{ResolveKind::untraceable, kAway, 0, 0}};
  REQUIRE_FALSE(orders.world.next("orders", caller(1)));
  orders.world.settle();
  REQUIRE(orders.sequence().totals().unknown == 1);
}

TEST_CASE("CounterSetBackStopsTheSequence", "[sequence]") {
  Orders orders;
  orders.fill();
  orders.world.store.leases = {{LeaseKind::wrong, {}, 1, 5}};
  for (int at = 0; at < 9; ++at) static_cast<void>(orders.world.next("orders", caller(1)));
  orders.world.settle();
  REQUIRE(state_name(orders.sequence()) == "stopped");
  REQUIRE(request_error(orders.sequence()).code() == ErrorCode::SEQ_REGRESSED);
  REQUIRE(orders.world.events.count(EventKind::sequence_stopped) == 1);
  orders.world.advance(60'000);
  static_cast<void>(orders.world.next("orders", caller(2)));
  REQUIRE(orders.world.status.code() == ErrorCode::SEQ_REGRESSED);
  orders.world.settle();
  REQUIRE(orders.world.store.lease_calls.size() == 2);
}

TEST_CASE("RegressionReportedByTheStoreFailsWaitingRequests", "[sequence]") {
  Orders orders;
  orders.fill();
  orders.world.store.next_id["orders"] = 5;
  REQUIRE_FALSE(orders.world.range("orders", 30, caller(1)));
  orders.world.settle();
  REQUIRE(orders.sent().back().status.code() == ErrorCode::SEQ_REGRESSED);
}

TEST_CASE("LastIdsAreIssuedAndThenTheSequenceIsExhausted", "[sequence]") {
  Orders orders([](SequenceSettings& settings) { settings.max_value = 15; });
  std::int64_t issued = 0;
  for (int at = 0; at < 15; ++at) {
    if (const auto id = orders.world.next("orders", caller(1))) issued = *id;
    orders.world.settle();
    if (!orders.sent().empty()) issued = std::max(issued, orders.sent().back().runs.front().first);
    orders.world.advance(20'000);
  }
  REQUIRE(issued == 15);
  static_cast<void>(orders.world.next("orders", caller(2)));
  orders.world.settle();
  if (orders.world.status.ok()) {
    REQUIRE(orders.sent().back().status.code() == ErrorCode::EXHAUSTED);
  } else {
    REQUIRE(orders.world.status.code() == ErrorCode::EXHAUSTED);
  }
}

// Somebody edited the records of returned ranges, or put them back from a copy.
TEST_CASE("ReturnedRangeWithAnIdThatIsAvailableIsNotIssued", "[sequence]") {
  Orders orders([](SequenceSettings& settings) {
    settings.reuse = Reuse::parked;
    settings.lease_min = settings.lease_max = 20;
  });
  orders.fill();  // 2..20
  orders.world.store.parked["orders"] = {{20, 25}};
  static_cast<void>(orders.world.range("orders", 30, caller(1)));
  orders.world.settle();
  CHECK(orders.world.store.took_parked.size() == 1);
  REQUIRE(orders.sent().size() == 1);
  CHECK(orders.sent().back().status.code() == ErrorCode::SEQ_REGRESSED);
  CHECK(orders.sequence().stop_error().code() == ErrorCode::SEQ_REGRESSED);
  CHECK(orders.sequence().totals().unknown == 1);
}

// The next start would refuse what is available twice.
TEST_CASE("ReturnedRangeWithAnIdThatIsOutInABlockIsNotIssued", "[sequence]") {
  Orders orders([](SequenceSettings& settings) {
    settings.reuse = Reuse::parked;
    settings.lease_min = settings.lease_max = 20;
  });
  orders.fill();  // 2..20
  CoreWorld& world = orders.world;
  const ClientId client = world.table->replays().attach(Token{1}, 1'000)->client;
  REQUIRE(world.table->blocks().prepare_grant(client, 1'000).ok());
  const Result<Run> block = orders.sequence().grant_block({5, 1, client, 1'000}, 0, 19);
  REQUIRE(block.ok());
  REQUIRE(block->first == 2);
  world.store.parked["orders"] = {{1, 3}};
  static_cast<void>(world.range("orders", 30, caller(1)));
  world.settle();
  CHECK(world.store.took_parked.size() == 1);
  REQUIRE(orders.sent().size() == 1);
  CHECK(orders.sent().back().status.code() == ErrorCode::SEQ_REGRESSED);
  CHECK(orders.sequence().stop_error().code() == ErrorCode::SEQ_REGRESSED);
  CHECK(world.log.image.check().ok());
}

// Its total would be beyond all numbers. What comes and goes is counted each time.
TEST_CASE("RangesAreNotLeasedBeyondWhatCanBeCounted", "[sequence]") {
  constexpr std::int64_t kLongest = std::int64_t{1} << 53;
  Orders orders([](SequenceSettings& settings) { settings.reuse = Reuse::parked; });
  CoreWorld& world = orders.world;
  world.store.parked["orders"] = {{1, 1 + kLongest}};
  world.store.next_id["orders"] = 10 + kLongest;
  int times = 0;
  for (; times < 1'100; ++times) {
    static_cast<void>(world.next("orders", {}, 1'000));
    world.settle();
    if (!orders.sent().back().status.ok()) break;
    orders.sequence().drain(world.time.monotonic_ms() + 1'000, [](const DrainReport&) {});
    world.settle();
  }
  CHECK(times == 1'024);
  CHECK(orders.sent().back().status.code() == ErrorCode::STORE_REFUSED);
  CHECK(orders.sequence().totals().leased > 0);
  CHECK(world.log.image.check().ok());
}

}  // namespace
}  // namespace seqd
