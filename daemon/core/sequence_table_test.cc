#include "daemon/core/sequence_table.h"

#include <set>

#include "tests/unit/world.h"

// After the project's headers: both define CHECK, and here Catch's is meant.
#include <catch2/catch.hpp>

namespace seqd {
namespace {

using LeaseKind = ScriptedStore::LeaseScript::Kind;
using ResolveKind = ScriptedStore::ResolveScript::Kind;
using Runs = std::vector<Run>;

const Status kAway(ErrorCode::UNAVAILABLE, "away");
const Status kStop(ErrorCode::STOPPING, "stop");

struct Daemon {
  explicit Daemon(std::initializer_list<const char*> names = {"orders"}) {
    for (const char* name : names) world.settings.add(name);
    world.start();
    world.settle();
  }
  std::int64_t one(const std::string& name, const Caller& caller = {}) {
    if (const auto id = world.next(name, caller)) {
      world.turn();
      return *id;
    }
    world.settle();
    const Answer& answer = world.answers.sent.back();
    return answer.status.ok() ? answer.runs.front().first : -1;
  }
  void leave_clean() {
    world.table->begin_stop(kStop);
    world.settle();
    static_cast<void>(world.table->leave_clean());
    world.turn();
    world.flush();
    world.kill();
  }
  ErrorCode error_of(const std::string& name) {
    static_cast<void>(world.next(name));
    return world.status.code();
  }
  CoreWorld world;
};

TEST_CASE("SequenceIsOpenedOnceAndFoundByName", "[sequence_table]") {
  Daemon daemon({"orders", "bills"});
  REQUIRE(daemon.world.table->find("orders") == 0);
  const SequenceId id = *daemon.world.table->open("orders");
  REQUIRE(*daemon.world.table->open("orders") == id);
  REQUIRE(daemon.world.table->find("orders") == id);
  REQUIRE(*daemon.world.table->open("bills") != id);
  const auto list = daemon.world.table->list();
  REQUIRE(list.size() == 2);
  REQUIRE(list[0]->name() == "bills");
  daemon.world.turn();
}

TEST_CASE("UnknownNameIsNoSequence", "[sequence_table]") {
  Daemon daemon;
  REQUIRE(daemon.error_of("others") == ErrorCode::NO_SEQUENCE);
  REQUIRE(daemon.world.status.text().find("others") != std::string::npos);
}

TEST_CASE("SequencesAreLimited", "[sequence_table]") {
  CoreWorld world;
  world.limits.sequences = 2;
  for (const char* name : {"a", "b", "c"}) world.settings.add(name);
  world.start();
  REQUIRE(world.table->open("a").ok());
  REQUIRE(world.table->open("b").ok());
  REQUIRE(world.table->open("c").status().code() == ErrorCode::BUSY);
  REQUIRE(world.table->open("a").ok());
  world.turn();
}

TEST_CASE("SequenceOfAStoreThatDoesNotRunIsAConfigurationError", "[sequence_table]") {
  Daemon daemon;
  daemon.world.settings.add("far").store = "elsewhere";
  REQUIRE(daemon.world.table->open("far").status().code() == ErrorCode::CONFIG);
}

TEST_CASE("SequencesDoNotShareIds", "[sequence_table]") {
  Daemon daemon({"orders", "bills"});
  REQUIRE(daemon.one("orders") == 1);
  REQUIRE(daemon.one("bills") == 1);
  REQUIRE(daemon.one("orders") == 2);
}

TEST_CASE("CancelReachesEverySequence", "[sequence_table]") {
  Daemon daemon({"orders", "bills"});
  static_cast<void>(daemon.world.next("orders", {7, 1, 0}));
  static_cast<void>(daemon.world.next("bills", {7, 2, 0}));
  static_cast<void>(daemon.world.next("bills", {8, 1, 0}));
  REQUIRE(daemon.world.table->waiting() == 3);
  daemon.world.table->cancel(7);
  REQUIRE(daemon.world.table->waiting() == 1);
  daemon.world.settle();
  REQUIRE(daemon.world.answers.sent.size() == 1);
}

TEST_CASE("OneCommitCarriesTheIssuesOfOneTurnMerged", "[sequence_table]") {
  Daemon daemon;
  daemon.one("orders");
  const std::size_t before = daemon.world.log.history.size();
  for (int at = 0; at < 5; ++at) REQUIRE(daemon.world.next("orders"));
  daemon.world.turn();
  int issues = 0;
  for (std::size_t at = before; at < daemon.world.log.history.size(); ++at) {
    const auto* issue = std::get_if<Issued>(&daemon.world.log.history[at]);
    if (issue == nullptr) continue;
    ++issues;
    REQUIRE(issue->end - issue->begin == 5);
  }
  REQUIRE(issues == 1);
}

TEST_CASE("RestartFromTheCommittedLogMakesNoHole", "[sequence_table]") {
  Daemon daemon;
  for (std::int64_t expected = 1; expected <= 200; ++expected) {
    REQUIRE(daemon.one("orders") == expected);
    if (expected % 7 == 0) {
      daemon.world.restart();
      daemon.world.settle();
    }
    daemon.world.time.advance(100);
  }
}

TEST_CASE("CleanStopAndStartMakesNoHole", "[sequence_table]") {
  Daemon daemon;
  std::int64_t expected = 1;
  for (int round = 0; round < 10; ++round) {
    for (int at = 0; at < 7; ++at) REQUIRE(daemon.one("orders") == expected++);
    daemon.leave_clean();
    REQUIRE(daemon.world.log.image.scopes.at(1).state == ScopeState::clean);
    REQUIRE(daemon.world.log.durable_image == daemon.world.log.image);
    daemon.world.start();
    daemon.world.settle();
  }
}

TEST_CASE("StoppingDaemonTellsThoseWhoWaitAndIssuesNothing", "[sequence_table]") {
  Daemon daemon;
  daemon.one("orders");
  static_cast<void>(daemon.world.range("orders", 500, {1, 1, 0}));
  daemon.world.table->begin_stop(kStop);
  daemon.world.turn();
  REQUIRE(daemon.world.answers.sent.back().status.code() == ErrorCode::STOPPING);
  REQUIRE(daemon.error_of("orders") == ErrorCode::STOPPING);
  daemon.world.settle();
  REQUIRE(daemon.world.table->settled());
}

TEST_CASE("StopWaitsForTheLeaseInFlight", "[sequence_table]") {
  Daemon daemon;
  static_cast<void>(daemon.world.next("orders", {1, 1, 0}));
  daemon.world.turn();
  daemon.world.flush();
  daemon.world.table->begin_stop(kStop);
  REQUIRE_FALSE(daemon.world.table->settled());
  REQUIRE(daemon.world.store.deliver());
  REQUIRE(daemon.world.table->settled());
  daemon.leave_clean();
  daemon.world.start();
  daemon.world.settle();
  REQUIRE(daemon.world.sequence("orders").in_hand() == 10);
  REQUIRE(daemon.one("orders") == 1);
}

TEST_CASE("LeaseLeftOpenByAStopIsFoundByTheNextStart", "[sequence_table]") {
  Daemon daemon;
  static_cast<void>(daemon.world.next("orders", {1, 1, 0}));
  daemon.world.turn();
  daemon.world.flush();
  // The answer does not come in time.
  daemon.world.table->begin_stop(kStop);
  static_cast<void>(daemon.world.table->leave_clean());
  daemon.world.turn();
  daemon.world.flush();
  daemon.world.restart();
  REQUIRE(daemon.world.log.image.sequences.at(1).intent);
  daemon.world.settle();
  REQUIRE_FALSE(daemon.world.log.image.sequences.at(1).intent);
  REQUIRE(daemon.one("orders") == 1);
}

TEST_CASE("LeaseLeftOpenByAKillIsFoundWhetherItWasAppliedOrNot", "[sequence_table]") {
  const bool sent = GENERATE(false, true);
  Daemon daemon;
  static_cast<void>(daemon.world.next("orders", {1, 1, 0}));
  daemon.world.turn();
  if (sent) daemon.world.flush();
  daemon.world.restart();
  daemon.world.settle();
  REQUIRE(daemon.world.store.resolve_calls.size() == 1);
  REQUIRE(daemon.one("orders") == 1);
  REQUIRE(daemon.world.sequence("orders").totals().gaps == 0);
}

TEST_CASE("WrongAnswerToALeaseLeftOpenIsNotUsed", "[sequence_table]") {
  Daemon daemon;
  daemon.one("orders");
  static_cast<void>(daemon.world.range("orders", 30, {1, 1, 0}));
  daemon.world.turn();
  daemon.world.store.resolutions = {{ResolveKind::wrong, {}, 50, 1'000'000}};
  daemon.world.restart();
  daemon.world.settle();
  REQUIRE(daemon.world.log.image.sequences.at(1).totals.unknown == 1);
  REQUIRE(daemon.world.sequence("orders").totals().unknown == 1);
  daemon.world.restart();
  daemon.world.settle();
  REQUIRE(daemon.world.store.resolve_calls.size() == 1);
  REQUIRE(daemon.one("orders") == 2);
}

TEST_CASE("LeaseLeftOpenInALostScopeIsAbandoned", "[sequence_table]") {
  Daemon daemon;
  daemon.one("orders");
  static_cast<void>(daemon.world.range("orders", 30, {1, 1, 0}));
  daemon.world.turn();
  daemon.world.flush();
  daemon.world.table->begin_stop(kStop);
  static_cast<void>(daemon.world.table->leave_clean());
  daemon.world.turn();
  daemon.world.flush();
  daemon.world.kill();
  daemon.world.store.claims = {{ScriptedStore::ClaimScript::Kind::lost, kAway}};
  daemon.world.start();
  daemon.world.settle();
  REQUIRE(daemon.world.store.resolve_calls.empty());
  REQUIRE(daemon.world.sequence("orders").totals().unknown == 1);
  REQUIRE(daemon.world.sequence("orders").totals().gaps == 9);
  daemon.world.check();
}

TEST_CASE("ChangedCounterIsRefusedAndTheRemainderKept", "[sequence_table]") {
  const int what = GENERATE(0, 1, 2, 3, 4);
  Daemon daemon;
  daemon.one("orders");
  daemon.world.kill();
  SequenceSettings& settings = daemon.world.settings.by_name["orders"];
  const SequenceSettings before = settings;
  if (what == 0) settings.binding.key = "other";
  if (what == 1) settings.binding.collection = "other";
  if (what == 2) settings.binding.counter_field = "other";
  if (what == 3) settings.binding.key_field = "other";
  if (what == 4) settings.store = "other";
  daemon.world.start();
  daemon.world.settle();
  REQUIRE(daemon.error_of("orders") == ErrorCode::SEQ_CHANGED);
  REQUIRE(daemon.world.sequence("orders").in_hand() == 9);
  daemon.world.kill();
  settings = before;
  daemon.world.start();
  daemon.world.settle();
  REQUIRE(daemon.one("orders") == 2);
}

TEST_CASE("MeaningThatIsSaidLaterIsNoChange", "[sequence_table]") {
  Daemon daemon;
  daemon.one("orders");
  daemon.world.kill();
  daemon.world.settings.by_name["orders"].binding.meaning = Meaning::last;
  daemon.world.start();
  daemon.world.settle();
  REQUIRE(daemon.one("orders") == 2);
}

TEST_CASE("CountersAreComparedByTheirText", "[sequence_table]") {
  CounterBinding last;
  last.key = "a";
  last.meaning = Meaning::last;
  CounterBinding next = last;
  next.meaning = Meaning::next;
  REQUIRE(same_counter(binding_text(last), last));
  REQUIRE_FALSE(same_counter(binding_text(last), next));
  CounterBinding longer = last;
  longer.key = "ab";
  REQUIRE_FALSE(same_counter(binding_text(longer), last));
}

TEST_CASE("RemovedSequenceKeepsItsRemainderUntilItIsBack", "[sequence_table]") {
  Daemon daemon;
  daemon.one("orders");
  daemon.world.kill();
  const SequenceSettings settings = daemon.world.settings.by_name["orders"];
  daemon.world.settings.by_name.clear();
  daemon.world.start();
  daemon.world.settle();
  REQUIRE(daemon.error_of("orders") == ErrorCode::NO_SEQUENCE);
  daemon.leave_clean();
  daemon.world.settings.by_name["orders"] = settings;
  daemon.world.start();
  daemon.world.settle();
  REQUIRE(daemon.one("orders") == 2);
}

TEST_CASE("ReloadAppliesWhatCanBeAppliedAndNamesTheRest", "[sequence_table]") {
  Daemon daemon({"a", "b", "c", "d"});
  for (const char* name : {"a", "b", "c", "d"}) daemon.one(name);
  daemon.world.settings.by_name["a"].max_waiters = 0;
  daemon.world.settings.by_name["b"].binding.key = "other";
  daemon.world.settings.by_name["c"].store = "other";
  daemon.world.settings.by_name.erase("d");
  REQUIRE(daemon.world.table->apply_settings(daemon.world.limits) ==
          std::vector<std::string>{"b", "c", "d"});
  REQUIRE(daemon.world.sequence("a").settings().max_waiters == 0);
  REQUIRE(daemon.world.sequence("b").settings().binding.key == "b");
  daemon.world.settle();
  // What is not applied goes on as it was.
  REQUIRE(daemon.one("b") == 2);
  REQUIRE(daemon.one("d") == 2);
}

TEST_CASE("ReloadedLimitsApply", "[sequence_table]") {
  Daemon daemon({"a", "b"});
  daemon.one("a");
  SequenceTable::Limits limits;
  limits.sequences = 1;
  static_cast<void>(daemon.world.table->apply_settings(limits));
  REQUIRE(daemon.error_of("b") == ErrorCode::BUSY);
}

TEST_CASE("ReloadedLeaseBoundsApplyToTheNextLease", "[sequence_table]") {
  Daemon daemon;
  daemon.one("orders");
  daemon.world.settings.by_name["orders"].lease_min = 77;
  daemon.world.settings.by_name["orders"].lease_max = 77;
  static_cast<void>(daemon.world.table->apply_settings(daemon.world.limits));
  static_cast<void>(daemon.world.range("orders", 20, {1, 1, 0}));
  daemon.world.settle();
  REQUIRE(daemon.world.store.lease_calls.back().count == 77);
}

TEST_CASE("PowerLossBeforeTheFlushNeverLosesAnIntent", "[sequence_table]") {
  Daemon daemon;
  static_cast<void>(daemon.world.next("orders", {1, 1, 0}));
  daemon.world.turn();
  daemon.world.flush();
  REQUIRE(daemon.world.store.lease_calls.size() == 1);
  REQUIRE(daemon.world.log.durable_image.sequences.at(1).intent->lease ==
          daemon.world.store.lease_calls[0].token);
}

TEST_CASE("ClientNumbersAreNotGivenAgainAfterARestart", "[sequence_table]") {
  Daemon daemon;
  const ClientId first = daemon.world.table->replays().attach(Token{1})->client;
  daemon.world.turn();
  daemon.world.restart();
  REQUIRE(daemon.world.table->replays().attach(Token{1})->client == first);
  REQUIRE(daemon.world.table->replays().attach(Token{2})->client == first + 1);
  daemon.world.settle();
}

// Clients repeat what was not answered; the process dies at every boundary there is.
TEST_CASE("KillAtAnyBoundaryWithRepeatsGivesTheSameIds", "[sequence_table]") {
  constexpr std::uint32_t requests = 12;
  for (int kill_at = 0; kill_at < 60; ++kill_at) {
    CAPTURE(kill_at);
    CoreWorld world;
    world.settings.add("orders");
    world.start();
    ClientId client = world.table->replays().attach(Token{1})->client;
    std::map<std::uint32_t, std::int64_t> answered;
    const auto ask = [&](std::uint32_t request) {
      world.table->flush_issues();
      if (world.table->replays().check(client, request) == ReplayTable::Seen::repeat) {
        const auto found = world.table->replays().find(client, request);
        REQUIRE(found.size() == 1);
        world.answers.staged.push_back(
            {{1, request, client}, IssueKind::single, {{found[0].begin, 1, 1}}, {}});
      } else if (const auto id = world.next("orders", {1, request, client})) {
        world.answers.staged.push_back(
            {{1, request, client}, IssueKind::single, {{*id, 1, 1}}, {}});
      }
    };
    const auto collect = [&](bool lose) {
      for (const Answer& answer : std::exchange(world.answers.sent, {})) {
        const auto [at, first] =
            answered.try_emplace(answer.caller.request, answer.runs.front().first);
        REQUIRE(at->second == answer.runs.front().first);
        if (lose) answered.erase(at);  // the reply was written and lost on its way
      }
    };
    int step = 0;
    bool killed = false;
    const auto moved = [&] {
      if (step++ != kill_at) return;
      killed = true;
      collect(true);
      world.restart();
      client = world.table->replays().attach(Token{1})->client;
      for (std::uint32_t request = 1; request <= requests; ++request) {
        if (!answered.contains(request)) ask(request);
      }
    };
    for (std::uint32_t request = 1; request <= requests; ++request) {
      if (!killed) ask(request);
      moved();
      world.turn();
      moved();
      collect(false);
      if (world.log.flush_due()) world.flush();
      moved();
      world.store.deliver();
      moved();
    }
    world.settle();
    collect(false);
    REQUIRE(answered.size() == requests);
    std::set<std::int64_t> ids;
    for (const auto& [request, id] : answered) ids.insert(id);
    REQUIRE(ids.size() == requests);
    REQUIRE(*ids.begin() == 1);
    REQUIRE(*ids.rbegin() == requests);
  }
}

TEST_CASE("AfterAFailedFlushANewSequenceIsRefusedWithTheCause", "[table]") {
  CoreWorld world;
  world.settings.add("orders");
  world.settings.add("users");
  world.start();
  world.settle();
  world.next("orders");
  world.turn();
  world.log.fail_flush(*world.table);
  world.turn();
  REQUIRE_FALSE(world.next("users"));
  REQUIRE(world.status.code() == ErrorCode::STATE_IO);
}

}  // namespace
}  // namespace seqd
