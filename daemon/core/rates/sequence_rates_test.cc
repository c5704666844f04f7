#include "daemon/core/rates/sequence_rates.h"

#include <map>
#include <optional>
#include <string>

#include "daemon/core/sequence/sequence.h"
#include "tests/unit/core_daemon.h"
#include "tests/unit/daily.h"
#include "tests/unit/world.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

constexpr std::int64_t kSecond = 1'000;

struct Rated {
  Rated() { world.start(); }
  // So many IDs of a sequence that is leased 1,000 at a time.
  void issue(const std::string& name, std::int64_t count) {
    if (!world.settings.by_name.contains(name)) {
      SequenceSettings& settings = world.settings.add(name);
      settings.lease_min = settings.lease_max = settings.max_unsynced = 1'000;
      settings.max_available = 10'000;
    }
    for (std::int64_t at = 0; at < count; ++at) {
      static_cast<void>(world.next(name));
      world.settle();
    }
  }
  void step(std::int64_t ms = kSecond) {
    world.advance(ms);
    world.settle();
    world.table->accounts().sample_rates(world.time.monotonic_ms(), world.table->blocks().ids());
  }
  SequenceRates& rates() { return world.table->accounts().rates(); }
  const SequenceRates::Shown& shown() { return *rates().shown(); }
  std::string name_of(const SequenceRates::Row& row) {
    return world.table->at(row.sequence).name();
  }
  CoreWorld world;
};

TEST_CASE("TheRunwayIsWhatIsAvailableByTheRate", "[sequence_rates]") {
  Rated here;
  here.step();
  CHECK_FALSE(here.rates().smallest());
  here.issue("orders", 100);
  here.step();
  Sequence& orders = here.world.sequence("orders");
  REQUIRE(orders.available() == 900);
  REQUIRE(here.rates().runway_ms(orders) == 9'000);
  REQUIRE(here.rates().smallest()->ms == 9'000);
  REQUIRE(here.rates().smallest()->sequence == orders.id());
  // The same rate: it lasts a second less.
  here.issue("orders", 100);
  here.step();
  CHECK(here.rates().smallest()->ms == 8'000);
}

TEST_CASE("ARateFollowsWhatIsIssued", "[sequence_rates]") {
  Rated here;
  here.rates().show(1);
  here.step();
  here.issue("orders", 100);
  here.step();
  CHECK(here.shown().rows.at(0).rate == Approx(100));
  here.issue("orders", 10);
  here.step();
  const double slower = here.shown().rows.at(0).rate;
  CHECK((slower > 90 && slower < 100));
  for (int second = 0; second < 120; ++second) {
    here.issue("orders", 10);
    here.step();
  }
  CHECK(here.shown().rows.at(0).rate == Approx(10).margin(0.5));
}

TEST_CASE("WhoRestsForTenMinutesHasNoRate", "[sequence_rates]") {
  Rated here;
  here.step();
  here.issue("orders", 3);
  here.step();
  Sequence& orders = here.world.sequence("orders");
  REQUIRE(here.rates().runway_ms(orders));
  here.step(SequenceRates::kIdleMs - kSecond);
  REQUIRE(here.rates().runway_ms(orders));
  REQUIRE(here.rates().noted() == 1);
  here.step(2 * kSecond);
  CHECK(here.rates().noted() == 0);
  CHECK_FALSE(here.rates().runway_ms(orders));
  CHECK_FALSE(here.rates().smallest());
  // It is noted again with its next ID.
  here.issue("orders", 1);
  here.step();
  CHECK(here.rates().runway_ms(orders));
}

TEST_CASE("WhoWaitsInVainHasARunwayOfZeroAsLongAsItWants", "[sequence_rates]") {
  Rated here;
  here.step();
  here.world.store.leases.assign(100, {ScriptedStore::LeaseScript::Kind::refuse});
  here.issue("orders", 1);
  Sequence& orders = here.world.sequence("orders");
  REQUIRE((orders.available() == 0 && orders.waiters().size() == 1));
  here.step();
  CHECK(here.rates().smallest()->ms == 0);
  CHECK(here.rates().runway_ms(orders) == 0);
  for (int minute = 0; minute < 12; ++minute) {
    here.world.store.leases.assign(100, {ScriptedStore::LeaseScript::Kind::refuse});
    here.step(60 * kSecond);
  }
  REQUIRE(orders.waiters().size() == 0);
  CHECK(here.rates().smallest()->ms == 0);
}

// After an orderly stop nothing may be issued before the store has confirmed that it is ours.
TEST_CASE("WhatMayNotBeIssuedYetIsNoRunway", "[sequence_rates]") {
  CoreDaemon daemon;
  REQUIRE(daemon.one("orders") == 1);
  daemon.leave_clean();
  daemon.world.store.claims.assign(100, {ScriptedStore::ClaimScript::Kind::failed});
  daemon.world.start();
  daemon.world.settle();
  REQUIRE_FALSE(daemon.world.next("orders"));
  daemon.world.settle();
  Sequence& orders = daemon.world.sequence("orders");
  REQUIRE((orders.available() > 0 && orders.waiters().size() == 1));
  daemon.world.table->accounts().sample_rates(daemon.world.time.monotonic_ms(),
                                              daemon.world.table->blocks().ids());
  CHECK(daemon.world.table->accounts().rates().runway_ms(orders) == 0);
  REQUIRE(daemon.world.table->accounts().rates().smallest());
  CHECK(daemon.world.table->accounts().rates().smallest()->ms == 0);
}

TEST_CASE("ThoseThatIssueMostAreShownAndTheOthersAddedUp", "[sequence_rates]") {
  Rated here;
  here.rates().show(2);
  here.step();
  here.issue("slow", 10);
  here.issue("fast", 300);
  here.issue("middle", 100);
  here.issue("slowest", 5);
  here.step();
  const SequenceRates::Shown first = here.shown();
  REQUIRE(first.rows.size() == 2);
  CHECK(here.name_of(first.rows[0]) == "fast");
  CHECK(here.name_of(first.rows[1]) == "middle");
  CHECK(first.rows[0].issued == 300);
  CHECK(first.rows[0].available == 700);
  CHECK(first.available == 990 + 995);
  here.issue("slow", 7);
  here.issue("fast", 1);
  here.step();
  CHECK(here.shown().rows[0].issued == 301);
  CHECK(here.shown().available == 983 + 995);
  here.step();
  CHECK(here.shown().others_issued == 22);
}

// The sum of the counts is all IDs, each once, and no count falls while it has its name.
TEST_CASE("AnIdIsCountedByItsNameOrByTheOthers", "[sequence_rates]") {
  Rated here;
  here.rates().show(1);
  here.step();
  std::int64_t others = 0;
  std::map<std::string, std::int64_t> named;
  for (int round = 0; round < 60; ++round) {
    here.issue("first", 10 + round % 7);
    here.issue("second", round < 20 ? 0 : round < 40 ? 300 : 1);
    here.issue("third", round % 20);
    here.step();
    CHECK(here.shown().others_issued >= others);
    others = here.shown().others_issued;
    std::map<std::string, std::int64_t> now;
    for (const SequenceRates::Row& row : here.shown().rows) {
      const std::string name = here.name_of(row);
      now[name] = row.issued;
      if (named.contains(name)) CHECK(row.issued >= named[name]);
    }
    named = now;
  }
  REQUIRE(named.contains("second"));
  here.step();
  here.step();
  std::int64_t sum = here.shown().others_issued;
  for (const SequenceRates::Row& row : here.shown().rows) sum += row.issued;
  CHECK(sum <= here.world.table->accounts().issued_here());
}

// The demand includes requests that failed because too few IDs were available.
TEST_CASE("TheRateIsThatOfWhatIsWanted", "[sequence_rates]") {
  Rated here;
  here.rates().show(1);
  here.step();
  here.issue("orders", 1);
  here.world.store.leases.assign(100, {ScriptedStore::LeaseScript::Kind::refuse});
  here.issue("orders", 994);
  here.step();
  Sequence& orders = here.world.sequence("orders");
  REQUIRE(orders.available() == 5);
  for (int second = 0; second < 600; ++second) {
    here.world.store.leases.assign(10, {ScriptedStore::LeaseScript::Kind::refuse});
    CHECK_FALSE(here.world.range("orders", 10, {}, 900));
    here.step();
  }
  CHECK(here.shown().rows.at(0).rate == Approx(10).margin(0.5));
  CHECK(here.rates().runway_ms(orders) == 0);
  CHECK(here.rates().smallest()->ms == 0);
}

TEST_CASE("TheSmallestRunwayIsShownWhereItsRateIsLow", "[sequence_rates]") {
  Rated here;
  here.rates().show(1);
  here.step();
  here.issue("fast", 100);
  here.issue("scarce", 5);
  Sequence& scarce = here.world.sequence("scarce");
  scarce.drain(here.world.time.monotonic_ms() + 1'000, [](const DrainReport&) {});
  here.world.settle();
  REQUIRE(scarce.available() == 0);
  here.step();
  REQUIRE(here.shown().rows.size() == 2);
  CHECK(here.name_of(here.shown().rows[0]) == "fast");
  CHECK(here.name_of(here.shown().rows[1]) == "scarce");
  CHECK(here.shown().rows[1].runway_ms == 0);
  here.rates().show(0);
  here.step();
  CHECK(here.shown().rows.empty());
  CHECK(here.rates().smallest()->sequence == scarce.id());
}

TEST_CASE("AStepSamplesABoundedNumberOfSequences", "[sequence_rates][large]") {
  Rated here;
  const auto all = static_cast<std::int64_t>(SequenceRates::kSamplesPerStep) + 10;
  here.rates().show(3);
  here.step();
  for (std::int64_t number = 0; number < all; ++number) {
    const std::string name = "s" + std::to_string(number);
    here.world.settings.add(name);
    static_cast<void>(here.world.next(name));
    if (number % 256 == 0) here.world.settle();
  }
  here.world.settle();
  REQUIRE(here.rates().noted() == static_cast<std::size_t>(all));
  here.step();
  CHECK(here.shown().rows.empty());  // the round is not over
  CHECK(here.rates().smallest());    // what is known so far
  here.step();
  CHECK(here.shown().rows.size() >= 3);
  here.step();
  here.step();
  const auto shown = static_cast<std::int64_t>(here.shown().rows.size());
  CHECK(here.shown().others_issued == all - shown);
}

TEST_CASE("WhatWasIssuedBeforeTheProcessBeganIsNoNews", "[sequence_rates]") {
  Rated here;
  here.issue("orders", 50);
  CHECK(here.world.table->accounts().issued_here() == 50);
  here.world.restart();
  here.world.settle();
  CHECK(here.world.table->accounts().issued_here() == 0);
  here.step();
  CHECK(here.rates().noted() == 0);
  here.issue("orders", 20);
  CHECK(here.world.table->accounts().issued_here() == 20);
  here.step();
  CHECK(here.rates().noted() == 1);
  here.step();
  CHECK(here.shown().others_issued == 20);
}

TEST_CASE("GapsAreCountedByTheirCause", "[sequence_rates]") {
  Rated here;
  here.issue("orders", 5);
  here.world.sequence("orders").drain(here.world.time.monotonic_ms() + 1'000,
                                      [](const DrainReport&) {});
  here.world.settle();
  const auto& gaps = here.world.table->budgets().gap_ids();
  CHECK(gaps.at(static_cast<std::size_t>(GapCause::drained)) == 995);
  CHECK(gaps.at(static_cast<std::size_t>(GapCause::power_loss)) == 0);
}

// A sequence of a period leaves while it is shown, and while a round is under way.
TEST_CASE("WhoIsForgottenIsNoneOfTheRates", "[sequence_rates]") {
  Daily here;
  SequenceRates& rates = here.world.table->accounts().rates();
  const auto sample = [&here] {
    here.world.table->accounts().sample_rates(here.world.time.monotonic_ms(),
                                              here.world.table->blocks().ids());
  };
  rates.show(5);
  sample();
  REQUIRE(here.one() == 1);
  here.wait(1'000);
  sample();
  REQUIRE(rates.shown()->rows.size() == 1);
  REQUIRE(rates.smallest()->sequence == here.of(kFirst)->id());
  here.world.time.wall_set_ms = 31 * kDayMs;
  REQUIRE(here.one() == 1);
  here.world.time.wall_set_ms = 34 * kDayMs;
  here.wait(180'000);
  REQUIRE(here.of(kFirst) == nullptr);
  CHECK(rates.noted() == 1);
  CHECK_FALSE(rates.smallest());
  CHECK(here.world.table->accounts().issued_here() == 2);
  sample();
  CHECK(rates.smallest());
  CHECK(here.world.table->sequences().contains(rates.smallest()->sequence));
}

}  // namespace
}  // namespace seqd
