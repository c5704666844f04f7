// The core over stops, kills and starts: what is available, in flight and to be repeated.
#include <set>

#include "daemon/core/table/sequence_table.h"
#include "tests/unit/core_daemon.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using ResolveKind = ScriptedStore::ResolveScript::Kind;

const Status kAway(ErrorCode::UNAVAILABLE, "away");
const Status kStop(ErrorCode::STOPPING, "stop");

TEST_CASE("RestartFromTheCommittedLogMakesNoHole", "[sequence_table]") {
  CoreDaemon daemon;
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
  CoreDaemon daemon;
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

TEST_CASE("StoppingDaemonFailsWaitingRequestsAndIssuesNothing", "[sequence_table]") {
  CoreDaemon daemon;
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
  CoreDaemon daemon;
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
  REQUIRE(daemon.world.sequence("orders").available() == 10);
  REQUIRE(daemon.one("orders") == 1);
}

TEST_CASE("LeaseLeftOpenByAStopIsFoundByTheNextStart", "[sequence_table]") {
  CoreDaemon daemon;
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
  CoreDaemon daemon;
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
  CoreDaemon daemon;
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
  CoreDaemon daemon;
  daemon.one("orders");
  static_cast<void>(daemon.world.range("orders", 30, {1, 1, 0}));
  daemon.world.turn();
  daemon.world.flush();
  daemon.world.table->begin_stop(kStop);
  static_cast<void>(daemon.world.table->leave_clean());
  daemon.world.turn();
  daemon.world.flush();
  daemon.world.kill();
  daemon.world.store.claims.resize(2, {ScriptedStore::ClaimScript::Kind::lost, kAway});
  daemon.world.start();
  daemon.world.settle();
  REQUIRE(daemon.world.store.resolve_calls.empty());
  REQUIRE(daemon.world.sequence("orders").totals().unknown == 1);
  REQUIRE(daemon.world.sequence("orders").totals().gaps == 9);
  daemon.world.check();
}

TEST_CASE("PowerLossBeforeTheFlushNeverLosesAnIntent", "[sequence_table]") {
  CoreDaemon daemon;
  static_cast<void>(daemon.world.next("orders", {1, 1, 0}));
  daemon.world.turn();
  daemon.world.flush();
  REQUIRE(daemon.world.store.lease_calls.size() == 1);
  REQUIRE(daemon.world.log.durable_image.sequences.at(1).intent->lease ==
          daemon.world.store.lease_calls[0].token);
}

TEST_CASE("ClientNumbersAreNotGivenAgainAfterARestart", "[sequence_table]") {
  CoreDaemon daemon;
  const ClientId first = daemon.world.table->replays().attach(Token{1}, 1'000)->client;
  daemon.world.turn();
  daemon.world.restart();
  REQUIRE(daemon.world.table->replays().attach(Token{1}, 1'000)->client == first);
  REQUIRE(daemon.world.table->replays().attach(Token{2}, 1'000)->client == first + 1);
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
    ClientId client = world.table->replays().attach(Token{1}, 1'000)->client;
    std::map<std::uint32_t, std::int64_t> answered;
    const auto ask = [&](std::uint32_t request) {
      world.table->append_issues();
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
      client = world.table->replays().attach(Token{1}, 1'000)->client;
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

}  // namespace
}  // namespace seqd
