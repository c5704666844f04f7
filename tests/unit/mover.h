// Mover: a core whose sequences come to be configured for another store, and may be killed on the
// way. No ID of it is issued twice, or the test fails. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "tests/unit/core_daemon.h"

#include <catch2/catch.hpp>

namespace seqd {

// A daemon that has issued 1 to 3 of 10 IDs of "orders" from the store "default", beside a store
// "central".
struct Mover {
  explicit Mover(
      std::initializer_list<const char*> names = {"orders"},
      const std::function<void(SequenceSettings&)>& change = [](SequenceSettings&) {})
      : daemon(names) {
    daemon.leave_clean();
    for (const char* name : names) change(world().settings.by_name[name]);
    world().stores["central"] = &central;
    central.identity = Token{9};
    start();
    for (const char* name : names) {
      for (int left = 3; left > 0; --left) take(name);
    }
  }
  ~Mover() { kill(); }
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;

  CoreWorld& world() { return daemon.world; }
  Sequence& orders() { return world().sequence("orders"); }
  SequenceSettings& settings() { return world().settings.by_name["orders"]; }
  void settle() {
    do world().settle();
    while (central.deliver());
  }
  void start() {
    world().start();
    settle();
  }
  void kill() {
    world().kill();
    central.drop_pending();
  }
  void restart(bool clean = false) {
    if (clean) {
      world().table->begin_stop({ErrorCode::STOPPING, "stop"});
      settle();
      static_cast<void>(world().table->leave_clean());
      settle();
    }
    kill();
    start();
  }
  // An ID, which was not issued before; 0: `world().status` says why not.
  std::int64_t take(const std::string& name = "orders") {
    std::int64_t id = world().next(name).value_or(0);
    settle();
    if (id == 0 && world().status.ok()) {
      const Answer& answer = world().answers.sent.back();
      world().status = answer.status;
      if (answer.status.ok()) id = answer.runs.front().first;
    }
    if (id != 0) REQUIRE(issued[name].insert(id).second);
    return id;
  }
  ErrorCode code() {
    REQUIRE(take() == 0);
    return world().status.code();
  }
  DrainReport drain() {
    std::optional<DrainReport> report;
    const Status begun = world().table->orders().drain(
        orders().id(), 10'000, [&](const DrainReport& drained) { report = drained; });
    REQUIRE(begun.ok());
    settle();
    world().advance(0);
    settle();
    REQUIRE(report);
    return *report;
  }
  Result<std::int64_t> advance(std::int64_t to = 0) {
    std::optional<Result<std::int64_t>> reached;
    world().table->orders().advance(orders().id(), to, false,
                                    [&](auto result) { reached = result; });
    settle();
    world().advance(0);
    REQUIRE(reached);
    return *reached;
  }
  const DefineSequence& recorded() { return world().log.image.sequences.at(1).definition; }

  CoreDaemon daemon;
  ScriptedStore central{&daemon.world.log};  // the process ends first: ~Mover
  std::map<std::string, std::set<std::int64_t>> issued;
};

}  // namespace seqd
