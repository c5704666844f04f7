// A lease whose outcome is not known is looked up by its token, until it is.
#include <utility>
#include <vector>

#include "daemon/core/leasing/lease_operation.h"
#include "tests/unit/leasing.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using Kind = OperationEvent::Kind;
using State = StoreOperation::State;
using LeaseKind = ScriptedStore::LeaseScript::Kind;
using ResolveKind = ScriptedStore::ResolveScript::Kind;

const Status kAway(ErrorCode::UNAVAILABLE, "away");

TEST_CASE("UnknownOutcomeThatWasAppliedIsFoundByItsToken", "[lease_operation]") {
  Leasing leasing;
  leasing.store.leases = {{LeaseKind::unknown_applied, kAway, 0, 0}};
  leasing.send(10);
  leasing.store.deliver();
  REQUIRE(leasing.state() == State::asking);
  REQUIRE(leasing.store.resolve_calls.front().token == leasing.store.lease_calls.front().token);
  leasing.store.deliver();
  REQUIRE(leasing.over());
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
  REQUIRE(leasing.over());
  REQUIRE(leasing.happenings == std::vector{Kind::unknown, Kind::absent});
  REQUIRE(leasing.closed(LeaseEnd::refused) == 1);
}

TEST_CASE("UntraceableOutcomeIsAGapOfUnknownPlace", "[lease_operation]") {
  Leasing leasing;
  leasing.store.leases = {{LeaseKind::unknown_applied, kAway, 0, 0}};
  leasing.store.resolutions = {{ResolveKind::untraceable, {}, 0, 0}};
  leasing.send(10);
  leasing.store.deliver();
  leasing.store.deliver();
  REQUIRE(leasing.over());
  REQUIRE(leasing.happenings == std::vector{Kind::unknown, Kind::untraceable});
  REQUIRE(leasing.closed(LeaseEnd::untraceable) == 1);
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
  leasing.operation->go_on();
  leasing.store.deliver();
  REQUIRE(leasing.store.resolve_calls[0].heartbeat == 1);
  REQUIRE(leasing.store.resolve_calls[1].heartbeat == (replaced ? 0 : 2));
  REQUIRE(leasing.over() == replaced);
  REQUIRE(leasing.ranges.size() == (replaced ? 1 : 0));
  REQUIRE(leasing.older_copies == (replaced ? 0 : 1));
  REQUIRE(leasing.closed(LeaseEnd::untraceable) == 0);
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
    REQUIRE(leasing.state() == State::paused);
    REQUIRE(leasing.operation->lease()->count == 10);
    leasing.operation->go_on_after(50);
    leasing.time.advance(50);
    REQUIRE(leasing.state() == State::asking);
  }
  leasing.store.deliver();
  REQUIRE(leasing.ranges.size() == 1);
  REQUIRE(leasing.store.resolve_calls.size() == 3);
  REQUIRE(leasing.store.resolve_calls[2].token == leasing.store.lease_calls[0].token);
  REQUIRE(leasing.store.lease_calls.size() == 1);
}

TEST_CASE("IntentOfAnEarlierProcessIsLookedUpAndNotRequestedAgain", "[lease_operation]") {
  Leasing leasing;
  leasing.store.granted[Token{9}] = {41, 51};
  leasing.leave({1, Token{9}, 10, 5});
  leasing.operation->go_on();
  REQUIRE(leasing.state() == State::left);
  leasing.operation->adopt();
  REQUIRE(leasing.state() == State::asking);
  REQUIRE(leasing.operation->lease()->lease == Token{9});
  REQUIRE(leasing.operation->lease()->wall_ms == 5);
  leasing.store.deliver();
  REQUIRE(leasing.ranges.front() == std::pair<std::int64_t, std::int64_t>(41, 51));
  REQUIRE(leasing.store.lease_calls.empty());
}

TEST_CASE("AbandonedIntentIsClosedWithoutAskingTheStore", "[lease_operation]") {
  Leasing leasing;
  leasing.leave({1, Token{9}, 10, 5});
  leasing.operation->abandon(GapCause::epoch_lost, {});
  REQUIRE(leasing.over());
  REQUIRE(leasing.closed(LeaseEnd::untraceable) == 1);
  REQUIRE(leasing.store.resolve_calls.empty());
}

TEST_CASE("LeaseIsAbandonedBetweenLookUpsOnly", "[lease_operation]") {
  Leasing leasing;
  leasing.store.leases = {{LeaseKind::unknown_applied, kAway, 0, 0}};
  leasing.store.resolutions = {{ResolveKind::failed, kAway, 0, 0}};
  leasing.send(10);
  leasing.operation->abandon(GapCause::restored, {});
  leasing.store.deliver();
  leasing.operation->abandon(GapCause::restored, {});
  REQUIRE_FALSE(leasing.over());
  leasing.store.deliver();
  leasing.operation->go_on_after(50);
  leasing.operation->abandon(GapCause::restored, {});
  REQUIRE(leasing.over());
  REQUIRE(leasing.happenings.back() == Kind::abandoned);
  REQUIRE(leasing.closed(LeaseEnd::untraceable) == 1);
  REQUIRE(leasing.time.pending() == 0);
}

}  // namespace
}  // namespace seqd
