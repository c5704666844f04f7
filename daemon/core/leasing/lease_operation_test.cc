#include "daemon/core/leasing/lease_operation.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "tests/unit/leasing.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using State = LeaseOperation::State;
using LeaseKind = ScriptedStore::LeaseScript::Kind;
using ResolveKind = ScriptedStore::ResolveScript::Kind;

const Status kAway(ErrorCode::UNAVAILABLE, "away");
const Status kDenied(ErrorCode::STORE_REFUSED, "denied");

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

// A sequence is not purged, forgotten or stopped while one of these is due.
TEST_CASE("AnOperationIsInFlightWhileLogOrStoreOweAnAnswer", "[lease_operation]") {
  Leasing leasing;
  REQUIRE_FALSE(leasing.operation.in_flight());
  leasing.store.leases = {{LeaseKind::unknown_applied, kAway, 0, 0}};
  leasing.operation.start(10);
  REQUIRE(leasing.operation.state() == State::recording);
  REQUIRE(leasing.operation.in_flight());
  leasing.flush();
  REQUIRE(leasing.operation.state() == State::requesting);
  REQUIRE(leasing.operation.in_flight());
  leasing.store.deliver();
  REQUIRE(leasing.operation.state() == State::resolving);
  REQUIRE(leasing.operation.in_flight());
  leasing.store.deliver();
  REQUIRE(leasing.operation.idle());
  REQUIRE_FALSE(leasing.operation.in_flight());
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

TEST_CASE("AGapThatTheStoreWillMakeAgainIsToldToThoseWhoWait", "[lease_operation]") {
  const bool passes = GENERATE(true, false);
  Leasing leasing;
  leasing.store.leases = {{LeaseKind::unknown_lost, passes ? kAway : kDenied, 0, 0}};
  leasing.store.resolutions = {{ResolveKind::untraceable}};
  leasing.send(10);
  while (leasing.store.deliver()) continue;
  REQUIRE(leasing.closed(LeaseEnd::untraceable) == 1);
  REQUIRE(leasing.operation.state() == State::pausing);
  if (passes) {
    REQUIRE(leasing.failures.empty());
    REQUIRE(leasing.moves == 1);
  } else {
    REQUIRE(leasing.failures == std::vector{ErrorCode::STORE_REFUSED});
  }
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
