#include "daemon/core/leasing/lease_operation.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "tests/unit/leasing.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using Kind = OperationEvent::Kind;
using State = StoreOperation::State;
using LeaseKind = ScriptedStore::LeaseScript::Kind;
using ResolveKind = ScriptedStore::ResolveScript::Kind;

const Status kAway(ErrorCode::UNAVAILABLE, "away");

TEST_CASE("GrantIsRecordedBeforeTheOwnerSeesIt", "[lease_operation]") {
  Leasing leasing;
  leasing.start(10);
  REQUIRE(leasing.state() == State::recording);
  REQUIRE(leasing.awaiting.size() == 1);
  REQUIRE(leasing.operation->lease()->count == 10);
  REQUIRE(leasing.store.lease_calls.empty());
  leasing.flush();
  REQUIRE(leasing.state() == State::asking);
  REQUIRE(leasing.store.deliver());
  REQUIRE(leasing.over());
  REQUIRE(leasing.ranges.front() == std::pair<std::int64_t, std::int64_t>(1, 11));
  REQUIRE(leasing.log.entries.size() == 2);
  REQUIRE(leasing.granted_lease == std::get<LeaseIntended>(leasing.log.entries[0]).lease);
}

// A sequence is not purged, forgotten or stopped while one of these is due.
TEST_CASE("AnOperationIsInFlightWhileLogOrStoreOweAnAnswer", "[lease_operation]") {
  Leasing leasing;
  leasing.store.leases = {{LeaseKind::unknown_applied, kAway, 0, 0}};
  leasing.store.resolutions = {{ResolveKind::failed, kAway, 0, 0}};
  leasing.start(10);
  REQUIRE(leasing.state() == State::recording);
  REQUIRE(leasing.operation->in_flight());
  leasing.flush();
  REQUIRE(leasing.state() == State::asking);
  REQUIRE(leasing.operation->in_flight());
  leasing.store.deliver();
  REQUIRE(leasing.store.resolve_calls.size() == 1);
  REQUIRE(leasing.operation->in_flight());
  leasing.store.deliver();
  REQUIRE(leasing.state() == State::paused);
  REQUIRE_FALSE(leasing.operation->in_flight());
}

TEST_CASE("RefusalEndsALease", "[lease_operation]") {
  const bool contended = GENERATE(false, true);
  Leasing leasing;
  leasing.store.leases = {{LeaseKind::refuse, kAway, 0, 0, contended}};
  leasing.send(10);
  leasing.store.deliver();
  REQUIRE(leasing.over());
  REQUIRE(leasing.happenings == std::vector{Kind::refused});
  REQUIRE(leasing.last_error == ErrorCode::UNAVAILABLE);
  REQUIRE(leasing.closed(LeaseEnd::refused) == 1);
}

TEST_CASE("StoreThatMayNotBeAskedIsAskedForNothing", "[lease_operation]") {
  Leasing leasing;
  SECTION("a lease that was not sent yet is refused") {
    leasing.start(10);
    leasing.may_ask_now = false;
    leasing.flush();
    REQUIRE(leasing.over());
    REQUIRE(leasing.happenings == std::vector{Kind::absent});
    REQUIRE(leasing.closed(LeaseEnd::refused) == 1);
    REQUIRE(leasing.store.lease_calls.empty());
  }
  SECTION("a lease whose outcome is unknown waits, and is looked up when it may be") {
    const bool fails_once = GENERATE(false, true);
    leasing.store.leases = {{LeaseKind::unknown_applied, kAway, 0, 0}};
    if (fails_once) leasing.store.resolutions = {{ResolveKind::failed}};
    leasing.send(10);
    if (fails_once) leasing.store.deliver();
    leasing.may_ask_now = false;
    leasing.store.deliver();
    leasing.operation->go_on_after(10);
    leasing.time.advance(10);
    REQUIRE(leasing.state() == State::paused);
    REQUIRE(leasing.store.resolve_calls.size() == (fails_once ? 1 : 0));
    leasing.may_ask_now = true;
    leasing.operation->go_on();
    leasing.operation->go_on();
    leasing.store.deliver();
    REQUIRE(leasing.store.resolve_calls.size() == (fails_once ? 2 : 1));
    REQUIRE(leasing.ranges.size() == 1);
  }
}

TEST_CASE("ADelayIsNotCutShort", "[lease_operation]") {
  Leasing leasing;
  leasing.store.leases = {{LeaseKind::unknown_applied, kAway, 0, 0}};
  leasing.store.resolutions = {{ResolveKind::failed, kAway, 0, 0}};
  leasing.send(10);
  leasing.store.deliver();
  leasing.store.deliver();
  leasing.operation->go_on_after(10);
  leasing.operation->go_on();
  REQUIRE(leasing.state() == State::paused);
  const bool stops = GENERATE(false, true);
  if (stops) leasing.operation->stop();
  leasing.time.advance(10);
  REQUIRE(leasing.state() == (stops ? State::paused : State::asking));
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
  REQUIRE(leasing.happenings.back() == Kind::untraceable);
  REQUIRE(leasing.last_error == wrong.code);
  REQUIRE(leasing.closed(LeaseEnd::untraceable) == 1);
  REQUIRE(leasing.over());
}

TEST_CASE("GrantOfIdZeroIsRefused", "[lease_operation]") {
  Leasing leasing;
  leasing.store.leases = {{LeaseKind::wrong, {}, 0, 10}};
  leasing.send(10);
  leasing.store.deliver();
  REQUIRE(leasing.ranges.empty());
  REQUIRE(leasing.last_error == ErrorCode::STORE_REFUSED);
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
}

TEST_CASE("StopWhileRecordingStillTakesTheGrant", "[lease_operation]") {
  Leasing leasing;
  leasing.start(10);
  leasing.operation->stop();
  REQUIRE(leasing.operation->in_flight());
  leasing.flush();
  leasing.store.deliver();
  REQUIRE(leasing.ranges.size() == 1);
  REQUIRE(leasing.over());
}

TEST_CASE("AnswerAfterTheEndIsDropped", "[lease_operation]") {
  Leasing leasing;
  const bool recorded = GENERATE(false, true);
  leasing.start(10);
  if (recorded) leasing.flush();
  leasing.operation = nullptr;
  leasing.flush();
  REQUIRE(leasing.store.deliver() == recorded);
  REQUIRE(leasing.happenings.empty());
}

}  // namespace
}  // namespace seqd
