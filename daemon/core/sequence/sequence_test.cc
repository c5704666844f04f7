// Issuing, waiting and reserving; leases are in lease_slot_test.cc, limits in
// sequence_limits_test.cc.
#include <algorithm>

#include "tests/unit/orders.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using Runs = std::vector<Run>;

TEST_CASE("FirstRequestWaitsForALeaseAndGetsTheFirstId", "[sequence]") {
  Orders orders;
  REQUIRE_FALSE(orders.world.next("orders", caller(1)));
  REQUIRE(orders.world.status.ok());
  REQUIRE(state_name(orders.sequence()) == "waiting");
  orders.world.settle();
  REQUIRE(orders.sent().size() == 1);
  REQUIRE(orders.sent()[0].runs == Runs{{1, 1, 1}});
  REQUIRE(orders.sequence().issuer().last_issued() == 1);
  REQUIRE(state_name(orders.sequence()) == "ready");
}

TEST_CASE("AvailableIdsAreIssuedAtOnceInOrder", "[sequence]") {
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
  REQUIRE_FALSE(orders.world.range("orders", 100, caller(1)));
  orders.world.turn();
  REQUIRE(orders.world.store.deliver());  // the floor
  // The intent is part of the flush; the reservation of the turn after it is not.
  orders.world.turn();
  orders.world.flush();
  orders.world.store.deliver();
  orders.world.turn();
  REQUIRE_FALSE(orders.world.range("orders", 100'000, caller(2)));
  orders.world.turn();
  orders.world.log.begin_flush();
  orders.world.settle();
  REQUIRE(orders.sent().size() == 2);
}

TEST_CASE("WaitingRequestsAreServedFirstInFirstOut", "[sequence]") {
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

TEST_CASE("NoRequestOvertakesALargeOneThatWaits", "[sequence]") {
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

// Each of them fails for the time of a lease: that is no outage.
TEST_CASE("ARequestThatDoesNotWaitStopsNoSequenceWhoseStoreAnswers", "[sequence]") {
  Orders orders;
  orders.fill();
  static_cast<void>(orders.world.range("orders", 50, caller(1), 0));
  REQUIRE(orders.world.status.code() == ErrorCode::UNAVAILABLE);
  CHECK(state_name(orders.sequence()) != "stopped");
  CHECK(orders.world.table->accounts().sums().stopped == 0);
  orders.world.settle();
  CHECK(orders.sequence().available() >= 50);
  CHECK(orders.world.range("orders", 50, caller(1), 0));
}

// Others like it come: they are sent here again once this host is ready.
TEST_CASE("WhatARequestFailedForIsLeasedThoughNobodyAsksAgain", "[sequence]") {
  Orders orders;
  orders.fill();
  orders.world.store.leases.assign(1, {ScriptedStore::LeaseScript::Kind::refuse});
  static_cast<void>(orders.world.range("orders", 5'000, caller(1), 100));
  orders.world.settle();
  orders.world.advance(100);
  orders.world.settle();
  REQUIRE(orders.sent().size() == 1);
  REQUIRE_FALSE(orders.sent()[0].status.ok());
  orders.world.advance(60'000);
  orders.world.settle();
  CHECK(orders.sequence().available() >= 5'000);
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

TEST_CASE("FailedFlushIssuesWhatIsDurableAndThenNothing", "[sequence]") {
  Orders orders([](SequenceSettings& settings) { settings.max_unsynced = 5; });
  orders.fill();
  const std::int64_t before = *orders.sequence().issuer().last_issued();
  orders.world.turn();
  orders.world.log.fail_flush(*orders.world.table);
  orders.world.turn();
  std::int64_t issued = 0;
  while (orders.world.next("orders", caller(1))) ++issued;
  REQUIRE(issued > 0);
  REQUIRE(issued <= 5);
  REQUIRE(orders.world.status.code() == ErrorCode::STATE_IO);
  orders.world.settle();
  REQUIRE(orders.sequence().issuer().last_issued() == before + issued);
  REQUIRE(orders.sequence().available() > 0);
}

TEST_CASE("FailedFlushFailsWaitingRequests", "[sequence]") {
  Orders orders;
  REQUIRE_FALSE(orders.world.next("orders", caller(1)));
  orders.world.turn();
  orders.world.log.fail_flush(*orders.world.table);
  orders.world.turn();
  REQUIRE(orders.sent().size() == 1);
  REQUIRE(orders.sent()[0].status.code() == ErrorCode::STATE_IO);
  REQUIRE(orders.world.store.lease_calls.empty());
}

TEST_CASE("FullLogDefersWaitingRequests", "[sequence]") {
  Orders orders;
  REQUIRE_FALSE(orders.world.next("orders", caller(1)));
  orders.world.log.accepts = false;
  orders.world.settle();
  REQUIRE(orders.sent().empty());
  REQUIRE(orders.world.store.lease_calls.empty());
  orders.world.log.accepts = true;
  orders.world.settle();
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

TEST_CASE("TurnThatIsNotCommittedSendsNoReply", "[sequence]") {
  Orders orders;
  orders.fill();
  REQUIRE(orders.world.next("orders", caller(1)) == 2);
  orders.world.log.fail_commit = true;
  orders.world.turn();
  orders.world.restart();
  orders.world.settle();
  // The reply of ID 2 never left, so it is issued to whoever comes next.
  REQUIRE_FALSE(orders.world.next("orders", caller(2)).has_value());
  orders.world.settle();
  REQUIRE(orders.sent().back().runs.front().first == 2);
}

TEST_CASE("ReservationGrowsUnderLoadUpToItsBound", "[sequence]") {
  Orders orders([](SequenceSettings& settings) {
    settings.lease_min = settings.lease_max = 100'000;
    settings.max_unsynced = 5'000;
  });
  orders.fill();
  std::int64_t most = 0;
  for (int at = 0; at < 20'000; ++at) {
    static_cast<void>(orders.world.next("orders", caller(1)));
    if (at % 40 == 0) {
      orders.world.settle();
      const AvailableRange& range = orders.world.log.image.sequences.at(1).ranges.front();
      most = std::max(most, range.reserved_end - range.begin);
    }
  }
  REQUIRE(most > 1'000);
  REQUIRE(most <= 5'000);
}

// One that gets smaller may be satisfied by what is reserved still.
TEST_CASE("ReservationOfNothingAsksForNoFlush", "[sequence]") {
  Orders orders([](SequenceSettings& settings) {
    settings.lease_min = settings.lease_max = 100'000;
    settings.max_unsynced = 5'000;
  });
  orders.fill();
  for (int at = 0; at < 1'000; ++at) {
    REQUIRE(orders.world.next("orders", caller(1)));
    if (at % 40 == 0) orders.world.settle();
  }
  orders.world.settle();
  orders.world.advance(6'000);
  const auto reserved_end = [&] {
    return orders.world.log.image.sequences.at(1).ranges.front().reserved_end;
  };
  int flushes = 0;
  for (int at = 0; at < 20'000; ++at) {
    const std::int64_t before = reserved_end();
    REQUIRE(orders.world.next("orders", caller(1)));
    orders.world.turn();
    if (!orders.world.log.flush_due()) continue;
    CHECK(reserved_end() > before);
    ++flushes;
    orders.world.settle();
    orders.world.advance(6'000);
  }
  CHECK(flushes > 3);
}

}  // namespace
}  // namespace seqd
