#include "daemon/core/sequence/waiters.h"

#include <vector>

#include <catch2/catch.hpp>

namespace seqd {
namespace {

Waiter waiter(SessionId session, std::int64_t count, std::int64_t deadline_ms) {
  return {{session, 1, 0}, IssueKind::batch, count, deadline_ms};
}

TEST_CASE("WaitersLeaveInTheOrderTheyCame", "[waiters]") {
  Waiters waiters;
  for (SessionId session = 1; session <= 3; ++session) waiters.push(waiter(session, 10, 5));
  REQUIRE(waiters.size() == 3);
  REQUIRE(waiters.front().caller.session == 1);
  for (SessionId session = 1; session <= 3; ++session) {
    REQUIRE(waiters.pop().caller.session == session);
  }
  REQUIRE(waiters.empty());
}

TEST_CASE("DemandIsTheSumOfWaitingRequests", "[waiters]") {
  Waiters waiters;
  waiters.push(waiter(1, 10, 5));
  waiters.push(waiter(2, 20, 5));
  waiters.push(waiter(3, 30, 5));
  REQUIRE(waiters.demand() == 60);
  static_cast<void>(waiters.pop());
  REQUIRE(waiters.demand() == 50);
  waiters.remove_if([](const Waiter& one) { return one.caller.session == 3; },
                    [](const Waiter&) {});
  REQUIRE(waiters.demand() == 20);
}

TEST_CASE("EarliestDeadlineMayBeAnybodys", "[waiters]") {
  Waiters waiters;
  waiters.push(waiter(1, 1, 500));
  waiters.push(waiter(2, 1, 100));
  waiters.push(waiter(3, 1, 300));
  REQUIRE(waiters.earliest_deadline_ms() == 100);
}

TEST_CASE("RemovedWaitersAreHandedOverInOrderAndOthersStay", "[waiters]") {
  Waiters waiters;
  for (SessionId session = 1; session <= 6; ++session) waiters.push(waiter(session, 1, 5));
  std::vector<SessionId> removed;
  waiters.remove_if([](const Waiter& one) { return one.caller.session % 2 == 0; },
                    [&](const Waiter& one) { removed.push_back(one.caller.session); });
  REQUIRE(removed == std::vector<SessionId>{2, 4, 6});
  REQUIRE(waiters.size() == 3);
  REQUIRE(waiters.pop().caller.session == 1);
  REQUIRE(waiters.pop().caller.session == 3);
  REQUIRE(waiters.pop().caller.session == 5);
}

}  // namespace
}  // namespace seqd
