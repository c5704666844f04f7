// A sequence that moves to another counter, with what else may be configured for it or happen
// there: progressions and repeats, periods, bounds, blocks, a store that is away, a full log.
#include <memory>
#include <optional>
#include <string>

#include "tests/unit/mover.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

constexpr std::int64_t kDayMs = 86'400'000;

void count_by_ten(SequenceSettings& settings) {
  settings.progression.start = 3;
  settings.progression.increment = 10;
  settings.progression.compiled =
      std::make_shared<IdProgression>(IdProgression::Form{3, 10, 1, 1'000'000, false});
}

TEST_CASE("RepeatOfARequestIsAnsweredAfterTheMove", "[moves]") {
  Mover mover({"orders"}, count_by_ten);
  const ClientId client = mover.world().table->replays().attach(Token{7}, 0)->client;
  const std::optional<std::int64_t> ordinal = mover.world().next("orders", {1, 7, client});
  REQUIRE(ordinal == 4);
  mover.settle();
  mover.drain();
  mover.settings().store = "central";
  mover.restart();
  REQUIRE(mover.advance().ok());
  REQUIRE(mover.take() == 11);
  mover.restart();
  const ClientImage& kept = mover.world().log.image.clients.at(client);
  REQUIRE(by_request(kept).at(7).front().begin == *ordinal);
  REQUIRE(mover.orders().settings().progression.compiled != nullptr);
  CHECK(mover.orders().settings().progression.compiled->value(*ordinal) == 33);
}

TEST_CASE("ProgressionDoesNotChangeWithAMove", "[moves]") {
  Mover mover({"orders"}, count_by_ten);
  mover.drain();
  mover.settings().store = "central";
  mover.settings().progression = {};
  mover.restart();
  CHECK(mover.code() == ErrorCode::SEQ_CHANGED);
  CHECK(mover.advance().status().code() == ErrorCode::SEQ_CHANGED);
  count_by_ten(mover.settings());
  mover.restart();
  REQUIRE(mover.advance().ok());
  CHECK(mover.take() == 11);
}

TEST_CASE("PeriodsMoveWithTheirNumbersAndLaterOnesBeginThere", "[moves]") {
  Mover mover({"orders"}, [](SequenceSettings& settings) {
    settings.periods.period = "day";
    settings.periods.rule = PeriodRule::make("day", nullptr).value();
    settings.binding.key.clear();
  });
  mover.drain();
  mover.settings().store = "central";
  mover.restart();
  CHECK(mover.code() == ErrorCode::SEQ_REGRESSED);
  REQUIRE(mover.advance().ok());
  CHECK(mover.take() == 11);
  mover.issued.clear();
  mover.world().advance(kDayMs);
  mover.settle();
  CHECK(mover.take() == 1);
  CHECK(mover.orders().scope().store_name() == "central");
  CHECK(mover.world().store.next_id.size() == 1);
}

// It moves behind what the other name leased from their counter, and is forgotten with that.
TEST_CASE("PeriodThatIsForgottenBeforeItMovedLeavesTheMarkOfItsFormerCounter", "[moves]") {
  Mover mover({"orders", "invoices"}, [](SequenceSettings& settings) {
    settings.periods.period = "day";
    settings.periods.rule = PeriodRule::make("day", nullptr).value();
    settings.binding.key = "shared-{period}";
  });
  const std::int64_t marked = mover.world().sequence("invoices").definition().high_water();
  REQUIRE(mover.orders().definition().high_water() < marked);
  mover.drain();
  mover.settings().store = "central";
  mover.restart();
  REQUIRE(mover.orders().definition().former() != nullptr);
  const SequenceId first = mover.orders().id();
  mover.world().time.wall_set_ms += 40 * kDayMs;
  mover.issued.clear();
  REQUIRE(mover.take() > 0);
  for (int minutes = 0; minutes < 4; ++minutes) {
    mover.world().advance(60'000);
    mover.settle();
  }
  REQUIRE_FALSE(mover.world().table->sequences().contains(first));
  const DefineName& known = mover.world().log.image.names.at("orders");
  REQUIRE(known.forgotten.size() == 1);
  CHECK(known.forgotten.front().high_water == marked);
}

TEST_CASE("MaximumHoldsBehindAMove", "[moves]") {
  Mover mover;
  mover.drain();
  mover.settings().store = "central";
  mover.settings().max_value = 10;
  mover.restart();
  CHECK(mover.code() == ErrorCode::SEQ_REGRESSED);
  CHECK(*mover.advance() == 11);
  CHECK(mover.code() == ErrorCode::EXHAUSTED);
  mover.settings().max_value = 11;
  mover.restart();
  CHECK(mover.take() == 11);
  CHECK(mover.code() == ErrorCode::EXHAUSTED);
}

TEST_CASE("NothingMovesWhileABlockIsOut", "[moves]") {
  Mover mover({"orders"}, [](SequenceSettings& settings) { settings.blocks = true; });
  mover.world().log.any_order = true;
  const ClientId client = mover.world().table->replays().attach(Token{7}, 0)->client;
  REQUIRE(mover.world().table->blocks().prepare_grant(client, 0).ok());
  REQUIRE(mover.orders().grant_block({1, 7, client}, 0, 1).ok());
  mover.settle();
  mover.world().store.leases.resize(1'000, {ScriptedStore::LeaseScript::Kind::refuse});
  while (mover.orders().available() > 0) REQUIRE(mover.take() > 0);
  mover.world().store.leases.clear();
  REQUIRE(mover.orders().out() == 1);
  mover.settings().store = "central";
  mover.restart();
  CHECK(mover.code() == ErrorCode::SEQ_CHANGED);
  mover.drain();
  CHECK(holds_nothing(mover.orders()));
  mover.restart();
  REQUIRE(mover.advance().ok());
  CHECK(mover.take() >= 11);
}

TEST_CASE("AdvanceOfAMovedSequenceFailsWhereItsStoreIsAway", "[moves]") {
  Mover mover;
  mover.drain();
  mover.settings().store = "central";
  mover.central.advances = {{ScriptedStore::AdvanceScript::Kind::failed}};
  mover.restart();
  CHECK(mover.advance().status().code() == ErrorCode::UNAVAILABLE);
  mover.settings().store = "default";
  mover.restart();
  CHECK(mover.take() == 11);
  mover.drain();
  mover.settings().store = "central";
  mover.restart();
  CHECK(*mover.advance() == 21);
  CHECK(mover.take() == 21);
}

TEST_CASE("FullLogTakesNoLongerCounter", "[moves]") {
  Mover mover;
  mover.drain();
  mover.settings().store = "central";
  mover.settings().binding.collection = std::string(300, 'c');
  const auto enough = mover.world().limits.state_bytes;
  mover.world().limits.state_bytes = mover.world().table->budgets().state_bytes() + 100;
  const DefineSequence former = mover.recorded();
  mover.restart();
  CHECK(mover.code() == ErrorCode::BUSY);
  CHECK(mover.advance().status().code() == ErrorCode::BUSY);
  mover.restart(true);
  CHECK(mover.recorded() == former);
  mover.world().limits.state_bytes = enough;
  mover.restart();
  REQUIRE(mover.advance().ok());
  CHECK(mover.take() == 11);
}

}  // namespace
}  // namespace seqd
