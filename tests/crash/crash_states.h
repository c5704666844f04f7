// CrashStates: tries what a power cut can leave. A script lives a life of the log on a Stage; at
// every cut of it the states of the medium are enumerated, and on each that is new a daemon is
// started with the real start(), once with each after_power_loss, and issues all it has available.
// What had been replied at the cut is known, so an ID issued twice is noticed, and so is one that
// nobody can account for. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "tests/crash/recording_directory.h"
#include "tests/unit/small_daemon.h"

namespace seqd {

struct CrashStates {
  // How many states are enumerated at a cut: all when they are at most `all_below`.
  std::size_t all_below = 128;
  std::size_t random = 64;

  std::uint64_t cuts = 0;
  std::uint64_t tried = 0;  // distinct: of the medium, and of what the clients and the store know
  std::uint64_t duplicates = 0;              // IDs
  std::uint64_t unaccounted = 0;             // IDs
  std::vector<std::string> refused;          // starts that failed or saw damage where there is none
  std::unordered_set<std::uint64_t> prints;  // of the states tried
};

// Where a script plays: a machine with one state directory, whose medium is recorded.
class Stage {
 public:
  // Every variation of a script has other numbers; 0 is the script as it is written.
  Stage(CrashStates& states, AfterPowerLoss after, std::uint64_t variation);

  // A start of the daemon on what is there.
  bool start();
  // kill -9, and the machine goes on.
  void kill();
  // The power is cut: of what was not synced, a mixture by the seed survives; 0 is nothing, 1 all.
  void cut_power(std::uint64_t seed);
  // From now on losses are expected: the medium itself was damaged.
  void damage(const std::string& file, std::size_t at);
  // The daemon issues, or writes what means nothing: about as much, as the variation has it.
  void issue(std::int64_t count) { daemon().issue(vary(count)); }
  void fill(std::int64_t size) { daemon().fill(static_cast<std::size_t>(vary(size))); }
  // The last of the cuts: the machine is as the script has left it.
  void end();

  SmallDaemon& daemon() { return *daemon_; }
  Recording& recording() { return recording_; }
  World& world() { return world_; }

 private:
  std::int64_t vary(std::int64_t count);
  void cut();
  void try_state(const Medium::State& state);
  void try_start(const std::map<std::string, Medium::Bytes>& files, AfterPowerLoss after);
  // What clients and store know at the cut, and the files of the state.
  void fill(World& world, const std::map<std::string, Medium::Bytes>& files) const;
  std::int64_t unaccounted(const SmallDaemon& daemon) const;

  CrashStates& states_;
  const AfterPowerLoss after_;
  const bool varies_;
  CountingRandom chance_;
  World world_;
  Recording recording_;
  std::unique_ptr<SmallDaemon> daemon_;
  std::int64_t ends_ = 1;  // of processes so far, and the one that is to come
  bool damaged_ = false;
};

}  // namespace seqd
