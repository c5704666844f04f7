// Drains right after a start, before it is known whether the remainder is ours. Those of a sequence
// as such are in returns/drain_test.cc.
#include <optional>

#include "tests/unit/mover.h"

namespace seqd {
namespace {

TEST_CASE("DrainRightAfterAStartWaitsForTheClaim", "[moves]") {
  const bool clean = GENERATE(false, true);
  Mover mover;
  mover.world().store.tells_identity = false;
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
              .table->drain(1, 10'000, [&](const DrainReport& drained) { report = drained; })
              .ok());
  mover.world().turn();
  if (clean) REQUIRE_FALSE(report);
  mover.settle();
  REQUIRE(report);
  CHECK(report->available == 0);
  CHECK(report->gaps.size() == 1);
}

TEST_CASE("DrainThatWaitsForAClaimEndsAtItsTime", "[moves]") {
  Mover mover;
  mover.restart(true);
  mover.world().table->begin_stop({ErrorCode::STOPPING, "stop"});
  mover.settle();
  REQUIRE(mover.world().table->leave_clean());
  mover.settle();
  mover.kill();
  mover.world().store.claims.assign(100, {ScriptedStore::ClaimScript::Kind::failed,
                                          {ErrorCode::UNAVAILABLE, "the store is away"}});
  mover.world().start();
  std::optional<DrainReport> report;
  REQUIRE(mover.world()
              .table->drain(1, 1'000, [&](const DrainReport& drained) { report = drained; })
              .ok());
  mover.settle();
  REQUIRE_FALSE(report);
  mover.world().advance(1'000);
  mover.settle();
  REQUIRE(report);
  CHECK(report->available == 7);
  CHECK(report->gaps.empty());
  CHECK(report->why.find("not claimed yet") != std::string::npos);
  // The store is known to be away now: a drain fails at once.
  CHECK(mover.world().table->drain(1, 1'000, [](const DrainReport&) {}).code() ==
        ErrorCode::UNAVAILABLE);
}

}  // namespace
}  // namespace seqd
