// What a sequence may meet at another counter: IDs that this host leased under another name, and
// ranges that others parked there.
#include <optional>
#include <string>

#include "daemon/core/text/period.h"
#include "tests/unit/mover.h"

namespace seqd {
namespace {

// Two names of one counter, which were leased up to 11 and 21; nothing of them is available.
struct Sharing : Mover {
  Sharing() : Mover({"orders", "invoices"}) {
    settings().binding.key = "shared";
    invoices().binding.key = "shared";
    drain_both();
    restart();
    REQUIRE(code() == ErrorCode::SEQ_REGRESSED);
    REQUIRE(*advance() == 11);
    REQUIRE(take() == 11);
    REQUIRE(take("invoices") == 21);
    drain_both();
  }
  SequenceSettings& invoices() { return world().settings.by_name["invoices"]; }
  void drain_both() {
    drain();
    REQUIRE(world().table->orders().drain(2, 10'000, [](const DrainReport&) {}).ok());
    settle();
  }
  std::int64_t high_water_in_log(SequenceId id) {
    return world().log.image.sequences.at(id).definition.high_water;
  }
};

TEST_CASE("NameThatMovesFirstLeavesItsMarkToTheOthersOfItsCounter", "[moves]") {
  const bool both = GENERATE(false, true);
  Sharing sharing;
  if (both) sharing.settings().store = "central";
  sharing.invoices().store = "central";
  sharing.central.next_id["shared"] = 31;
  sharing.restart();
  REQUIRE(sharing.take("invoices") == 31);
  sharing.settings().store = "central";
  sharing.central.next_id["shared"] = 26;  // where an own mark of 21 would let it begin
  sharing.restart(true);
  CHECK(sharing.code() == ErrorCode::SEQ_REGRESSED);
  CHECK(*sharing.advance() == 31);
}

TEST_CASE("NamesOfOneCounterMeetAnotherDatabaseBehindAllOfThem", "[moves]") {
  Sharing sharing;
  REQUIRE(sharing.orders().definition().high_water() == 21);
  REQUIRE(sharing.high_water_in_log(2) == 31);
  sharing.world().store.identity = Token{8};
  sharing.world().store.next_id["shared"] = 26;
  sharing.restart();
  CHECK(sharing.code() == ErrorCode::SEQ_REGRESSED);
  CHECK(sharing.high_water_in_log(1) == 31);
  CHECK(*sharing.advance() == 31);
  CHECK(sharing.take() == 31);
}

// A tail that one of them returned is leased again, by any of them.
TEST_CASE("NamesOfOneCounterShareNoMarkWhileTheyUseIt", "[moves]") {
  Sharing sharing;
  sharing.invoices().reuse = Reuse::tail;
  sharing.restart();
  REQUIRE(sharing.take("invoices") == 31);
  REQUIRE(sharing.world().table->orders().drain(2, 10'000, [](const DrainReport&) {}).ok());
  sharing.settle();
  sharing.restart();
  CHECK(sharing.take() == 32);
}

// A range that is leased for "orders", of which nothing is issued.
void lease_for_nobody(Mover& mover) {
  const Caller asking{9, 1, 0};
  static_cast<void>(mover.world().range("orders", 5, asking, 60'000));
  mover.world().turn();
  mover.world().flush();
  mover.world().table->cancel(asking.session);
  mover.settle();
  REQUIRE(mover.orders().available() == 10);
}

// The other name leased [21, 31) of this counter, and has moved.
TEST_CASE("ReturnOfATailLowersNoMarkThatAnotherNameLeft", "[moves]") {
  const int restarts = GENERATE(0, 1, 2);
  Sharing sharing;
  sharing.settings().reuse = Reuse::tail;
  sharing.invoices().store = "central";
  sharing.central.next_id["shared"] = 500;
  sharing.restart();
  REQUIRE(sharing.take("invoices") == 500);
  for (int left = restarts; left > 0; --left) sharing.restart();
  REQUIRE(sharing.orders().definition().high_water() == 31);
  lease_for_nobody(sharing);
  REQUIRE(sharing.drain().returned.size() == 1);
  REQUIRE(sharing.world().store.next_id["shared"] == 31);
  CHECK(sharing.orders().definition().high_water() == 31);
  CHECK(sharing.high_water_in_log(1) == 31);
  sharing.settings().store = "central";
  sharing.central.next_id["shared"] = 26;
  sharing.restart();
  CHECK(sharing.code() == ErrorCode::SEQ_REGRESSED);
}

// What was leased from the former counter, though another host may have it now.
TEST_CASE("ReturnOfATailLowersNoMarkOfTheFormerCounter", "[moves]") {
  const bool restarts = GENERATE(false, true);
  Mover mover({"orders"}, [](SequenceSettings& settings) { settings.reuse = Reuse::parked; });
  REQUIRE(mover.drain().returned.size() == 1);
  mover.settings().reuse = Reuse::tail;
  mover.settings().store = "central";
  mover.central.next_id["orders"] = 11;
  mover.restart();
  lease_for_nobody(mover);
  if (restarts) mover.restart();
  REQUIRE(mover.drain().returned.size() == 1);
  REQUIRE(mover.central.next_id["orders"] == 11);
  CHECK(mover.orders().definition().high_water() == 11);
  CHECK(mover.recorded().high_water == 11);
  mover.central.next_id["orders"] = 5;
  mover.restart();
  CHECK(mover.code() == ErrorCode::SEQ_REGRESSED);
}

// It comes to a counter where a range is parked.
struct MoverToParked : Mover {
  MoverToParked()
      : Mover({"orders"}, [](SequenceSettings& settings) { settings.reuse = Reuse::parked; }) {
    drain();
    settings().store = "central";
    central.next_id["orders"] = 500;
    central.parked["orders"] = {{4, 11}};
    restart();
  }
};

TEST_CASE("ParkedRangesOfTheNewCounterAreNotLeasedBelowTheMark", "[moves]") {
  MoverToParked mover;
  REQUIRE(mover.code() == ErrorCode::SEQ_REGRESSED);
  CHECK(mover.world().status.text().find("seqctl advance orders") != std::string::npos);
  CHECK(mover.world().events.count(EventKind::sequence_moved) == 0);
  CHECK(mover.central.lease_calls.empty());
  mover.restart(true);
  REQUIRE(mover.code() == ErrorCode::SEQ_REGRESSED);
  CHECK(*mover.advance() == 500);
  CHECK(mover.central.advance_calls.back().withdraw);
  CHECK(mover.take() == 500);
}

// What is parked there stays unused until an advance has come to its end.
TEST_CASE("AnAdvanceThatFailsLetsNoParkedRangeBeLeased", "[moves]") {
  enum class Cause { store, low_id, reload };
  const Cause cause = GENERATE(Cause::store, Cause::low_id, Cause::reload);
  const bool restarts = GENERATE(false, true);
  MoverToParked mover;
  REQUIRE(mover.code() == ErrorCode::SEQ_REGRESSED);
  if (cause == Cause::store) {
    mover.central.advances = {{ScriptedStore::AdvanceScript::Kind::failed}};
    REQUIRE(mover.advance().status().code() == ErrorCode::UNAVAILABLE);
  } else if (cause == Cause::low_id) {
    REQUIRE(mover.advance(5).status().code() == ErrorCode::BAD_REQUEST);
  } else {
    mover.settings().reuse = Reuse::never;
    mover.restart();
    std::optional<Result<std::int64_t>> reached;
    mover.world().table->orders().advance(mover.orders().id(), 0, false,
                                          [&](const auto& result) { reached = result; });
    mover.settings().reuse = Reuse::parked;
    static_cast<void>(mover.world().table->apply_settings(mover.world().limits));
    mover.settle();
    REQUIRE(reached);
    REQUIRE(reached->status().code() == ErrorCode::UNAVAILABLE);
  }
  if (restarts) {
    mover.restart();
    REQUIRE(mover.code() == ErrorCode::SEQ_REGRESSED);
  }
  CHECK(mover.central.lease_calls.empty());
  CHECK(*mover.advance() == 500);
  CHECK(mover.central.advance_calls.back().withdraw);
  CHECK(mover.take() == 500);
}

// Another host has moved before, and its advance left a floor; a first look does not find it.
TEST_CASE("MoverThatCouldNotReadTheFloorLooksAgainByItself", "[moves]") {
  using Read = ScriptedStore::ReadScript::Kind;
  const std::size_t failures = GENERATE(std::size_t{1}, std::size_t{3});
  const bool has_floor = GENERATE(false, true);
  Mover mover({"orders"}, [](SequenceSettings& settings) { settings.reuse = Reuse::parked; });
  mover.drain();
  mover.settings().store = "central";
  mover.central.next_id["orders"] = 500;
  if (has_floor) mover.central.floors["orders"] = 11;
  mover.central.parked["orders"] = {{400, 410}};
  mover.central.readings.assign(failures, {Read::failed});
  mover.restart();
  mover.world().answers.sent.clear();
  REQUIRE_FALSE(mover.world().next("orders", {}, 60'000).has_value());
  mover.settle();
  CHECK(mover.world().answers.sent.empty());
  CHECK(mover.orders().stop_cause() == StopCause::none);
  while (mover.world().answers.sent.empty()) {
    mover.world().advance(mover.world().time.next_delay_ms().value());
    mover.settle();
  }
  CHECK(mover.central.read_calls.size() == static_cast<std::size_t>(failures) + 1);
  const Answer answer = mover.world().answers.sent.back();
  if (has_floor) {
    REQUIRE(answer.status.ok());
    CHECK(answer.runs.front().first == 400);
  } else {
    CHECK(answer.status.code() == ErrorCode::SEQ_REGRESSED);
    CHECK(mover.central.lease_calls.empty());
  }
}

// Another host has moved before, and its advance left a floor.
TEST_CASE("FloorAboveTheMarkIsEnoughForParkedRanges", "[moves]") {
  Mover mover({"orders"}, [](SequenceSettings& settings) { settings.reuse = Reuse::parked; });
  mover.drain();
  mover.settings().store = "central";
  mover.central.next_id["orders"] = 500;
  mover.central.floors["orders"] = 11;
  mover.central.parked["orders"] = {{400, 410}};
  mover.restart();
  CHECK(mover.take() == 400);
}

// It would be a counter of its own, beside those of its periods.
TEST_CASE("SequenceThatGetsPeriodsDoesNotMoveToTheirPattern", "[moves]") {
  Mover mover;
  mover.drain();
  mover.settings().periods.period = "day";
  mover.settings().periods.rule = PeriodRule::make("day", nullptr).value();
  mover.settings().binding.key = "orders-{period}";
  mover.restart();
  CHECK(mover.code() == ErrorCode::SEQ_CHANGED);
  CHECK(mover.world().events.count(EventKind::sequence_moved) == 0);
}

// 4 to 10 came from the former counter, whose maximum was another one.
TEST_CASE("ReloadAppliesNoMaximumOfAnotherCounterToWhatIsKept", "[moves]") {
  const bool removed = GENERATE(false, true);
  Mover mover;
  SequenceSettings other = mover.settings();
  other.binding.key = "other";
  other.max_value = 5;
  if (removed) mover.world().settings.by_name.erase("orders");
  if (!removed) mover.settings() = other;
  mover.restart();
  mover.world().settings.by_name["orders"] = other;
  static_cast<void>(mover.world().table->apply_settings(mover.world().limits));
  mover.settle();
  CHECK(mover.code() == ErrorCode::SEQ_CHANGED);
  CHECK(mover.orders().available() == 7);
  CHECK(mover.orders().totals().gaps == 0);
}

}  // namespace
}  // namespace seqd
