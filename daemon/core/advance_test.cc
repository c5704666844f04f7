// Raising a counter by hand: what is asked of the store, and how a stopped sequence goes on.
#include <memory>
#include <optional>
#include <utility>

#include "tests/unit/orders.h"

// After the project's headers: both define CHECK, and here Catch's is meant.
#include <catch2/catch.hpp>

namespace seqd {
namespace {

struct Advancing : Orders {
  Advancing() { fill(); }
  // Empty until it is answered.
  std::optional<Result<std::int64_t>> advance(std::int64_t next_id) {
    auto answer = std::make_shared<std::optional<Result<std::int64_t>>>();
    world.table->advance(world.table->find("orders"), next_id,
                         [answer](Result<std::int64_t> reached) { *answer = std::move(reached); });
    REQUIRE_FALSE(answer->has_value());
    world.settle();
    world.advance(0);
    return *answer;
  }
  // The counter is found below what was granted.
  void regress() {
    world.store.next_id["orders"] = 5;
    static_cast<void>(world.range("orders", 30));
    world.settle();
    REQUIRE(sequence().error().code() == ErrorCode::SEQ_REGRESSED);
    world.answers.sent.clear();
  }
};

TEST_CASE("AnAdvanceTakesTheNextLeaseFromThereAndKeepsWhatIsInHand") {
  Advancing orders;
  const std::int64_t in_hand = orders.sequence().in_hand();
  REQUIRE(in_hand > 0);
  REQUIRE(orders.advance(5'000)->ok());
  REQUIRE(orders.world.store.next_id["orders"] == 5'000);
  REQUIRE(orders.world.events.count(EventKind::sequence_advanced) == 1);
  REQUIRE(orders.world.next("orders") == 2);
  REQUIRE(orders.sequence().in_hand() == in_hand - 1);
  static_cast<void>(orders.world.range("orders", 100));
  orders.world.settle();
  const std::vector<Run>& runs = orders.world.answers.sent.back().runs;
  REQUIRE(runs.back().first >= 5'000);
}

TEST_CASE("ASequenceStoppedByItsCounterGoesOnAboveAllItWasGranted") {
  Advancing orders;
  orders.regress();
  const std::optional<Result<std::int64_t>> reached = orders.advance(0);
  REQUIRE(reached->ok());
  REQUIRE(**reached == orders.world.store.advance_calls.back().next_id);
  REQUIRE(orders.sequence().error().ok());
  // The next range was fetched at once.
  const std::optional<std::vector<Run>> runs = orders.world.range("orders", 10);
  REQUIRE(runs);
  REQUIRE(runs->back().first + runs->back().count > **reached);
  orders.world.turn();
}

TEST_CASE("AnAdvanceThatFailsLeavesTheSequenceStopped") {
  Advancing orders;
  orders.regress();
  orders.world.store.advances.push_back({ScriptedStore::AdvanceScript::Kind::failed});
  REQUIRE(orders.advance(0)->status().code() == ErrorCode::UNAVAILABLE);
  REQUIRE(orders.sequence().error().code() == ErrorCode::SEQ_REGRESSED);
  REQUIRE(orders.advance(0)->ok());
  REQUIRE(orders.sequence().state_name() != "stopped");
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
  orders.sequence().refuse({ErrorCode::SEQ_CHANGED, "configured anew"});
  REQUIRE(orders.advance(0)->status().code() == ErrorCode::SEQ_CHANGED);
  REQUIRE(orders.sequence().error().code() == ErrorCode::SEQ_CHANGED);
}

}  // namespace
}  // namespace seqd
