#include "daemon/core/leasing/lease_operation.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/world.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using State = LeaseOperation::State;
using LeaseKind = ScriptedStore::LeaseScript::Kind;
using ResolveKind = ScriptedStore::ResolveScript::Kind;

const Status kAway(ErrorCode::UNAVAILABLE, "away");
const Status kDenied(ErrorCode::STORE_REFUSED, "denied");

// The operation alone, with a store and a log that the test steps.
struct Leasing final : LeaseOperation::Owner {
  Leasing() {
    operation.set_store(&store);
    request.binding.key = "orders";
    request.max_value = 1'000'000;
  }
  LeaseRequest lease_request() const override { return request; }
  void when_durable(std::function<void()> then) override { awaiting.push_back(std::move(then)); }
  bool holds_some_of(std::int64_t begin, std::int64_t end) const override {
    return std::any_of(ranges.begin(), ranges.end(), [&](const auto& range) {
      return range.first < end && begin < range.second;
    });
  }
  Status check_counter_kept() const override { return {}; }
  void lease_granted(IdRange range, const Token&) override {
    ranges.emplace_back(range.begin(), range.end());
    request.high_water = range.end();
  }
  void lease_failed(const Status& status) override { failures.push_back(status.code()); }
  void lease_contended() override { ++contended; }
  void lease_untraceable() override { ++untraceable; }
  void lease_moved_on() override { ++moves; }
  bool may_ask() const override { return may_ask_now; }
  void met_older_copy() override { ++older_copies; }

  // Until the answer of the store is due.
  void send(std::int64_t count) {
    operation.start(count);
    flush();
  }
  void flush() {
    for (const auto& then : std::exchange(awaiting, {})) then();
  }
  void pause_over() { time.advance(Backoff::kMostMs); }
  std::size_t closed(LeaseEnd how) {
    std::size_t count = 0;
    for (const LogEntry& entry : log.entries) {
      const auto* close = std::get_if<LeaseClosed>(&entry);
      count += close != nullptr && close->how == how ? 1 : 0;
    }
    return count;
  }

  struct PlainLog final : RemainderLog {
    void append(const LogEntry& entry) override { entries.push_back(entry); }
    LogPosition next_position() const override { return 1; }
    void make_durable() override {}
    Status commit() override { return {}; }
    bool accepting() const override { return true; }
    std::vector<LogEntry> entries;
  };

  VirtualTime time;
  SeededRandom random{3};
  PlainLog log;
  RecordedEvents events;
  RecordedReplies replies;
  ScriptedStore store;
  CoreContext context{time, time, random, log, events, replies};
  LeaseRequest request;
  std::vector<std::function<void()>> awaiting;
  int moves = 0;
  int contended = 0;
  int older_copies = 0;
  bool may_ask_now = true;
  int untraceable = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  std::vector<ErrorCode> failures;
  LeaseOperation operation{context, *this, 1, "orders"};
};

TEST_CASE("GrantIsRecordedBeforeTheOwnerSeesIt", "[lease_operation]") {
  Leasing leasing;
  leasing.operation.start(10);
  REQUIRE(leasing.operation.state() == State::recording);
  REQUIRE(leasing.awaiting.size() == 1);
  REQUIRE(leasing.operation.leasing() == 10);
  REQUIRE(leasing.store.lease_calls.empty());
  leasing.flush();
  REQUIRE(leasing.operation.state() == State::requesting);
  REQUIRE(leasing.store.deliver());
  REQUIRE(leasing.operation.idle());
  REQUIRE(leasing.ranges.front() == std::pair<std::int64_t, std::int64_t>(1, 11));
  REQUIRE(leasing.log.entries.size() == 2);
  REQUIRE(std::get<LeaseGranted>(leasing.log.entries[1]).lease ==
          std::get<LeaseIntended>(leasing.log.entries[0]).lease);
  REQUIRE(leasing.operation.leasing() == 0);
}

TEST_CASE("RefusalPausesAndThenTheOwnerDecides", "[lease_operation]") {
  Leasing leasing;
  leasing.store.leases = {{LeaseKind::refuse, kAway, 0, 0}};
  leasing.send(10);
  leasing.store.deliver();
  REQUIRE(leasing.operation.state() == State::pausing);
  REQUIRE_FALSE(leasing.operation.intent_open());
  REQUIRE(leasing.failures == std::vector{ErrorCode::UNAVAILABLE});
  REQUIRE(leasing.operation.last_error().code() == ErrorCode::UNAVAILABLE);
  REQUIRE(leasing.closed(LeaseEnd::refused) == 1);
  leasing.pause_over();
  REQUIRE(leasing.operation.idle());
  REQUIRE(leasing.moves == 1);
  leasing.send(10);
  leasing.store.deliver();
  REQUIRE(leasing.operation.last_error().ok());
}

TEST_CASE("AConflictIsFollowedByAShortPauseHoweverOftenItHappens", "[lease_operation]") {
  Leasing leasing;
  for (int round = 0; round < 40; ++round) {
    leasing.store.leases = {{LeaseKind::refuse, kAway, 0, 0, true}};
    leasing.send(10);
    leasing.store.deliver();
    REQUIRE(leasing.operation.state() == State::pausing);
    leasing.time.advance(Backoff::kMostConflictMs);
    REQUIRE(leasing.operation.idle());
  }
  REQUIRE(leasing.moves == 40);
  REQUIRE(leasing.contended == 40);
  REQUIRE(leasing.failures.empty());
  REQUIRE(leasing.closed(LeaseEnd::refused) == 40);
  // Hosts that meet are no failure, unless it goes on for long.
  REQUIRE(leasing.events.count(EventKind::lease_failed) == 0);
  for (int round = 0; round < 10; ++round) {
    leasing.store.leases = {{LeaseKind::refuse, kAway, 0, 0, true}};
    leasing.send(10);
    leasing.store.deliver();
    leasing.time.advance(Backoff::kMostConflictMs);
  }
  REQUIRE(leasing.events.count(EventKind::lease_failed) == 1);
}

TEST_CASE("UnknownOutcomeThatWasAppliedIsFoundByItsToken", "[lease_operation]") {
  Leasing leasing;
  leasing.store.leases = {{LeaseKind::unknown_applied, kAway, 0, 0}};
  leasing.send(10);
  leasing.store.deliver();
  REQUIRE(leasing.operation.state() == State::resolving);
  REQUIRE(leasing.operation.intent_open());
  REQUIRE(leasing.store.resolve_calls.front().token == leasing.store.lease_calls.front().token);
  leasing.store.deliver();
  REQUIRE(leasing.operation.idle());
  REQUIRE(leasing.ranges.front() == std::pair<std::int64_t, std::int64_t>(1, 11));
  REQUIRE(leasing.events.count(EventKind::lease_unknown) == 1);
  REQUIRE(leasing.events.count(EventKind::lease_resolved) == 1);
}

TEST_CASE("UnknownOutcomeThatWasNotAppliedIsClosed", "[lease_operation]") {
  Leasing leasing;
  leasing.store.leases = {{LeaseKind::unknown_lost, kAway, 0, 0}};
  leasing.send(10);
  leasing.store.deliver();
  leasing.store.deliver();
  REQUIRE(leasing.operation.idle());
  REQUIRE(leasing.ranges.empty());
  REQUIRE(leasing.closed(LeaseEnd::refused) == 1);
  REQUIRE(leasing.moves == 1);
}

TEST_CASE("UntraceableOutcomeIsAGapOfUnknownPlace", "[lease_operation]") {
  Leasing leasing;
  leasing.store.leases = {{LeaseKind::unknown_applied, kAway, 0, 0}};
  leasing.store.resolutions = {{ResolveKind::untraceable, {}, 0, 0}};
  leasing.send(10);
  leasing.store.deliver();
  leasing.store.deliver();
  REQUIRE(leasing.operation.state() == State::pausing);
  REQUIRE(leasing.operation.leasing() == 0);
  REQUIRE(leasing.moves == 1);
  leasing.pause_over();
  REQUIRE(leasing.operation.idle());
  REQUIRE(leasing.closed(LeaseEnd::untraceable) == 1);
  REQUIRE(leasing.untraceable == 1);
  REQUIRE(leasing.events.count(EventKind::gap_untraceable) == 1);
  leasing.send(10);
  leasing.store.deliver();
  REQUIRE(leasing.ranges.front().first == 11);
}

TEST_CASE("LookUpHasTheHeartbeatOfItsTimeAndGrantsNothingOfAnOlderCopy", "[lease_operation]") {
  Leasing leasing;
  const bool replaced = GENERATE(false, true);
  leasing.request.heartbeat = 1;
  leasing.store.heartbeats[leasing.request.instance] = 1;
  leasing.store.leases = {{LeaseKind::unknown_applied, kAway, 0, 0}};
  leasing.store.resolutions = {{ResolveKind::failed, kAway, 0, 0}};
  leasing.send(10);
  leasing.store.deliver();
  leasing.store.deliver();
  leasing.request.heartbeat = 2;
  // An operator has raised the counters of the older copy; the instance there has no heartbeat yet.
  if (replaced) leasing.request.instance = Token{9};
  leasing.pause_over();
  leasing.store.deliver();
  REQUIRE(leasing.store.resolve_calls[0].heartbeat == 1);
  REQUIRE(leasing.store.resolve_calls[1].heartbeat == (replaced ? 0 : 2));
  REQUIRE(leasing.operation.idle() == replaced);
  REQUIRE(leasing.ranges.size() == (replaced ? 1 : 0));
  REQUIRE(leasing.older_copies == (replaced ? 0 : 1));
  REQUIRE(leasing.operation.intent_open() == !replaced);
  REQUIRE(leasing.closed(LeaseEnd::untraceable) == 0);
  leasing.pause_over();
  REQUIRE(leasing.store.resolve_calls.size() == 2);
}

TEST_CASE("StoreThatMayNotBeAskedIsAskedForNothing", "[lease_operation]") {
  Leasing leasing;
  SECTION("a lease that was not sent yet is refused") {
    leasing.operation.start(10);
    leasing.may_ask_now = false;
    leasing.flush();
    REQUIRE(leasing.operation.idle());
    REQUIRE(leasing.closed(LeaseEnd::refused) == 1);
    REQUIRE(leasing.store.lease_calls.empty());
  }
  SECTION("a lease whose outcome is unknown waits, and is looked up when it may be") {
    const bool fails_once = GENERATE(false, true);
    leasing.store.leases = {{LeaseKind::unknown_applied, kAway, 0, 0}};
    if (fails_once) leasing.store.resolutions = {{ScriptedStore::ResolveScript::Kind::failed}};
    leasing.send(10);
    if (fails_once) leasing.store.deliver();
    leasing.may_ask_now = false;
    leasing.store.deliver();
    leasing.pause_over();
    REQUIRE_FALSE(leasing.operation.in_flight());
    REQUIRE(leasing.operation.intent_open());
    REQUIRE(leasing.store.resolve_calls.size() == (fails_once ? 1 : 0));
    leasing.may_ask_now = true;
    leasing.operation.go_on();
    leasing.operation.go_on();
    leasing.store.deliver();
    REQUIRE(leasing.store.resolve_calls.size() == (fails_once ? 2 : 1));
    REQUIRE(leasing.ranges.size() == 1);
  }
}

TEST_CASE("FailedLookUpIsRepeatedAfterAPauseWithTheSameToken", "[lease_operation]") {
  Leasing leasing;
  leasing.store.leases = {{LeaseKind::unknown_applied, kAway, 0, 0}};
  leasing.store.resolutions = {{ResolveKind::failed, kAway, 0, 0},
                               {ResolveKind::failed, kAway, 0, 0}};
  leasing.send(10);
  leasing.store.deliver();
  for (int round = 1; round <= 2; ++round) {
    leasing.store.deliver();
    REQUIRE(leasing.operation.state() == State::pausing);
    REQUIRE(leasing.operation.intent_open());
    REQUIRE(leasing.operation.leasing() == 10);
    leasing.pause_over();
    REQUIRE(leasing.operation.state() == State::resolving);
  }
  leasing.store.deliver();
  REQUIRE(leasing.ranges.size() == 1);
  REQUIRE(leasing.store.resolve_calls.size() == 3);
  REQUIRE(leasing.store.resolve_calls[2].token == leasing.store.lease_calls[0].token);
  REQUIRE(leasing.store.lease_calls.size() == 1);
}

TEST_CASE("WrongGrantIsNeverUsed", "[lease_operation]") {
  struct Case {
    std::int64_t begin, end;
    ErrorCode code;
  };
  const auto wrong = GENERATE(
      Case{99, 105, ErrorCode::SEQ_REGRESSED}, Case{-5, 5, ErrorCode::SEQ_REGRESSED},
      Case{100, 100, ErrorCode::STORE_REFUSED}, Case{105, 100, ErrorCode::STORE_REFUSED},
      Case{100, 111, ErrorCode::STORE_REFUSED}, Case{999'995, 1'000'002, ErrorCode::STORE_REFUSED},
      Case{INT64_MIN, INT64_MAX, ErrorCode::SEQ_REGRESSED},
      Case{100, INT64_MAX, ErrorCode::STORE_REFUSED});
  CAPTURE(wrong.begin, wrong.end);
  const bool resolved = GENERATE(false, true);
  Leasing leasing;
  leasing.request.high_water = 100;
  if (resolved) {
    leasing.store.leases = {{LeaseKind::unknown_lost, kAway, 0, 0}};
    leasing.store.resolutions = {{ResolveKind::wrong, {}, wrong.begin, wrong.end}};
  } else {
    leasing.store.leases = {{LeaseKind::wrong, {}, wrong.begin, wrong.end}};
  }
  leasing.send(10);
  while (leasing.store.deliver()) continue;
  REQUIRE(leasing.ranges.empty());
  REQUIRE(leasing.failures == std::vector{wrong.code});
  REQUIRE(leasing.closed(LeaseEnd::untraceable) == 1);
  REQUIRE(leasing.operation.state() == State::pausing);
}

TEST_CASE("GrantOfIdZeroIsRefused", "[lease_operation]") {
  Leasing leasing;
  leasing.store.leases = {{LeaseKind::wrong, {}, 0, 10}};
  leasing.send(10);
  leasing.store.deliver();
  REQUIRE(leasing.ranges.empty());
  REQUIRE(leasing.failures == std::vector{ErrorCode::STORE_REFUSED});
}

TEST_CASE("GrantsAtTheEdgesAreAccepted", "[lease_operation]") {
  Leasing leasing;
  leasing.request.high_water = 100;
  leasing.store.leases = {{LeaseKind::wrong, {}, 100, 101},
                          {LeaseKind::wrong, {}, 999'991, 1'000'001}};
  leasing.send(10);
  leasing.store.deliver();
  leasing.send(10);
  leasing.store.deliver();
  REQUIRE(leasing.ranges.size() == 2);
  REQUIRE(leasing.failures.empty());
}

TEST_CASE("IntentOfAnEarlierProcessIsLookedUpAndNotRequestedAgain", "[lease_operation]") {
  Leasing leasing;
  leasing.store.granted[Token{9}] = {41, 51};
  leasing.operation.adopt({1, Token{9}, 10, 5});
  REQUIRE(leasing.operation.state() == State::resolving);
  REQUIRE(leasing.operation.intent().lease == Token{9});
  REQUIRE(leasing.operation.intent().wall_ms == 5);
  leasing.store.deliver();
  REQUIRE(leasing.ranges.front() == std::pair<std::int64_t, std::int64_t>(41, 51));
  REQUIRE(leasing.store.lease_calls.empty());
}

TEST_CASE("AbandonedIntentIsClosedWithoutAskingTheStore", "[lease_operation]") {
  Leasing leasing;
  leasing.operation.abandon({1, Token{9}, 10, 5});
  REQUIRE(leasing.operation.idle());
  REQUIRE(leasing.closed(LeaseEnd::untraceable) == 1);
  REQUIRE(leasing.store.resolve_calls.empty());
}

TEST_CASE("StopWhileRecordingStillTakesTheGrant", "[lease_operation]") {
  Leasing leasing;
  leasing.operation.start(10);
  leasing.operation.stop();
  REQUIRE(leasing.operation.in_flight());
  leasing.flush();
  leasing.store.deliver();
  REQUIRE(leasing.ranges.size() == 1);
  REQUIRE(leasing.operation.idle());
}

TEST_CASE("StopWhileRequestingMakesNoNewTry", "[lease_operation]") {
  const auto kind = GENERATE(LeaseKind::refuse, LeaseKind::unknown_applied);
  Leasing leasing;
  leasing.store.leases = {{kind, kAway, 0, 0}};
  leasing.send(10);
  leasing.operation.stop();
  leasing.store.deliver();
  REQUIRE(leasing.operation.idle());
  REQUIRE(leasing.time.pending() == 0);
  REQUIRE(leasing.store.pending() == 0);
  // What is not known stays open: the next start looks it up.
  REQUIRE(leasing.operation.intent_open() == (kind == LeaseKind::unknown_applied));
}

TEST_CASE("StopWhileResolvingKeepsTheIntentOfAFailedLookUp", "[lease_operation]") {
  Leasing leasing;
  leasing.store.leases = {{LeaseKind::unknown_applied, kAway, 0, 0}};
  leasing.store.resolutions = {{ResolveKind::failed, kAway, 0, 0}};
  leasing.send(10);
  leasing.store.deliver();
  leasing.operation.stop();
  leasing.store.deliver();
  REQUIRE(leasing.operation.idle());
  REQUIRE(leasing.operation.intent_open());
  REQUIRE(leasing.time.pending() == 0);
}

TEST_CASE("StopWhilePausingEndsThePause", "[lease_operation]") {
  Leasing leasing;
  leasing.store.leases = {{LeaseKind::refuse, kDenied, 0, 0}};
  leasing.send(10);
  leasing.store.deliver();
  leasing.operation.stop();
  REQUIRE(leasing.operation.idle());
  REQUIRE(leasing.time.pending() == 0);
}

TEST_CASE("AnswerAfterTheEndIsDropped", "[lease_operation]") {
  ScriptedStore store;
  {
    Leasing leasing;
    leasing.operation.set_store(&store);
    leasing.send(10);
  }
  REQUIRE(store.deliver());
}

}  // namespace
}  // namespace seqd
