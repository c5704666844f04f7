// Raising a counter by hand: what is asked of the store, and how a stopped sequence goes on.
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tests/unit/orders.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

struct Advancing : Orders {
  explicit Advancing(const std::function<void(SequenceSettings&)>& change =
                         [](SequenceSettings&) {})
      : Orders(change) {
    fill();
  }
  // Empty until it is answered.
  std::optional<Result<std::int64_t>> advance(std::int64_t next_id, bool withdraw = false) {
    auto answer = std::make_shared<std::optional<Result<std::int64_t>>>();
    world.table->orders().advance(
        world.table->find("orders"), next_id, withdraw,
        [answer](Result<std::int64_t> reached) { *answer = std::move(reached); });
    REQUIRE_FALSE(answer->has_value());
    world.settle();
    world.advance(0);
    return *answer;
  }
  // The store is found to hold that.
  void look(std::int64_t next_id, std::int64_t floor) {
    CounterReading reading;
    reading.exists = true;
    reading.next_id = next_id;
    reading.floor = floor;
    sequence().counter_read(reading);
  }
  // The counter is found below what was granted.
  void regress() {
    world.store.next_id["orders"] = 5;
    static_cast<void>(world.range("orders", 30));
    world.settle();
    REQUIRE(request_error(sequence()).code() == ErrorCode::SEQ_REGRESSED);
    world.answers.sent.clear();
  }
};

TEST_CASE("AnAdvanceTakesTheNextLeaseFromThereAndKeepsWhatIsAvailable") {
  Advancing orders;
  const std::int64_t available = orders.sequence().available();
  REQUIRE(available > 0);
  REQUIRE(orders.advance(5'000)->ok());
  REQUIRE(orders.world.store.next_id["orders"] == 5'000);
  REQUIRE(orders.world.events.count(EventKind::sequence_advanced) == 1);
  REQUIRE(orders.world.next("orders") == 2);
  REQUIRE(orders.sequence().available() == available - 1);
  static_cast<void>(orders.world.range("orders", 100));
  orders.world.settle();
  const std::vector<Run>& runs = orders.world.answers.sent.back().runs;
  REQUIRE(runs.back().first >= 5'000);
}

TEST_CASE("AnAdvanceForEveryHostWithdrawsWhatIsAvailableAndTheLogHasIt") {
  Advancing orders;
  const std::int64_t available = orders.sequence().available();
  const std::int64_t issued = orders.sequence().totals().issued;
  REQUIRE(available > 0);
  REQUIRE(orders.advance(5'000, true)->ok());
  orders.world.turn();
  REQUIRE(orders.sequence().totals().gaps == available);
  REQUIRE(orders.world.events.count(EventKind::gap_superseded) == 1);
  orders.world.settle();
  REQUIRE(orders.world.next("orders") == 5'000);
  orders.world.turn();
  orders.world.restart();
  orders.world.settle();
  REQUIRE(orders.sequence().totals().gaps == available);
  REQUIRE(orders.sequence().totals().issued == issued + 1);
  REQUIRE_FALSE(orders.world.next("orders").has_value());
  orders.world.settle();
  REQUIRE(orders.sent().back().runs.front().first == 5'001);
}

TEST_CASE("IdsIssuedBeforeTheFloorBecomesKnownStayIssuedAndNoneComesBehind") {
  Advancing orders;
  const std::int64_t available = orders.sequence().available();
  REQUIRE(orders.world.next("orders") == 2);
  orders.look(5'000, 5'000);
  REQUIRE_FALSE(orders.world.next("orders", {}, 0));  // in the same turn
  orders.world.turn();
  REQUIRE(orders.sequence().totals().gaps == available - 1);
  orders.world.restart();
  orders.world.settle();
  REQUIRE(orders.sequence().totals().issued == 2);
  REQUIRE(orders.sequence().totals().gaps == available - 1);
}

TEST_CASE("WhatLiesAboveTheFloorStaysAvailable") {
  Advancing orders;
  const std::int64_t available = orders.sequence().available();
  orders.look(5'000, 5);
  orders.world.turn();
  REQUIRE(orders.sequence().available() == available - 3);
  REQUIRE(orders.world.next("orders") == 5);
  orders.world.turn();
  orders.world.restart();
  orders.world.settle();
  REQUIRE_FALSE(orders.world.next("orders").has_value());
  orders.world.settle();
  REQUIRE(orders.sent().back().runs.front().first == 6);
}

TEST_CASE("ALeaseThatWasUnderWayWhenTheFloorWasSetIsNotIssued") {
  Advancing orders;
  orders.look(5'000, 5'000);
  orders.world.turn();
  orders.world.store.next_id["orders"] = 4'990;
  REQUIRE_FALSE(orders.world.next("orders"));
  orders.world.settle();
  REQUIRE(orders.world.answers.sent.back().runs.front().first >= 5'000);
}

TEST_CASE("ACounterBelowItsFloorStopsTheSequenceUntilItIsAdvanced") {
  Advancing orders;
  orders.look(40, 5'000);
  orders.world.turn();
  REQUIRE(request_error(orders.sequence()).code() == ErrorCode::SEQ_REGRESSED);
  REQUIRE(orders.advance(5'000)->ok());
  REQUIRE(request_error(orders.sequence()).ok());
}

TEST_CASE("ADrainAndAnAdvanceWaitForEachOther") {
  Orders orders([](SequenceSettings& settings) { settings.reuse = Reuse::tail; });
  orders.fill();
  CoreWorld& world = orders.world;
  const SequenceId id = world.table->find("orders");
  const std::int64_t high_water = orders.sequence().definition().high_water();
  std::vector<Result<std::int64_t>> reached;
  const auto note = [&reached](Result<std::int64_t> next) { reached.push_back(std::move(next)); };
  world.table->orders().advance(id, 0, false, note);
  REQUIRE(world.table->orders().drain(id, 60'000, [](const DrainReport&) {}).ok());
  world.turn();
  world.flush();
  world.turn();
  // Else the advance would raise the counter above what is returned meanwhile.
  REQUIRE(world.store.return_calls.empty());
  world.table->orders().advance(id, 0, false, note);
  world.advance(0);
  REQUIRE(reached.size() == 1);
  REQUIRE(reached.back().status().code() == ErrorCode::UNAVAILABLE);
  world.settle();
  REQUIRE(reached.size() == 2);
  REQUIRE(*reached.back() == high_water);
  REQUIRE(world.store.next_id["orders"] == 2);
  REQUIRE(orders.sequence().available() == 0);
}

TEST_CASE("AFloorThatCannotBeReadAfterTheAdvanceIsSaid") {
  Advancing orders;
  orders.world.store.readings.push_back({ScriptedStore::ReadScript::Kind::failed});
  REQUIRE(orders.advance(5'000, true)->status().code() == ErrorCode::UNAVAILABLE);
  REQUIRE(orders.world.store.next_id["orders"] == 5'000);
}

TEST_CASE("ASequenceStoppedByItsCounterContinuesAboveAllItWasGranted") {
  Advancing orders;
  orders.regress();
  const std::optional<Result<std::int64_t>> reached = orders.advance(0);
  REQUIRE(reached->ok());
  REQUIRE(**reached == orders.world.store.advance_calls.back().next_id);
  REQUIRE(request_error(orders.sequence()).ok());
  // The next range was fetched at once.
  const std::optional<std::vector<Run>> runs = orders.world.range("orders", 10);
  REQUIRE(runs);
  REQUIRE(runs->back().first + runs->back().count > **reached);
  orders.world.turn();
}

// They were parked when the counter's copy was made, and may have been leased since.
TEST_CASE("ACounterThatWasSetBackIsLeftByItsParkedRangesWhenItIsAdvanced") {
  const Reuse reuse = GENERATE(Reuse::never, Reuse::parked);
  Advancing orders([reuse](SequenceSettings& settings) { settings.reuse = reuse; });
  orders.regress();
  orders.world.store.parked["orders"] = {{1, 4}};
  const std::optional<Result<std::int64_t>> reached = orders.advance(0);
  REQUIRE(reached->ok());
  CHECK(orders.world.store.advance_calls.back().withdraw == (reuse == Reuse::parked));
  const std::optional<std::vector<Run>> runs = orders.world.range("orders", 10);
  REQUIRE(runs);
  for (const Run& run : *runs) CHECK(run.first > 1);
  CHECK(orders.world.store.parked["orders"].empty() == (reuse == Reuse::parked));
}

// A lease finds that while the counter is being raised.
TEST_CASE("AnAdvanceDuringWhichTheCounterIsFoundSetBackIsRepeated") {
  Advancing orders([](SequenceSettings& settings) { settings.reuse = Reuse::parked; });
  std::optional<Result<std::int64_t>> reached;
  orders.world.table->orders().advance(orders.sequence().id(), 0, false,
                                       [&](const auto& result) { reached = result; });
  orders.look(2, 5'000);
  REQUIRE(orders.sequence().stop_cause() == StopCause::regressed);
  orders.world.settle();
  REQUIRE(reached);
  CHECK(reached->status().code() == ErrorCode::UNAVAILABLE);
  CHECK(orders.sequence().stop_cause() == StopCause::regressed);
  CHECK(orders.advance(0)->ok());
  CHECK(orders.world.store.advance_calls.back().withdraw);
}

TEST_CASE("AnAdvanceThatFailsLeavesTheSequenceStopped") {
  Advancing orders;
  orders.regress();
  orders.world.store.advances.push_back({ScriptedStore::AdvanceScript::Kind::failed});
  REQUIRE(orders.advance(0)->status().code() == ErrorCode::UNAVAILABLE);
  REQUIRE(request_error(orders.sequence()).code() == ErrorCode::SEQ_REGRESSED);
  REQUIRE(orders.advance(0)->ok());
  REQUIRE(state_name(orders.sequence()) != "stopped");
}

TEST_CASE("AnAdvanceBelowWhatWasGrantedOrAboveTheMaximumAsksNothingOfTheStore") {
  Advancing orders;
  REQUIRE(orders.advance(1)->status().code() == ErrorCode::BAD_REQUEST);
  REQUIRE(orders.advance(orders.sequence().settings().max_value + 1)->status().code() ==
          ErrorCode::BAD_REQUEST);
  REQUIRE(orders.world.store.advance_calls.empty());
}

TEST_CASE("AnAdvanceDoesNotMendAnotherReasonToStop") {
  Advancing orders;
  orders.sequence().set_stopped(
      {StopCause::elsewhere, {ErrorCode::SEQ_CHANGED, "configured again"}});
  REQUIRE(orders.advance(0)->status().code() == ErrorCode::SEQ_CHANGED);
  REQUIRE(request_error(orders.sequence()).code() == ErrorCode::SEQ_CHANGED);
}

// The counter held a text. Nobody has to wait until the next try is due.
TEST_CASE("ALeaseIsTriedAgainOnceItsCounterIsMended") {
  Advancing orders;
  const Status wrong(ErrorCode::SEQ_TYPE, "the counter is a text");
  REQUIRE(orders.world.range("orders", 9).has_value());
  orders.world.turn();
  orders.world.store.leases.assign(3, {ScriptedStore::LeaseScript::Kind::refuse, wrong});
  static_cast<void>(orders.world.next("orders"));
  orders.world.settle();
  REQUIRE(orders.sent().back().status.code() == ErrorCode::SEQ_TYPE);
  REQUIRE_FALSE(orders.world.next("orders").has_value());
  REQUIRE(orders.world.status.code() == ErrorCode::SEQ_TYPE);
  SECTION("by an advance") {
    orders.world.store.leases.clear();
    REQUIRE(orders.advance(7'000)->ok());
  }
  SECTION("and the configuration is read again") {
    orders.world.store.leases.clear();
    REQUIRE(orders.world.table->apply_settings(orders.world.limits).empty());
  }
  // What failed under the same settings is leased for without another request.
  orders.world.settle();
  std::optional<std::int64_t> id = orders.world.next("orders");
  REQUIRE(orders.world.status.ok());
  if (!id) {
    orders.world.settle();
    REQUIRE(orders.sent().back().status.ok());
    id = orders.sent().back().runs.front().first;
  }
  CHECK(*id >= 11);
  CHECK(request_error(orders.sequence()).ok());
}

TEST_CASE("AnAdvanceThatIsRefusedMendsNothing") {
  Advancing orders;
  const Status wrong(ErrorCode::SEQ_TYPE, "the counter is a text");
  REQUIRE(orders.world.range("orders", 9).has_value());
  orders.world.turn();
  orders.world.store.leases.assign(3, {ScriptedStore::LeaseScript::Kind::refuse, wrong});
  static_cast<void>(orders.world.next("orders"));
  orders.world.settle();
  orders.world.store.advances = {{ScriptedStore::AdvanceScript::Kind::failed, wrong}};
  REQUIRE_FALSE(orders.advance(7'000)->ok());
  REQUIRE_FALSE(orders.world.next("orders").has_value());
  CHECK(orders.world.status.code() == ErrorCode::SEQ_TYPE);
}

}  // namespace
}  // namespace seqd
