// The words of the tests of start(): begin, kill and use up a SmallDaemon. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tests/unit/small_daemon.h"

#include <catch2/catch.hpp>

namespace seqd {

using Process = std::unique_ptr<SmallDaemon>;

inline Process begin(World& world, const std::string& state = "state",
                     const std::string& run = "run",
                     AfterPowerLoss after = AfterPowerLoss::forfeit) {
  auto process = std::make_unique<SmallDaemon>(world, state, run);
  process->start(after);
  return process;
}

inline Process run(World& world, std::int64_t count) {
  Process process = begin(world);
  REQUIRE(process->status.ok());
  process->claim();
  process->issue(count);
  return process;
}

inline void kill(World& world, Process& process) {
  process.reset();
  world.kill();
}

// Everything that is still available is issued, and then some; nobody gets an ID twice.
inline void use_up(World& world, Process& process) {
  process->claim();
  process->issue_all_available();
  process->issue(5);
  CHECK(process->status.ok());
  CHECK(process->conserves());
  CHECK(world.twice == 0);
}

inline bool starts_with(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

}  // namespace seqd
