// A log that does not accept more until a flush has ended, because the medium is slow: what would
// write for many sequences at once does it in parts, and nothing is issued that has to leave.
#include <algorithm>
#include <string>

#include "tests/unit/core_daemon.h"
#include "tests/unit/orders.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("WhatIsAboveALoweredMaximumWaitsForTheLogAndIsNotIssued", "[full_log]") {
  Orders orders;
  orders.fill();
  CoreWorld& world = orders.world;
  const std::int64_t next = *orders.sequence().held().next_id();
  world.log.accepts = false;
  world.settings.by_name["orders"].max_value = next;
  REQUIRE(world.table->apply_settings(world.limits).empty());
  for (int turns = 0; turns < 3; ++turns) {
    CHECK(world.log.turn_is_empty());
    CHECK_FALSE(world.next("orders", caller(static_cast<SessionId>(turns) + 1)));
    world.turn();
  }
  CHECK(orders.sequence().totals().gaps == 0);
  world.log.accepts = true;
  world.turn();
  CHECK(orders.sequence().totals().gaps > 0);
  world.settle();
  std::int64_t served = 0;
  for (const Answer& answer : orders.sent()) {
    if (!answer.status.ok()) continue;
    ++served;
    CHECK(answer.runs.front().first == next);
  }
  CHECK(served == 1);
}

TEST_CASE("DrainContinuesWhenTheLogAcceptsAgain", "[full_log]") {
  Orders orders([](SequenceSettings& settings) { settings.reuse = Reuse::never; });
  orders.fill();
  CoreWorld& world = orders.world;
  world.log.accepts = false;
  bool over = false;
  REQUIRE(world.table->orders()
              .drain(orders.sequence().id(), 60'000, [&over](const DrainReport&) { over = true; })
              .ok());
  for (int turns = 0; turns < 3; ++turns) world.turn();
  CHECK(orders.sequence().available() > 0);
  CHECK_FALSE(over);
  world.log.accepts = true;
  world.turn();
  CHECK(over);
  CHECK(orders.sequence().available() == 0);
}

struct Lost {
  explicit Lost(int sequences) : count(sequences) {
    CoreWorld& world = daemon.world;
    for (int at = 0; at < count; ++at) {
      const std::string name = "n" + std::to_string(at);
      world.settings.add(name);
      REQUIRE_FALSE(world.next(name));
    }
    world.settle();
    REQUIRE(world.table->sequences().size() == static_cast<std::size_t>(count));
    daemon.leave_clean();
    // Twice, because the heartbeat is looked at again between them.
    world.store.claims.resize(2, {ScriptedStore::ClaimScript::Kind::lost, {}});
    former = world.log.image.scopes.at(1).instance;
    world.start();
  }
  std::int64_t gaps() { return daemon.world.events.count(EventKind::gap_epoch_lost); }
  bool is_former() { return daemon.world.log.image.scopes.at(1).instance == former; }

  const int count;
  CoreDaemon daemon;
  Token former{};
};

TEST_CASE("RemaindersThatWereLostAreWrittenOffBeforeTheNewInstance", "[full_log][large]") {
  Lost lost(1'200);
  CoreWorld& world = lost.daemon.world;
  std::int64_t most = 0;
  for (int rounds = 0; rounds < 100 && lost.is_former(); ++rounds) {
    const std::int64_t before = lost.gaps();
    world.settle();
    most = std::max(most, lost.gaps() - before);
    if (lost.gaps() < lost.count) REQUIRE(lost.is_former());
    world.advance(5);
  }
  CHECK(lost.gaps() == lost.count);
  CHECK(most <= 1'000);
  world.settle();
  CHECK_FALSE(lost.is_former());
  CHECK(lost.daemon.one("n7") == 11);
}

TEST_CASE("RemainderThatWasLostWaitsForTheLogAlsoOverAKill", "[full_log]") {
  Lost lost(3);
  CoreWorld& world = lost.daemon.world;
  world.log.accepts = false;
  for (int rounds = 0; rounds < 5; ++rounds) {
    world.settle();
    world.advance(5);
  }
  CHECK(lost.gaps() == 0);
  CHECK(lost.is_former());
  CHECK(world.events.count(EventKind::fenced) == 1);
  CHECK_FALSE(world.next("n0"));
  world.store.claims.resize(2, {ScriptedStore::ClaimScript::Kind::lost, {}});
  world.restart();
  world.settle();
  CHECK(lost.gaps() == 3);
  CHECK_FALSE(lost.is_former());
  CHECK(lost.daemon.one("n0") == 11);
}

}  // namespace
}  // namespace seqd
