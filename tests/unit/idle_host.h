// IdleHost: a host whose database an operator puts back from an older copy. For the tests of
// heartbeats and of what follows from them. One thread.
#pragma once

#include <cstdint>

#include "daemon/core/leasing/store_scope.h"
#include "tests/unit/core_daemon.h"

#include <catch2/catch.hpp>

namespace seqd {

// What a start after a power loss makes of the scopes.
inline void forfeit(CoreWorld& world) {
  for (auto& [id, scope] : world.log.image.scopes) {
    scope.instance = Token{77};
    scope.epoch = 0;
    scope.state = ScopeState::clean;
  }
}

// An idle host with IDs 1 to 10 of "orders", of which 1 was issued.
struct IdleHost {
  IdleHost() {
    REQUIRE(daemon.one("orders") == 1);
    world().settle();
  }
  void beat() {
    world().table->scopes().beat();
    world().settle();
  }
  // What a person would do with a file or a directory of the server.
  void back_up() { copy = contents(); }
  void put_back() { put(copy); }
  void put(const ScriptedContents& contents) { static_cast<ScriptedContents&>(store()) = contents; }
  const ScriptedContents& contents() { return store(); }
  void wait(std::int64_t ms) {
    for (constexpr std::int64_t kStepMs = 10'000; ms > 0; ms -= kStepMs) {
      world().advance(kStepMs);
      world().settle();
    }
  }
  // Another host leases, of which this one knows nothing.
  void lease_elsewhere(std::int64_t count) { store().next_id["orders"] += count; }
  void end(bool clean) {
    if (clean) {
      daemon.leave_clean();
    } else {
      world().kill();
    }
  }
  Status raise(std::int64_t to = 0) {
    Status result(ErrorCode::INTERNAL, "not answered");
    world().table->orders().advance(
        *world().table->open("orders"), to, true,
        [&](const Result<std::int64_t>& reached) { result = reached.status(); });
    world().settle();
    world().advance(1);
    world().settle();
    return result;
  }
  CoreWorld& world() { return daemon.world; }
  ScriptedStore& store() { return daemon.world.store; }
  const StoreScope& scope() { return *daemon.world.table->scopes().find("default"); }
  Sequence& orders() { return world().table->at(world().table->find("orders")); }

  CoreDaemon daemon;
  ScriptedContents copy;
};

}  // namespace seqd
