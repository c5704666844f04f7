// Housekeeping of periods: what is found, what stays and why, and that nothing starts again that
// was removed.
#include "daemon/core/upkeep/purge.h"

#include <algorithm>
#include <optional>

#include "tests/unit/orders.h"
#include "tests/unit/scripted_purges.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

constexpr std::int64_t kDayMs = 86'400'000;
constexpr std::int64_t kDayS = 86'400;
// The world begins on 2023-11-14 at 22:13 UTC; with 10 days to keep, 2023-11-03 is the last to go.
constexpr std::int64_t kNowS = 1'700'000'001;

struct Housekeeping : Orders {
  explicit Housekeeping(const std::function<void(SequenceSettings&)>& change =
                            [](SequenceSettings&) {})
      : Orders([&](SequenceSettings& settings) {
          settings.periods.period = "day";
          settings.periods.rule = PeriodRule::make("%y%m%d", nullptr).value();
          settings.periods.retain_ms = 10 * kDayMs;
          settings.binding.key = "{period}";
          change(settings);
        }) {
    make({{"default", &store}, {"keyless", nullptr}});
    for (const char* key : {"231101", "231102", "231103", "231104", "231113", "231114"})
      store.counters[key] = 7;
  }
  void make(Purge::Stores stores) {
    purge = std::make_unique<Purge>(CoreContext{world.time, world.time, world.random, world.log,
                                                world.events, world.answers, nullptr},
                                    *world.table, world.settings, std::move(stores),
                                    [this] { return named; });
  }
  Result<PurgeReport> ask(bool remove, const std::string& name = "orders",
                          const std::string& after = "") {
    std::optional<Result<PurgeReport>> answer;
    const Status begun = purge->begin({name, remove, after, 500, 77},
                                      [&](const Result<PurgeReport>& result) { answer = result; });
    if (!begun.ok()) return begun;
    CHECK_FALSE(answer.has_value());
    world.settle();
    while (store.deliver()) world.settle();
    REQUIRE(answer.has_value());
    return *answer;
  }
  // The keys of a report; those that stay with a "!" behind them.
  std::vector<std::string> keys(bool remove, const std::string& after = "") {
    report = ask(remove, "orders", after).value();
    std::vector<std::string> out;
    for (const PurgeReport::Counter& counter : report.counters) {
      CHECK(counter.removed == (remove && counter.why.empty()));
      out.push_back(counter.key + (counter.why.empty() ? "" : "!"));
    }
    return out;
  }
  ErrorCode error(const std::string& name, bool remove = true) {
    const auto answer = ask(remove, name);
    CHECK_FALSE(answer.ok());
    text = answer.status().text();
    return answer.status().code();
  }
  bool says(const char* words) const { return text.find(words) != std::string::npos; }

  ScriptedPurges store;
  std::vector<NamedSequence> named;
  std::unique_ptr<Purge> purge;
  PurgeReport report;
  std::string text;  // of the last error
};

using Keys = std::vector<std::string>;

TEST_CASE("PurgeThatLooksFindsWhatIsOldAndRemovesNothing", "[purge]") {
  Housekeeping here;
  CHECK(here.keys(false) == Keys{"231101", "231102", "231103"});
  CHECK(here.report.counters[0].period.name == "2023-11-01");
  CHECK(here.report.counters[0].last == 7);
  CHECK_FALSE(here.report.more);
  CHECK(here.store.counters.size() == 6);
  CHECK(here.store.removals.empty());
  // Who only looks leaves no trace.
  CHECK(here.world.table->sequences().all().empty());
  CHECK(here.world.events.count(EventKind::counters_removed) == 0);
}

TEST_CASE("PurgeRemovesWhatIsOldAndTellsWhoAsked", "[purge]") {
  Housekeeping here;
  CHECK(here.keys(true) == Keys{"231101", "231102", "231103"});
  CHECK(here.store.counters.size() == 3);
  CHECK(here.keys(true).empty());
  CHECK(here.world.events.count(EventKind::counters_removed) == 1);
  const Event& event = here.world.events.newest;
  CHECK(event.text ==
        "3 counters of \"orders\" removed from store \"default\": 2023-11-01 .. 2023-11-03; "
        "requested by user 500, process 77");
}

TEST_CASE("NothingIsRemovedBeforeTheDecisionIsOnTheMedium", "[purge]") {
  Housekeeping here;
  const bool answered = GENERATE(true, false);
  REQUIRE(here.purge->begin({"orders", true, "", 500, 77}, [](const auto&) {}).ok());
  here.world.turn();
  REQUIRE(here.store.deliver());
  here.world.turn();
  CHECK(here.store.removals.empty());
  REQUIRE(here.world.log.flush_due());
  REQUIRE_FALSE(here.world.log.durable_image.names.contains("orders"));
  if (answered) {
    here.world.flush();
    CHECK(here.store.removals.size() == 1);
    CHECK(here.world.log.durable_image.names.at("orders").newest_s == kNowS - kNowS % kDayS);
    return;
  }
  // A daemon that ends here has removed nothing.
  here.purge.reset();
  here.world.flush();
  CHECK(here.store.removals.empty());
}

// A reload may keep what was old when the purge began, or move the counters.
TEST_CASE("NothingIsRemovedWhenAReloadChangesTheSequenceDuringThePurge", "[purge]") {
  Housekeeping here;
  SequenceSettings& settings = here.world.settings.by_name["orders"];
  const int change = GENERATE(0, 1, 2, 3);
  std::optional<Result<PurgeReport>> answer;
  REQUIRE(here.purge
              ->begin({"orders", true, "", 500, 77},
                      [&](const Result<PurgeReport>& result) { answer = result; })
              .ok());
  here.world.turn();
  REQUIRE(here.store.deliver());
  REQUIRE_FALSE(answer.has_value());
  if (change == 0) settings.periods.retain_ms = 20 * kDayMs;
  if (change == 1) settings.binding.key = "other-{period}";
  if (change == 2) settings.store = "keyless";
  if (change == 3) here.world.settings.by_name.erase("orders");
  here.world.settle();
  REQUIRE(answer.has_value());
  CHECK(answer->status().code() == ErrorCode::BUSY);
  CHECK(answer->status().text().find("nothing was removed") != std::string::npos);
  CHECK(here.store.removals.empty());
}

TEST_CASE("APurgeThatFindsNothingWaitsForNothing", "[purge]") {
  Housekeeping here;
  here.store.counters.clear();
  CHECK(here.keys(true).empty());
  CHECK(here.store.removals.empty());
}

TEST_CASE("CountersAreKeptByTheEarlierOfTheTwoClocks", "[purge]") {
  Housekeeping here;
  here.store.clock_s = kNowS - kDayS;
  CHECK(here.keys(true) == Keys{"231101", "231102", "231103!"});
  CHECK(here.report.counters[2].why.find("for the store's server 2023-11-13") != std::string::npos);
  here.store.clock_s = kNowS + 30 * kDayS;
  CHECK(here.keys(true) == Keys{"231103", "231104!", "231113!", "231114!"});
  CHECK(here.store.counters.size() == 3);
}

TEST_CASE("CounterOfWhichIdsAreAvailableStays", "[purge]") {
  Housekeeping here;
  REQUIRE_FALSE(here.world.next("orders").has_value());
  here.world.settle();
  REQUIRE(here.world.table->at(here.world.table->find("orders@2023-11-14")).available() > 0);
  here.world.time.wall_set_ms = 20 * kDayMs;
  CHECK(here.keys(true) == Keys{"231101", "231102", "231103", "231104", "231113", "231114!"});
  CHECK(here.report.counters[5].why.find("seqctl drain orders@2023-11-14") != std::string::npos);
  // It is written off a minute later.
  for (int step = 0; step < 4; ++step) {
    here.world.advance(20'000);
    here.world.settle();
  }
  CHECK(here.keys(true) == Keys{"231114"});
}

TEST_CASE("CounterWhoseLeaseIsOnItsWayStays", "[purge]") {
  Housekeeping here;
  REQUIRE_FALSE(here.world.next("orders").has_value());
  here.world.turn();
  here.world.flush();
  here.world.turn();
  REQUIRE(here.world.store.pending() == 1);
  here.world.store.drop_pending();
  here.world.time.wall_set_ms = 20 * kDayMs;
  CHECK(here.keys(false).back() == "231114!");
}

TEST_CASE("CounterOfAnotherSequenceStays", "[purge]") {
  Housekeeping here;
  SequenceSettings other = here.world.settings.by_name["orders"];
  here.named = {{"people", &other}};
  CHECK(here.keys(true) == Keys{"231101!", "231102!", "231103!"});
  CHECK(here.report.counters[0].why == "it is a counter of \"people\", too");
  other.binding.collection = "elsewhere";
  CHECK(here.keys(false) == Keys{"231101", "231102", "231103"});
  here.store.by_key_alone = true;
  CHECK(here.keys(false) == Keys{"231101!", "231102!", "231103!"});
  here.store.by_key_alone = false;
  other.store = "elsewhere";
  other.binding.collection = "counters";
  CHECK(here.keys(false) == Keys{"231101", "231102", "231103"});
  other.store = "default";
  other.binding.key_type = KeyType::integer;
  CHECK(here.keys(false) == Keys{"231101", "231102", "231103"});
  other.binding.key_type = KeyType::text;
  other.periods = PeriodSettings();
  other.binding.key = "231102";
  CHECK(here.keys(false) == Keys{"231101", "231102!", "231103"});
  other.binding.key = "";
  here.named = {{"231103", &other}};
  CHECK(here.keys(false) == Keys{"231101", "231102", "231103!"});
  other.mode = SequenceMode::insert;
  CHECK(here.keys(false) == Keys{"231101!", "231102!", "231103!"});
  // Its own table is no other.
  here.named = {{"orders", &here.world.settings.by_name["orders"]}};
  CHECK(here.keys(true) == Keys{"231101", "231102", "231103"});
}

TEST_CASE("CounterOfASequenceThatIsOnlyHeldHereStays", "[purge]") {
  Housekeeping here;
  here.world.settings.add("231102");
  REQUIRE(here.world.table->open("231102").ok());
  CHECK(here.keys(true) == Keys{"231101", "231102!", "231103"});
  CHECK(here.report.counters[1].why == "it is the counter of \"231102\", too");
}

TEST_CASE("WhatIsNoCounterStays", "[purge]") {
  Housekeeping here;
  here.store.problems["231102"] = "field count holds a string";
  for (const char* foreign : {"2311", "231031x", "231131", "people"})
    here.store.counters[foreign] = 1;
  CHECK(here.keys(true) == Keys{"231101", "231102!", "231103"});
  CHECK(here.report.counters[1].why == "field count holds a string");
}

TEST_CASE("PagesOfAPurgeContinueAfterTheLastKey", "[purge]") {
  Housekeeping here;
  here.store.most_found = 2;
  CHECK(here.keys(false) == Keys{"231101", "231102"});
  REQUIRE(here.report.more);
  CHECK(here.report.after == "231102");
  CHECK(here.keys(false, here.report.after) == Keys{"231103"});
  CHECK(here.store.queries.back().after == "231102");
  CHECK(here.store.queries.back().limit == Purge::kMostFound);
}

TEST_CASE("OnePageRemovesAHundredAtMost", "[purge]") {
  Housekeeping here;
  here.store.counters.clear();
  for (int year = 10; year < 20; ++year) {
    for (int day = 10; day < 28; ++day)
      here.store.counters[std::to_string(year) + "10" + std::to_string(day)] = 1;
  }
  CHECK(here.keys(false).size() == 180);
  CHECK(here.keys(true).size() == Purge::kMostRemoved);
  REQUIRE(here.report.more);
  CHECK(here.store.counters.size() == 80);
  CHECK(here.keys(true, here.report.after).size() == 80);
  CHECK_FALSE(here.report.more);
  CHECK(here.store.counters.empty());
}

TEST_CASE("CountersThatChangedOrWereNotReachedAreReported", "[purge]") {
  using Kind = RemovalOutcome::Kind;
  Housekeeping here;
  here.store.scripts = {{Kind::changed, {}}};
  here.store.most_removed = 2;
  CHECK(here.keys(true) == Keys{"231101!", "231102"});
  CHECK(here.report.more);
  CHECK(here.report.after == "231102");
  CHECK(here.keys(true, here.report.after) == Keys{"231103"});
  CHECK(here.store.counters.contains("231101"));
}

TEST_CASE("StoreThatIsAwayIsAnErrorAndAskingAgainIsEnough", "[purge]") {
  using Kind = RemovalOutcome::Kind;
  Housekeeping here;
  here.store.away = {ErrorCode::UNAVAILABLE, "away"};
  CHECK(here.error("orders") == ErrorCode::UNAVAILABLE);
  here.store.away = {};
  here.store.scripts = {{Kind::failed, {ErrorCode::UNAVAILABLE, "gone"}}};
  CHECK(here.error("orders") == ErrorCode::UNAVAILABLE);
  here.store.scripts = {{Kind::removed, {}}, {Kind::failed, {ErrorCode::UNAVAILABLE, "gone"}}};
  CHECK(here.keys(true) == Keys{"231101"});
  CHECK(here.report.more);
  CHECK(here.keys(true, here.report.after) == Keys{"231102", "231103"});
}

TEST_CASE("WhatCannotBePurgedIsRefusedWithTheReason", "[purge]") {
  Housekeeping here;
  CHECK(here.error("people") == ErrorCode::NO_SEQUENCE);
  CHECK(here.error("orders@2023-11-01") == ErrorCode::BAD_REQUEST);
  CHECK(here.says("takes the name of the whole sequence, \"orders\""));
  SequenceSettings& settings = here.world.settings.by_name["orders"];
  settings.periods.retain_ms = 0;
  CHECK(here.error("orders") == ErrorCode::CONFIG);
  CHECK(here.says("sequence.period_retention"));
  settings.periods.retain_ms = 10 * kDayMs;
  settings.store = "keyless";
  CHECK(here.error("orders") == ErrorCode::CONFIG);
  CHECK(here.says("a job of your own"));
  settings.store = "new";
  CHECK(here.error("orders") == ErrorCode::CONFIG);
  CHECK(here.says("restart"));
  settings.mode = SequenceMode::insert;
  CHECK(here.error("orders") == ErrorCode::WRONG_MODE);
  here.world.settings.add("people");
  CHECK(here.error("people") == ErrorCode::BAD_REQUEST);
  CHECK(here.says("has no periods"));
  CHECK(here.store.queries.empty());
  CHECK(here.world.table->sequences().all().empty());
}

TEST_CASE("OnePurgeIsUnderWayAtATime", "[purge]") {
  Housekeeping here;
  const PurgeOrder order{"orders", false, "", 0, 1};
  int answers = 0;
  const auto count = [&](const Result<PurgeReport>&) { ++answers; };
  REQUIRE(here.purge->begin(order, count).ok());
  CHECK(here.purge->begin(order, count).code() == ErrorCode::BUSY);
  // Who has gone hears nothing more.
  here.purge.reset();
  CHECK(here.store.deliver());
  CHECK(answers == 0);
}

TEST_CASE("PeriodWhoseCounterThisHostRemovedIsNotStartedAgain", "[purge]") {
  Housekeeping here;
  REQUIRE(here.keys(true).size() == 3);
  const auto counter_of = [&](std::int64_t days_back) {
    here.world.time.wall_set_ms = -days_back * kDayMs;
    return here.world.table->open("orders").status().code();
  };
  CHECK(counter_of(11) == ErrorCode::SEQ_REGRESSED);  // 2023-11-03
  CHECK(counter_of(13) == ErrorCode::SEQ_REGRESSED);
  CHECK(counter_of(10) == ErrorCode::OK);
  here.world.restart();
  here.world.settle();
  CHECK(counter_of(11) == ErrorCode::SEQ_REGRESSED);
}

TEST_CASE("HostWhoseClockIsBehindWhatItUsedRemovesNothing", "[purge]") {
  Housekeeping here;
  REQUIRE(here.world.table->open("orders").ok());
  here.world.time.wall_set_ms = -13 * kDayMs;
  here.store.counters["231001"] = 1;
  CHECK(here.error("orders") == ErrorCode::SEQ_REGRESSED);
  CHECK(here.store.queries.empty());
}

}  // namespace
}  // namespace seqd
