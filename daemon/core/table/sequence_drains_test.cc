// Drains that the table decides: right after a start, before it is known whether the remainder is
// ours, and without the store. Those of a sequence as such are in
// daemon/core/sequence/drain_test.cc.
#include <optional>

#include "tests/unit/mover.h"

namespace seqd {
namespace {

TEST_CASE("DrainRightAfterAStartWaitsForTheClaim", "[moves]") {
  const bool clean = GENERATE(false, true);
  Mover mover;
  mover.world().store.has_identity = false;
  mover.restart(clean);
  if (clean) {
    mover.world().table->begin_stop({ErrorCode::STOPPING, "stop"});
    mover.settle();
    static_cast<void>(mover.world().table->leave_clean());
    mover.settle();
  }
  mover.kill();
  mover.world().start();
  std::optional<DrainReport> report;
  REQUIRE(mover.world()
              .table->orders()
              .drain(1, 10'000, [&](const DrainReport& drained) { report = drained; })
              .ok());
  mover.world().turn();
  if (clean) REQUIRE_FALSE(report);
  mover.settle();
  REQUIRE(report);
  CHECK(report->available == 0);
  CHECK(report->gaps.size() == 1);
}

TEST_CASE("WhatADrainGivesUpIsNotCountedAsAvailable", "[moves]") {
  Mover mover;
  mover.settings().store = "central";
  mover.restart();
  REQUIRE(mover.code() == ErrorCode::SEQ_CHANGED);
  const auto& accounts = mover.world().table->accounts();
  REQUIRE(accounts.sums().available == 7);
  CHECK(mover.drain().gaps.size() == 1);
  CHECK(mover.orders().available() == 0);
  CHECK(accounts.sums().available == 0);
}

// What is available is ours, as the daemon was killed, and would be issued in the outage.
TEST_CASE("DrainRightAfterAStartEndsWhenItsStoreIsAway", "[moves]") {
  Mover mover;
  mover.world().store.has_identity = false;
  mover.kill();
  mover.world().store.identities = {{ScriptedStore::IdentityScript::Kind::failed}};
  mover.world().start();
  std::optional<DrainReport> report;
  REQUIRE(mover.world()
              .table->orders()
              .drain(1, 10'000, [&](const DrainReport& drained) { report = drained; })
              .ok());
  mover.settle();
  REQUIRE(report);
  CHECK(report->available == 7);
  CHECK(report->gaps.empty());
  CHECK(report->why.find("the store is away") != std::string::npos);
  CHECK(mover.take() == 4);
}

TEST_CASE("RemovalNeedsNoStoreThatIsNotConfiguredAnyMore", "[moves]") {
  const bool has_some = GENERATE(false, true);
  Mover mover;
  if (!has_some) mover.drain();
  mover.world().settings.by_name.erase("orders");
  mover.world().stores.erase("default");
  mover.restart();
  CHECK(mover.code() == ErrorCode::NO_SEQUENCE);
  CHECK(mover.world().status.text().find("seqctl drain orders --remove") != std::string::npos);
  std::optional<DrainReport> report;
  REQUIRE(mover.world()
              .table->orders()
              .drain(
                  1, 10'000, [&](const DrainReport& drained) { report = drained; }, true)
              .ok());
  mover.settle();
  mover.world().advance(0);
  REQUIRE(report);
  CHECK(report->gaps.size() == (has_some ? 1 : 0));
  CHECK(holds_nothing(mover.orders()));
}

TEST_CASE("DrainThatWaitsForAClaimEndsAtItsTime", "[moves]") {
  Mover mover;
  mover.restart(true);
  mover.world().table->begin_stop({ErrorCode::STOPPING, "stop"});
  mover.settle();
  REQUIRE(mover.world().table->leave_clean());
  mover.settle();
  mover.kill();
  mover.world().start();  // its store does not answer
  std::optional<DrainReport> report;
  REQUIRE(mover.world()
              .table->orders()
              .drain(1, 1'000, [&](const DrainReport& drained) { report = drained; })
              .ok());
  mover.world().turn();
  mover.world().flush();
  REQUIRE_FALSE(report);
  mover.world().advance(1'000);
  mover.world().turn();
  REQUIRE(report);
  CHECK(report->available == 7);
  CHECK(report->gaps.empty());
  CHECK(report->why.find("not claimed yet") != std::string::npos);
}

TEST_CASE("OrderToRemoveEndsWithWhoTookIt", "[moves]") {
  Mover mover;
  SequenceTable& table = *mover.world().table;
  const CoreContext core{mover.world().time,
                         mover.world().time,
                         mover.world().random,
                         mover.world().log,
                         mover.world().events,
                         mover.world().answers,
                         nullptr};
  const TableRefusals refusals;
  int forgotten = 0;
  int answers = 0;
  {
    SequenceOrders orders(
        {core, mover.world().settings, refusals, table.sequences(), table.scopes()},
        [&](Sequence&) { return ++forgotten > 0; });
    orders.remove(mover.orders().id(), [&](const Status&) { ++answers; });
  }
  mover.world().time.advance(1'000);
  CHECK(forgotten == 0);
  CHECK(answers == 0);
}

}  // namespace
}  // namespace seqd
