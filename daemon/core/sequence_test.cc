#include "daemon/core/sequence.h"

#include "tests/unit/world.h"

// After the project's headers: both define CHECK, and here Catch's is meant.
#include <catch2/catch.hpp>

namespace seqd {
namespace {

using LeaseKind = ScriptedStore::LeaseScript::Kind;
using ResolveKind = ScriptedStore::ResolveScript::Kind;
using Runs = std::vector<Run>;

const Status kAway(ErrorCode::UNAVAILABLE, "away");
const Status kDenied(ErrorCode::STORE_REFUSED, "denied");

Caller caller(SessionId session, std::uint32_t request = 1) {
  return {session, request, 0};
}

// A world whose store is claimed, with the sequence "orders".
struct Orders {
  explicit Orders(const std::function<void(SequenceSettings&)>& change = [](SequenceSettings&) {}) {
    change(world.settings.add("orders"));
    world.start();
    world.settle();
  }
  Sequence& sequence() { return world.sequence("orders"); }
  const std::vector<Answer>& sent() { return world.answers.sent; }
  // So many IDs in hand and issuable.
  void fill() {
    static_cast<void>(world.next("orders"));
    world.settle();
    world.answers.sent.clear();
  }
  CoreWorld world;
};

TEST_CASE("FirstRequestWaitsForALeaseAndGetsTheFirstId", "[sequence]") {
  Orders orders;
  REQUIRE_FALSE(orders.world.next("orders", caller(1)));
  REQUIRE(orders.world.status.ok());
  REQUIRE(orders.sequence().state_name() == "waiting");
  orders.world.settle();
  REQUIRE(orders.sent().size() == 1);
  REQUIRE(orders.sent()[0].runs == Runs{{1, 1, 1}});
  REQUIRE(orders.sequence().last_issued() == 1);
  REQUIRE(orders.sequence().state_name() == "ready");
}

TEST_CASE("IdsInHandAreIssuedAtOnceInOrder", "[sequence]") {
  Orders orders;
  orders.fill();
  for (std::int64_t id = 2; id <= 10; ++id) REQUIRE(orders.world.next("orders") == id);
  orders.world.turn();
}

TEST_CASE("NothingIsIssuedBeforeItsReservationIsDurable", "[sequence]") {
  Orders orders;
  REQUIRE_FALSE(orders.world.next("orders", caller(1)));
  orders.world.turn();
  orders.world.flush();  // the intent
  orders.world.turn();
  REQUIRE(orders.world.store.deliver());
  orders.world.turn();  // asks for the reservation
  orders.world.turn();
  REQUIRE(orders.sent().empty());
  orders.world.flush();
  REQUIRE(orders.sent().empty());
  orders.world.turn();
  REQUIRE(orders.sent().size() == 1);
}

TEST_CASE("FlushThatBeganBeforeAReservationDoesNotMakeItDurable", "[sequence]") {
  Orders orders;
  orders.fill();
  orders.world.restart();
  // The intent is part of the flush; the reservation of the turn after it is not.
  orders.world.log.make_durable();
  REQUIRE_FALSE(orders.world.range("orders", 100, caller(1)));
  orders.world.turn();
  orders.world.flush();
  REQUIRE(orders.world.store.deliver());
  orders.world.turn();
  REQUIRE_FALSE(orders.world.range("orders", 100'000, caller(2)));
  orders.world.turn();
  orders.world.log.begin_flush();
  orders.world.settle();
  REQUIRE(orders.sent().size() == 2);
}

TEST_CASE("ThoseWhoWaitAreServedFirstInFirstOut", "[sequence]") {
  Orders orders;
  for (SessionId session = 1; session <= 5; ++session) {
    REQUIRE_FALSE(orders.world.next("orders", caller(session)));
  }
  REQUIRE_FALSE(orders.world.range("orders", 3, caller(6)));
  REQUIRE_FALSE(orders.world.next("orders", caller(7)));
  orders.world.settle();
  REQUIRE(orders.sent().size() == 7);
  for (std::size_t at = 0; at < 7; ++at) REQUIRE(orders.sent()[at].caller.session == at + 1);
  REQUIRE(orders.sent()[5].runs == Runs{{6, 3, 1}});
  REQUIRE(orders.sent()[6].runs == Runs{{9, 1, 1}});
}

TEST_CASE("NobodyOvertakesALargeRequestThatWaits", "[sequence]") {
  Orders orders;
  orders.fill();
  REQUIRE_FALSE(orders.world.range("orders", 50, caller(1)));
  REQUIRE_FALSE(orders.world.next("orders", caller(2)));
  orders.world.settle();
  REQUIRE(orders.sent().size() == 2);
  REQUIRE(orders.sent()[0].caller.session == 1);
  REQUIRE(orders.sent()[1].runs.front().first > 50);
}

TEST_CASE("TimeoutZeroIsAnsweredAtOnceAndTheLeaseIsMadeAllTheSame", "[sequence]") {
  Orders orders;
  REQUIRE_FALSE(orders.world.next("orders", caller(1), 0));
  REQUIRE(orders.world.status.code() == ErrorCode::UNAVAILABLE);
  orders.world.settle();
  REQUIRE(orders.world.next("orders", caller(1), 0) == 1);
}

TEST_CASE("DeadlineIsKeptToTheMillisecond", "[sequence]") {
  Orders orders;
  REQUIRE_FALSE(orders.world.next("orders", caller(1), 100));
  orders.world.turn();
  orders.world.advance(99);
  REQUIRE(orders.sent().empty());
  orders.world.advance(1);
  REQUIRE(orders.sent().size() == 1);
  REQUIRE(orders.sent()[0].status.code() == ErrorCode::UNAVAILABLE);
}

TEST_CASE("ShorterDeadlineBehindALongerOneIsKept", "[sequence]") {
  Orders orders;
  REQUIRE_FALSE(orders.world.next("orders", caller(1), 5'000));
  orders.world.turn();
  REQUIRE_FALSE(orders.world.next("orders", caller(2), 100));
  orders.world.turn();
  REQUIRE_FALSE(orders.world.next("orders", caller(3), 1'000));
  orders.world.turn();
  orders.world.advance(100);
  REQUIRE(orders.sent().size() == 1);
  REQUIRE(orders.sent()[0].caller.session == 2);
  orders.world.advance(900);
  REQUIRE(orders.sent().size() == 2);
  REQUIRE(orders.sent()[1].caller.session == 3);
  orders.world.advance(4'000);
  REQUIRE(orders.sent().size() == 3);
  REQUIRE(orders.world.time.pending() == 0);
}

TEST_CASE("DeadlineOfTheSequenceAppliesWhenTheRequestSaysNothing", "[sequence]") {
  Orders orders([](SequenceSettings& settings) { settings.wait_timeout_ms = 250; });
  REQUIRE_FALSE(orders.world.next("orders", caller(1)));
  orders.world.turn();
  orders.world.advance(249);
  REQUIRE(orders.sent().empty());
  orders.world.advance(1);
  REQUIRE(orders.sent().size() == 1);
}

TEST_CASE("LateAnswerOfTheStoreServesTheNextRequest", "[sequence]") {
  Orders orders;
  REQUIRE_FALSE(orders.world.next("orders", caller(1), 10));
  orders.world.turn();
  orders.world.advance(10);
  REQUIRE(orders.sent().size() == 1);
  orders.world.settle();
  REQUIRE(orders.world.next("orders", caller(2)) == 1);
}

TEST_CASE("FullQueueIsBusy", "[sequence]") {
  Orders orders([](SequenceSettings& settings) { settings.max_waiters = 3; });
  for (SessionId session = 1; session <= 3; ++session) {
    static_cast<void>(orders.world.next("orders", caller(session)));
    REQUIRE(orders.world.status.ok());
  }
  static_cast<void>(orders.world.next("orders", caller(4)));
  REQUIRE(orders.world.status.code() == ErrorCode::BUSY);
  orders.world.settle();
  REQUIRE(orders.sent().size() == 3);
}

TEST_CASE("CountAboveTheGapBudgetIsTooLarge", "[sequence]") {
  Orders orders([](SequenceSettings& settings) { settings.gap_budget = 100; });
  static_cast<void>(orders.world.range("orders", 101, caller(1)));
  REQUIRE(orders.world.status.code() == ErrorCode::TOO_LARGE);
  static_cast<void>(orders.world.range("orders", 100, caller(1)));
  REQUIRE(orders.world.status.ok());
  orders.world.settle();
  REQUIRE(orders.sent().size() == 1);
  REQUIRE(orders.sent()[0].runs == Runs{{1, 100, 1}});
}

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

TEST_CASE("SequenceThatNobodyUsesLeasesNothing", "[sequence]") {
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

TEST_CASE("InHandNeverExceedsTheGapBudget", "[sequence]") {
  Orders orders([](SequenceSettings& settings) { settings.gap_budget = 40; });
  for (int at = 0; at < 500; ++at) {
    static_cast<void>(orders.world.range("orders", 1 + orders.world.random.below(40), caller(1)));
    orders.world.settle();
    REQUIRE(orders.sequence().in_hand() <= 40);
  }
  REQUIRE(orders.sent().size() + 500 >= 500);
  REQUIRE(orders.sequence().waiting() == 0);
}

TEST_CASE("PermanentErrorIsAnsweredAtOnceAndTriedAgainAfterThePause", "[sequence]") {
  Orders orders;
  orders.world.store.leases = {{LeaseKind::refuse, kDenied, 0, 0}};
  REQUIRE_FALSE(orders.world.next("orders", caller(1)));
  orders.world.settle();
  REQUIRE(orders.sent().size() == 1);
  REQUIRE(orders.sent()[0].status.code() == ErrorCode::STORE_REFUSED);
  REQUIRE(orders.sequence().state_name() == "stopped");
  // During the pause callers hear the same without waiting.
  REQUIRE_FALSE(orders.world.next("orders", caller(2)));
  REQUIRE(orders.world.status.code() == ErrorCode::STORE_REFUSED);
  orders.world.advance(Backoff::kMostMs);
  REQUIRE_FALSE(orders.world.next("orders", caller(3)));
  REQUIRE(orders.world.status.ok());
  orders.world.settle();
  REQUIRE(orders.sent().back().runs == Runs{{1, 1, 1}});
  REQUIRE(orders.sequence().error().ok());
}

TEST_CASE("PermanentErrorDoesNotKeepBackWhatIsInHand", "[sequence]") {
  Orders orders([](SequenceSettings& settings) {
    settings.lease_min = settings.lease_max = 100;
    settings.max_value = 100;
  });
  orders.fill();  // 2..100 in hand, of which some are reserved
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
  REQUIRE(orders.sequence().error().code() == ErrorCode::UNAVAILABLE);
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

TEST_CASE("CounterSetBackStopsTheSequenceForGood", "[sequence]") {
  Orders orders;
  orders.fill();
  orders.world.store.leases = {{LeaseKind::wrong, {}, 1, 5}};
  for (int at = 0; at < 9; ++at) static_cast<void>(orders.world.next("orders", caller(1)));
  orders.world.settle();
  REQUIRE(orders.sequence().state_name() == "stopped");
  REQUIRE(orders.sequence().error().code() == ErrorCode::SEQ_REGRESSED);
  REQUIRE(orders.world.events.count(EventKind::sequence_stopped) == 1);
  orders.world.advance(60'000);
  static_cast<void>(orders.world.next("orders", caller(2)));
  REQUIRE(orders.world.status.code() == ErrorCode::SEQ_REGRESSED);
  orders.world.settle();
  REQUIRE(orders.world.store.lease_calls.size() == 2);
}

TEST_CASE("RegressionSaidByTheStoreFailsThoseWhoWait", "[sequence]") {
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

TEST_CASE("FailedFlushIssuesWhatIsDurableAndThenNothing", "[sequence]") {
  Orders orders([](SequenceSettings& settings) { settings.reserve_ahead = 5; });
  orders.fill();
  const std::int64_t before = *orders.sequence().last_issued();
  orders.world.turn();
  orders.world.log.fail_flush(*orders.world.table);
  orders.world.turn();
  std::int64_t issued = 0;
  while (orders.world.next("orders", caller(1))) ++issued;
  REQUIRE(issued > 0);
  REQUIRE(issued <= 5);
  REQUIRE(orders.world.status.code() == ErrorCode::STATE_IO);
  orders.world.settle();
  REQUIRE(orders.sequence().last_issued() == before + issued);
  REQUIRE(orders.sequence().in_hand() > 0);
}

TEST_CASE("FailedFlushFailsThoseWhoWait", "[sequence]") {
  Orders orders;
  REQUIRE_FALSE(orders.world.next("orders", caller(1)));
  orders.world.turn();
  orders.world.log.fail_flush(*orders.world.table);
  orders.world.turn();
  REQUIRE(orders.sent().size() == 1);
  REQUIRE(orders.sent()[0].status.code() == ErrorCode::STATE_IO);
  REQUIRE(orders.world.store.lease_calls.empty());
}

TEST_CASE("FullLogPutsThoseWhoWaitOff", "[sequence]") {
  Orders orders;
  REQUIRE_FALSE(orders.world.next("orders", caller(1)));
  orders.world.log.accepts = false;
  orders.world.settle();
  REQUIRE(orders.sent().empty());
  orders.world.log.accepts = true;
  orders.world.turn();
  REQUIRE(orders.sent().size() == 1);
}

TEST_CASE("CancelledRequestIsNotAnsweredAndUsesNothing", "[sequence]") {
  Orders orders;
  REQUIRE_FALSE(orders.world.next("orders", caller(1)));
  REQUIRE_FALSE(orders.world.range("orders", 3, caller(2)));
  REQUIRE_FALSE(orders.world.next("orders", caller(1, 2)));
  REQUIRE_FALSE(orders.world.next("orders", caller(3)));
  REQUIRE(orders.sequence().cancel(1) == 2);
  orders.world.settle();
  REQUIRE(orders.sent().size() == 2);
  REQUIRE(orders.sent()[0].runs == Runs{{1, 3, 1}});
  REQUIRE(orders.sent()[1].runs == Runs{{4, 1, 1}});
}

TEST_CASE("CancelledLargeRequestLetsTheOthersPass", "[sequence]") {
  Orders orders;
  orders.fill();
  REQUIRE_FALSE(orders.world.range("orders", 1'000, caller(1)));
  REQUIRE_FALSE(orders.world.next("orders", caller(2)));
  orders.sequence().cancel(1);
  orders.world.turn();
  REQUIRE(orders.sent().size() == 1);
  REQUIRE(orders.sent()[0].runs == Runs{{2, 1, 1}});
}

TEST_CASE("TurnThatIsNotCommittedAnswersNobody", "[sequence]") {
  Orders orders;
  orders.fill();
  REQUIRE(orders.world.next("orders", caller(1)) == 2);
  orders.world.log.fail_commit = true;
  orders.world.turn();
  orders.world.restart();
  orders.world.settle();
  // The reply of ID 2 never left, so it is issued to whoever comes next.
  REQUIRE(orders.world.next("orders", caller(2)) == 2);
}

TEST_CASE("ReservationGrowsUnderLoadUpToItsBound", "[sequence]") {
  Orders orders([](SequenceSettings& settings) {
    settings.lease_min = settings.lease_max = 100'000;
    settings.reserve_ahead = 5'000;
  });
  orders.fill();
  std::int64_t most = 0;
  for (int at = 0; at < 20'000; ++at) {
    static_cast<void>(orders.world.next("orders", caller(1)));
    if (at % 40 == 0) {
      orders.world.settle();
      const RangeInHand& range = orders.world.log.image.sequences.at(1).ranges.front();
      most = std::max(most, range.reserved_end - range.begin);
    }
  }
  REQUIRE(most > 1'000);
  REQUIRE(most <= 5'000);
}

}  // namespace
}  // namespace seqd
