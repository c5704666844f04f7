#include "daemon/core/upkeep/decommission.h"

#include <optional>
#include <string>
#include <vector>

#include "tests/unit/world.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using End = DecommissionReport::End;

struct Marked final : Decommission::Place {
  Status mark(const std::vector<RetiredInstance>& marked) override {
    if (status.ok()) instances = marked;
    return status;
  }
  Status status;
  std::optional<std::vector<RetiredInstance>> instances;
};

// A daemon with IDs of "orders" available, of which the first was issued.
struct Retiring {
  explicit Retiring(Reuse reuse = Reuse::parked) {
    world.settings.add("orders").reuse = reuse;
    world.log.any_order = true;
    begin_life();
    REQUIRE(issue());
  }
  void begin_life() {
    decommission.reset();
    world.kill();
    world.start();
    world.settle();
    decommission.emplace(CoreContext{world.time, world.time, world.random, world.log, world.events,
                                     *world.replies, nullptr},
                         *world.table, place);
    if (place.instances) decommission->resume(*place.instances);
  }
  // Whether a request is served, now or later.
  bool issue() {
    if (world.next("orders")) {
      world.turn();
      return true;
    }
    if (!world.status.ok()) return false;
    world.settle();
    return world.answers.sent.back().status.ok();
  }
  std::optional<DecommissionReport> begin(bool only_look = false, std::int64_t timeout_ms = 1'000) {
    report.reset();
    REQUIRE(decommission
                ->begin(only_look, timeout_ms,
                        [this](const DecommissionReport& done) { report = done; })
                .ok());
    world.settle();
    return report;
  }
  Token instance() const { return world.table->scopes().find("default")->instance(); }
  bool known() const { return world.store.epochs.contains(instance()); }

  CoreWorld world;
  Marked place;
  std::optional<Decommission> decommission;
  std::optional<DecommissionReport> report;
};

TEST_CASE("WhatIsAvailableIsReturnedBeforeTheStoreForgets", "[core]") {
  const Reuse reuse = GENERATE(Reuse::never, Reuse::tail, Reuse::parked);
  Retiring here(reuse);
  const std::int64_t available = here.world.sequence("orders").available();
  REQUIRE(here.begin());
  CHECK(here.report->end == End::done);
  REQUIRE(here.report->sequences.size() == 1);
  const DecommissionReport::OfSequence& part = here.report->sequences[0];
  CHECK(part.available == 0);
  CHECK(part.totals.issued == 1);
  CHECK((reuse == Reuse::never ? part.totals.gaps : part.totals.returned) == available);
  REQUIRE(here.report->stores.size() == 1);
  CHECK(here.report->stores[0].forgotten);
  CHECK(here.report->stores[0].records.entry);
  CHECK_FALSE(here.known());
  REQUIRE(here.place.instances.has_value());
  CHECK(here.place.instances->front() == RetiredInstance{"default", here.instance()});
  CHECK_FALSE(here.issue());
  CHECK(here.world.status.code() == ErrorCode::STOPPING);
}

TEST_CASE("ALookCountsWhatIsOutAndADecommissionEndsIt", "[core]") {
  Retiring here;
  here.world.log.any_order = true;
  const ClientId client = here.world.table->replays().attach(Token{1}, 1'000)->client;
  REQUIRE(here.world.table->blocks().prepare_grant(client, 1'000).ok());
  REQUIRE(here.world.sequence("orders").grant_block({5, 1, client, 1'000}, 0, 5).ok());
  here.world.turn();
  REQUIRE(here.begin(true));
  CHECK(here.report->sequences[0].out == 5);
  CHECK(here.world.sequence("orders").out() == 5);
  here.report.reset();
  REQUIRE(here.begin(false));
  here.world.settle();
  REQUIRE(here.report);
  CHECK(here.report->end == End::done);
  CHECK(here.report->sequences[0].out == 0);
  CHECK(here.world.pages.slot(client, 0).limit == 0);
}

TEST_CASE("ALookChangesNothingAndSaysWhatThereIs", "[core]") {
  Retiring here;
  const std::int64_t available = here.world.sequence("orders").available();
  REQUIRE(here.begin(true));
  CHECK(here.report->end == End::preview);
  CHECK(here.report->sequences[0].available == available);
  CHECK(here.report->sequences[0].drained.reuse == Reuse::parked);
  CHECK(here.report->stores[0].records.entry);
  CHECK(here.report->stores[0].records.records > 0);
  CHECK_FALSE(here.report->stores[0].forgotten);
  CHECK(here.known());
  CHECK(here.world.sequence("orders").available() == available);
  CHECK(here.issue());
}

TEST_CASE("AStoreThatIsAwayIsFoundOutBeforeAnythingIsDone", "[core]") {
  Retiring here;
  const std::int64_t available = here.world.sequence("orders").available();
  here.world.store.forgets.push_back({ScriptedStore::ForgetScript::Kind::failed_lost});
  REQUIRE(here.begin());
  CHECK(here.report->end == End::refused);
  CHECK(here.report->why.code() == ErrorCode::UNAVAILABLE);
  CHECK(here.world.sequence("orders").available() == available);
  CHECK(here.issue());
  REQUIRE(here.begin());
  CHECK(here.report->end == End::done);
}

TEST_CASE("WhatCannotBeReturnedInTimeEndsTheRefusalAndNothingIsForgotten", "[core]") {
  Retiring here;
  here.world.store.returns.push_back({ScriptedStore::ReturnScript::Kind::failed_lost});
  here.world.store.returns.push_back({ScriptedStore::ReturnScript::Kind::failed_lost});
  CHECK_FALSE(here.begin(false, 10));
  CHECK_FALSE(here.issue());
  here.world.advance(10);
  here.world.settle();
  REQUIRE(here.report);
  CHECK(here.report->end == End::refused);
  CHECK(here.report->sequences[0].returning > 0);
  CHECK_FALSE(here.place.instances.has_value());
  CHECK(here.known());
  here.world.advance(60'000);
  here.world.settle();
  CHECK(here.issue());
}

TEST_CASE("ALeaseOnItsWayIsSettledFirst", "[core]") {
  Retiring here;
  here.world.store.leases.push_back({ScriptedStore::LeaseScript::Kind::unknown_applied});
  here.world.store.resolutions.push_back({ScriptedStore::ResolveScript::Kind::failed});
  const std::int64_t available = here.world.sequence("orders").available();
  REQUIRE_FALSE(here.world.range("orders", available + 1));
  here.world.settle();
  REQUIRE(here.world.sequence("orders").slot().leasing());
  CHECK_FALSE(here.begin(false, 60'000));
  CHECK(here.known());
  here.world.advance(30'000);
  here.world.settle();
  REQUIRE(here.report);
  CHECK(here.report->end == End::done);
  const SequenceTotals& totals = here.report->sequences[0].totals;
  CHECK(totals.leased == totals.issued + totals.returned + totals.gaps);
  CHECK(totals.unknown == 0);
}

TEST_CASE("ASequenceThatIsFirstUsedWhileTheStoresAreAskedIsDrainedToo", "[core]") {
  Retiring here;
  here.world.settings.add("tickets").reuse = Reuse::parked;
  REQUIRE(here.decommission
              ->begin(false, 1'000, [&](const DecommissionReport& done) { here.report = done; })
              .ok());
  REQUIRE_FALSE(here.world.next("tickets"));
  here.world.turn();
  REQUIRE(here.world.sequence("tickets").slot().leasing());
  here.world.settle();
  REQUIRE(here.report);
  CHECK(here.report->end == End::done);
  REQUIRE(here.report->sequences.size() == 2);
  const SequenceTotals& totals = here.world.sequence("tickets").totals();
  REQUIRE(totals.leased > 0);
  CHECK(totals.leased == totals.issued + totals.returned);
  CHECK(holds_nothing(here.world.sequence("tickets")));
}

TEST_CASE("BehindTheMarkARestartRefusesUntilEveryStoreHasForgotten", "[core]") {
  Retiring here;
  using Kind = ScriptedStore::ForgetScript::Kind;
  const Token instance = here.instance();
  here.world.store.forgets.push_back({Kind::truth});
  here.world.store.forgets.push_back({GENERATE(Kind::failed_applied, Kind::failed_lost)});
  REQUIRE(here.begin());
  CHECK(here.report->end == End::unfinished);
  CHECK_FALSE(here.issue());
  here.begin_life();
  CHECK(here.world.events.count(EventKind::retiring) == 1);
  CHECK_FALSE(here.issue());
  CHECK(here.world.status.code() == ErrorCode::STOPPING);
  REQUIRE(here.begin());
  CHECK(here.report->end == End::done);
  CHECK_FALSE(here.world.store.epochs.contains(instance));
  CHECK_FALSE(here.known());
}

TEST_CASE("WithoutAMarkNoStoreForgets", "[core]") {
  Retiring here;
  here.place.status = {ErrorCode::STATE_IO, "the disk is full"};
  REQUIRE(here.begin());
  CHECK(here.report->end == End::refused);
  CHECK(here.report->why.code() == ErrorCode::STATE_IO);
  CHECK(here.known());
  CHECK(here.issue());
}

TEST_CASE("OneDecommissionAtATime", "[core]") {
  Retiring here;
  REQUIRE(here.decommission->begin(true, 1'000, [](const DecommissionReport&) {}).ok());
  const Status second = here.decommission->begin(false, 1'000, [](const DecommissionReport&) {});
  CHECK(second.code() == ErrorCode::BUSY);
  here.world.settle();
  CHECK(here.begin(true));
}

TEST_CASE("ASequenceThatIsStoppedKeepsTheInstanceWhileItHasSomethingAvailable", "[core]") {
  Retiring here;
  here.world.sequence("orders").set_stopped(
      {StopCause::elsewhere, {ErrorCode::SEQ_CHANGED, "bound to another counter"}});
  REQUIRE(here.begin());
  CHECK(here.report->end == End::refused);
  CHECK(here.report->sequences[0].error.code() == ErrorCode::SEQ_CHANGED);
  CHECK(here.report->why.code() == ErrorCode::SEQ_CHANGED);
  CHECK(here.known());
}

TEST_CASE("ARepeatIsAnsweredWhileRequestsAreRefused", "[core]") {
  Retiring here;
  here.world.table->refuse_requests({ErrorCode::STOPPING, "going"});
  CHECK_FALSE(here.issue());
  CHECK(here.world.status.code() == ErrorCode::STOPPING);
  CHECK(here.world.table->open("another").status().code() == ErrorCode::STOPPING);
  here.world.table->refuse_requests({});
  CHECK(here.issue());
}

// It is over for long and has nothing available, and the drain waits for another sequence.
TEST_CASE("PeriodIsNotForgottenWhileADecommissionDrains", "[core][period]") {
  Retiring here;
  constexpr std::int64_t kDayMs = 86'400'000;
  const char* const first = "daily@2023-11-14";
  SequenceSettings& daily = here.world.settings.add("daily");
  daily.periods.period = "day";
  daily.periods.rule = PeriodRule::make("day", nullptr).value();
  daily.reuse = Reuse::never;
  for (const std::int64_t day : {0, 1}) {
    here.world.time.wall_set_ms = day * kDayMs;
    REQUIRE_FALSE(here.world.next("daily"));
    here.world.settle();
    REQUIRE(here.world.answers.sent.back().status.ok());
  }
  for (int times = 0; times < 100; ++times)
    here.world.store.returns.push_back({ScriptedStore::ReturnScript::Kind::failed_lost});
  here.world.time.wall_set_ms = 60 * kDayMs;
  REQUIRE_FALSE(here.begin(false, 600'000));
  REQUIRE(here.world.sequence("orders").slot().returning() > 0);
  for (int minute = 0; minute < 5; ++minute) {
    here.world.advance(60'000);
    here.world.settle();
    REQUIRE(here.world.table->find(first) != 0);
    REQUIRE(holds_nothing(here.world.table->at(here.world.table->find(first))));
  }
  here.world.store.returns.clear();
  for (int minute = 0; minute < 5 && !here.report; ++minute) {
    here.world.advance(60'000);
    here.world.settle();
  }
  REQUIRE(here.report);
  CHECK(here.report->end == End::done);
  CHECK(here.report->sequences.size() == 3);
}

// Its former store may not exist any more.
TEST_CASE("AStoreThatAllSequencesLeftAndIsNotConfiguredDoesNotKeepTheInstance", "[core]") {
  Retiring here;
  ScriptedStore central;
  central.identity = Token{9};
  central.next_id["orders"] = 500;
  REQUIRE(here.world.table->orders().drain(1, 1'000, [](const DrainReport&) {}).ok());
  here.world.settle();
  here.world.kill();
  here.world.stores = {{"central", &central}};
  here.world.settings.by_name["orders"].store = "central";
  const auto settle = [&] {
    do here.world.settle();
    while (central.deliver());
  };
  here.begin_life();
  settle();
  std::optional<DecommissionReport> report;
  REQUIRE(
      here.decommission->begin(false, 1'000, [&](const DecommissionReport& done) { report = done; })
          .ok());
  settle();
  here.world.advance(0);
  settle();
  REQUIRE(report);
  CAPTURE(report->why.to_string());
  CHECK(report->end == End::done);
  REQUIRE(report->stores.size() == 1);
  CHECK(report->stores[0].name == "central");
  here.decommission.reset();
  here.world.kill();
}

// Its unit was changed, so it cannot be configured beside the periods of today.
TEST_CASE("APeriodThatIsNotConfiguredAnyMoreDoesNotKeepTheInstance", "[core][period]") {
  Retiring here;
  SequenceSettings& daily = here.world.settings.add("tickets");
  daily.periods.period = "day";
  daily.periods.rule = PeriodRule::make("day", nullptr).value();
  REQUIRE(here.world.next("tickets") == std::nullopt);
  here.world.settle();
  here.world.kill();
  daily.periods.period = "hour";
  daily.periods.rule = PeriodRule::make("hour", nullptr).value();
  here.begin_life();
  const SequenceId old = here.world.table->find("tickets@2023-11-14");
  REQUIRE(here.world.table->at(old).available() > 0);
  static_cast<void>(here.begin());
  here.world.advance(0);
  here.world.settle();
  REQUIRE(here.report);
  CAPTURE(here.report->why.to_string());
  CHECK(here.report->end == End::done);
  CHECK_FALSE(here.known());
}

}  // namespace
}  // namespace seqd
