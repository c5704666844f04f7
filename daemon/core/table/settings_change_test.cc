// What was granted, parked or ordered under former settings is judged by them: every option that
// may change between two lives of the daemon, in every way in which it may have ended.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/orders.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

struct Change {
  const char* option;
  std::function<void(SequenceSettings&)> make;
  bool refused = false;  // SEQ_CHANGED until it is undone
};

std::vector<Change> changes() {
  const auto progressiond = [](SequenceSettings& settings) {
    settings.progression.increment = 2;
    settings.progression.compiled =
        std::make_shared<IdProgression>(IdProgression::Form{1, 2, 1, 1'000'000, false});
  };
  return {
      {"collection", [](auto& s) { s.binding.collection = "other"; }, true},
      {"key_field", [](auto& s) { s.binding.key_field = "prefix"; }, true},
      {"key", [](auto& s) { s.binding.key = "other"; }, true},
      {"key_type", [](auto& s) { s.binding.key_type = KeyType::integer; }, true},
      {"counter_field", [](auto& s) { s.binding.counter_field = "count"; }, true},
      {"meaning", [](auto& s) { s.binding.meaning = Meaning::next; }},
      {"seed_collection", [](auto& s) { s.binding.seed_collection = "documents"; }},
      {"first_id", [](auto& s) { s.binding.first_id = 1'000; }},
      {"create", [](auto& s) { s.binding.create = false; }},
      {"increment", progressiond, true},
      {"reuse", [](auto& s) { s.reuse = Reuse::never; }},
      {"reuse tail", [](auto& s) { s.reuse = Reuse::tail; }},
      {"max_value", [](auto& s) { s.max_value = 25; }},
      {"max_value of 1", [](auto& s) { s.max_value = 1; }},
      {"lease_max", [](auto& s) { s.lease_min = s.lease_max = 1; }},
      {"max_available", [](auto& s) { s.max_available = s.lease_max = s.lease_min = 1; }},
  };
}

enum class End { clean, kill, lease_in_flight, parked_in_flight, return_in_flight };

struct Lives : Orders {
  Lives()
      : Orders([](SequenceSettings& settings) {
          settings.reuse = Reuse::parked;
          settings.lease_min = settings.lease_max = 20;
        }) {
    world.log.any_order = true;
    fill();
  }

  SequenceSettings& settings() { return world.settings.by_name["orders"]; }

  // More than there is, so that a lease is under way, applied and not answered.
  void order() {
    static_cast<void>(world.range("orders", sequence().available() + 1, caller(1)));
    world.turn();
    world.flush();
    REQUIRE(world.store.pending() == 1);
  }
  void drain() {
    REQUIRE(world.table->orders()
                .drain(sequence().id(), 10'000, [](const DrainReport& /*report*/) {})
                .ok());
  }

  void end(End how) {
    switch (how) {
      case End::clean:
        world.table->begin_stop({ErrorCode::STOPPING, "the daemon is stopping"});
        world.settle();
        static_cast<void>(world.table->leave_clean());
        world.settle();
        break;
      case End::kill:
        break;
      case End::lease_in_flight:
        order();
        break;
      case End::parked_in_flight:
        drain();
        world.settle();
        REQUIRE(sequence().available() == 0);
        order();
        REQUIRE(world.store.took_parked.size() == 1);
        break;
      case End::return_in_flight:
        drain();
        world.turn();
        world.flush();
        REQUIRE(world.store.pending() == 1);
        break;
    }
    world.kill();
  }

  void begin() {
    world.start();
    world.settle();
  }

  // All that the store ever granted is in the sum, and nothing is untraceable.
  void check_nothing_vanished() {
    std::int64_t granted = 0;
    for (const auto& [token, span] : world.store.granted) granted += span.second - span.first;
    CHECK(sequence().totals().leased == granted);
    CHECK(sequence().totals().unknown == 0);
    CHECK(sequence().stop_error().ok());
  }
};

TEST_CASE("WhatWasGrantedUnderFormerSettingsIsJudgedByThem", "[core][restart]") {
  for (const Change& change : changes()) {
    for (const End how : {End::clean, End::kill, End::lease_in_flight, End::parked_in_flight,
                          End::return_in_flight}) {
      INFO(change.option << ", end " << static_cast<int>(how));
      Lives orders;
      orders.end(how);
      const SequenceSettings former = orders.settings();
      change.make(orders.settings());
      orders.begin();
      if (change.refused) {
        CHECK(orders.sequence().stop_error().code() == ErrorCode::SEQ_CHANGED);
        orders.world.kill();
        orders.settings() = former;
        orders.begin();
      }
      orders.check_nothing_vanished();
      // The log refuses an ID that was issued before.
      static_cast<void>(orders.world.next("orders"));
      orders.world.settle();
      orders.check_nothing_vanished();
      CHECK(orders.sequence().totals().issued <= orders.settings().max_value);
    }
  }
}

TEST_CASE("OfALeaseThatWasOnOrderALoweredMaximumTakesOnlyThePartAboveIt", "[core][restart]") {
  Lives orders;
  orders.end(End::lease_in_flight);
  orders.settings().max_value = 25;
  orders.begin();
  CHECK(orders.sequence().totals().leased == 40);
  CHECK(orders.sequence().totals().gaps == 15);
  CHECK(orders.world.events.count(EventKind::gap_out_of_bounds) == 1);
  static_cast<void>(orders.world.range("orders", 24));
  orders.world.settle();
  CHECK(orders.sequence().totals().issued == 25);
}

TEST_CASE("ParkedRangeAboveALoweredMaximumIsAGapAsFarAsItIsAbove", "[core][restart]") {
  Lives orders;
  orders.drain();
  orders.world.settle();
  REQUIRE(orders.world.store.parked["orders"].size() == 1);
  orders.settings().max_value = 10;
  REQUIRE(orders.world.table->apply_settings(orders.world.limits).empty());
  static_cast<void>(orders.world.next("orders"));
  orders.world.settle();
  orders.check_nothing_vanished();
  CHECK(orders.sequence().totals().gaps == 10);
  REQUIRE(orders.sent().size() == 1);
  CHECK(orders.sent().back().runs.front().first == 2);
}

TEST_CASE("AChangedMaximumChangesWhetherTheSequenceEndsSoon", "[core]") {
  Lives orders;
  const auto ends_soon_with = [&orders](std::int64_t max_value) {
    orders.settings().max_value = max_value;
    static_cast<void>(orders.world.table->apply_settings(orders.world.limits));
    orders.world.settle();
    return orders.world.table->accounts().ending().contains(orders.sequence().id());
  };
  CHECK_FALSE(ends_soon_with(1'000));
  CHECK(ends_soon_with(21));
  CHECK_FALSE(ends_soon_with(1'000));
}

struct Removed : Orders {
  Removed() {
    fill();
    kept = world.settings.by_name["orders"];
    world.kill();
    world.settings.by_name.clear();
    world.start();
    world.settle();
    REQUIRE(sequence_there().stop_error().code() == ErrorCode::NO_SEQUENCE);
  }
  const Sequence& sequence_there() { return world.table->at(world.table->find("orders")); }
  SequenceSettings kept;
};

TEST_CASE("ATableThatComesBackByAReloadContinuesWithItsRemainder", "[core][reload]") {
  Removed orders;
  orders.kept.wait_timeout_ms = 1'234;
  orders.world.settings.by_name["orders"] = orders.kept;
  CHECK(orders.world.table->apply_settings(orders.world.limits).empty());
  orders.world.settle();
  CHECK(orders.sequence_there().stop_error().ok());
  CHECK(orders.sequence_there().settings().wait_timeout_ms == 1'234);
  REQUIRE(orders.world.next("orders") == std::nullopt);
  orders.world.settle();
  CHECK(orders.sent().back().runs.front().first == 2);
  REQUIRE(orders.world.range("orders", 100) == std::nullopt);
  orders.world.settle();
  REQUIRE(orders.sent().back().status.ok());
  CHECK(orders.world.store.lease_calls.back().binding.key == "orders");
  orders.world.restart();
  orders.world.settle();
  CHECK(orders.sequence_there().stop_error().ok());
}

TEST_CASE("ATableThatComesBackWithAnotherCounterIsRefusedAsAtAStart", "[core][reload]") {
  Removed orders;
  const bool other_store = GENERATE(false, true);
  if (other_store) {
    orders.kept.store = "other";
  } else {
    orders.kept.binding.key = "other";
  }
  orders.world.settings.by_name["orders"] = orders.kept;
  CHECK(orders.world.table->apply_settings(orders.world.limits).empty());
  CHECK(orders.world.next("orders") == std::nullopt);
  CHECK(orders.world.status.code() == ErrorCode::SEQ_CHANGED);
  CHECK(orders.world.store.read_calls.empty());
  // The former counter, at the next start.
  orders.kept.store = "default";
  orders.kept.binding.key = "orders";
  orders.world.settings.by_name["orders"] = orders.kept;
  CHECK(orders.world.table->apply_settings(orders.world.limits) ==
        std::vector<std::string>{"orders"});
  orders.world.restart();
  orders.world.settle();
  static_cast<void>(orders.world.next("orders"));
  orders.world.settle();
  CHECK(orders.sent().back().runs.front().first == 2);
  orders.world.turn();
}

// Another host may have advanced the counter meanwhile.
TEST_CASE("ATableThatComesBackByAReloadIsComparedWithItsFloor", "[core][reload]") {
  Removed orders;
  // What was read while it was away is not what the floor is now.
  orders.world.table->scopes().look(orders.sequence_there().id());
  orders.world.settle();
  orders.world.store.next_id["orders"] = orders.world.store.floors["orders"] = 5'000;
  orders.world.settings.by_name["orders"] = orders.kept;
  CHECK(orders.world.table->apply_settings(orders.world.limits).empty());
  static_cast<void>(orders.world.next("orders"));
  orders.world.settle();
  CHECK(orders.sent().back().runs.front().first == 5'000);
}

TEST_CASE("ATableThatComesBackToAStoreThatWasPutBackSaysSo", "[core][reload]") {
  Removed orders;
  orders.world.table->scopes().beat();
  orders.world.settle();
  orders.world.store.heartbeats.clear();
  orders.world.table->scopes().beat();
  orders.world.settle();
  orders.world.settings.by_name["orders"] = orders.kept;
  CHECK(orders.world.table->apply_settings(orders.world.limits).empty());
  CHECK(orders.world.next("orders") == std::nullopt);
  CHECK(orders.world.status.code() == ErrorCode::SEQ_REGRESSED);
  CHECK(orders.world.table->budgets().waiting() == 0);
}

// It is kept for the day on which its counter is configured again.
TEST_CASE("WhatIsLeftOfAnotherCounterIsNotJudgedByTodaysMaximum", "[core][restart]") {
  Orders orders;
  orders.fill();
  const std::int64_t available = orders.sequence().available();
  REQUIRE(available > 1);
  orders.world.kill();
  SequenceSettings& settings = orders.world.settings.by_name["orders"];
  settings.binding.key = "other";
  settings.max_value = 2;
  orders.world.start();
  orders.world.settle();
  REQUIRE(orders.sequence().stop_error().code() == ErrorCode::SEQ_CHANGED);
  CHECK(orders.sequence().available() == available);
  CHECK(orders.sequence().totals().gaps == 0);
}

TEST_CASE("ATableThatIsStillNotThereStaysRefused", "[core][reload]") {
  Removed orders;
  CHECK(orders.world.table->apply_settings(orders.world.limits).empty());
  CHECK(orders.world.next("orders") == std::nullopt);
  CHECK(orders.world.status.code() == ErrorCode::NO_SEQUENCE);
  // One that inserts has no use for it.
  orders.kept.mode = SequenceMode::insert;
  orders.world.settings.by_name["orders"] = orders.kept;
  CHECK(orders.world.table->apply_settings(orders.world.limits).empty());
  CHECK(orders.world.next("orders") == std::nullopt);
  CHECK(orders.world.status.code() == ErrorCode::SEQ_CHANGED);
}

}  // namespace
}  // namespace seqd
