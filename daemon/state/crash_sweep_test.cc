// The process is killed, or the power cut, at every single operation on the disk, in scripts that
// cover a whole life of the log. Afterwards a new daemon issues all it has available: no ID twice,
// and after kills alone none lost.
#include "tests/unit/small_daemon.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

namespace seqd {
namespace {

using Process = std::unique_ptr<SmallDaemon>;
// Its log is small, so that it rotates soon and the sweeps are quick.
struct SmallWorld : World {
  SmallWorld() { state_log_size = StateLog::smallest_size; }
};

using Script = void (*)(World&, Process&, AfterPowerLoss);

void start(World& world, Process& process, AfterPowerLoss after) {
  process = std::make_unique<SmallDaemon>(world);
  process->start(after);
}

// Runs the script until the fault strikes. False when it ended before.
bool struck(World& world, Script script, AfterPowerLoss after) {
  Process process;
  try {
    script(world, process, after);
  } catch (const Killed&) {
    return true;
  }
  return world.disk.operations >= world.disk.faults.fail && world.disk.faults.fail > 0;
}

// First start, leases, reservations, three rotations, an orderly stop, a start behind it.
void whole_life(World& world, Process& process, AfterPowerLoss after) {
  start(world, process, after);
  if (!process->status.ok()) return;
  process->claim();
  process->issue(11);
  for (int rotation = 0; rotation < 3; ++rotation) {
    process->fill(38'000);
    process->issue(4);
    process->return_range();
    process->issue(2);  // so that the rotation, in what follows, finds available IDs
    process->fill(30'000);
    process->issue(7);
    if (!process->status.ok()) return;
  }
  process->stop();
  if (!process->status.ok()) return;
  start(world, process, after);
  if (!process->status.ok()) return;
  process->claim();
  process->issue(45);
}

// Only a start, on what an earlier process left.
void one_start(World& world, Process& process, AfterPowerLoss after) {
  start(world, process, after);
}

// What a last daemon can do with it. Returns the IDs that nobody will ever get, and how it started.
std::size_t settle(World& world, AfterPowerLoss after, std::string* how = nullptr) {
  Process process;
  start(world, process, after);
  REQUIRE(process->status.ok());
  if (how != nullptr) *how = process->started.how;
  process->claim();
  process->issue_all_available();
  process->issue(3);
  process->issue_all_available();
  REQUIRE(process->status.ok());
  REQUIRE(process->conserves());
  REQUIRE(world.twice == 0);
  return static_cast<std::size_t>(world.next_id - 1) - world.issued.size();
}

void set_fault(World& world, int way, std::uint64_t at) {
  if (way == 0) world.disk.faults.kill_before = at;
  if (way == 1) world.disk.faults.kill_torn = at;
  if (way == 2) world.disk.faults.kill_after = at;
  if (way == 3) world.disk.faults.fail = at;
}

TEST_CASE("AKillAtAnyOperationLosesNothingButTheTurnInFlight") {
  for (int way = 0; way < 3; ++way) {
    for (std::uint64_t at = 1;; ++at) {
      SmallWorld world;
      set_fault(world, way, at);
      if (!struck(world, whole_life, AfterPowerLoss::forfeit)) {
        CHECK(at > 150);
        break;
      }
      world.kill();
      INFO("way " << way << " operation " << at);
      REQUIRE(settle(world, AfterPowerLoss::forfeit) <= 1);
    }
  }
}

TEST_CASE("AFailureOfAnyOperationLosesNothingAfterARestart") {
  for (std::uint64_t at = 1;; ++at) {
    SmallWorld world;
    set_fault(world, 3, at);
    if (!struck(world, whole_life, AfterPowerLoss::forfeit)) break;
    world.kill();
    INFO("operation " << at);
    REQUIRE(settle(world, AfterPowerLoss::forfeit) <= 1);
  }
}

TEST_CASE("APowerCutAtAnyOperationWithAnySectorsNeverRepeatsAnId", "[large]") {
  int resumed = 0;
  for (const AfterPowerLoss after : {AfterPowerLoss::forfeit, AfterPowerLoss::resume}) {
    for (int way = 0; way < 3; ++way) {
      bool ended = false;
      for (std::uint64_t at = 1; !ended; ++at) {
        for (std::uint64_t seed = 0; seed < 4 && !ended; ++seed) {
          SmallWorld world;
          set_fault(world, way, at);
          ended = !struck(world, whole_life, after);
          // None, all, and two random choices of the unsynced sectors reach the medium.
          CountingRandom coin(at * 4 + seed);
          world.cut_power([&] { return seed == 1 || (seed > 1 && coin.next() % 2 == 0); });
          INFO("way " << way << " operation " << at << " seed " << seed);
          std::string how;
          const std::size_t lost = settle(world, after, &how);
          // A claim that was won and not yet on the medium costs the remainder; nothing else does.
          if (how.find("resumed") == 0) {
            ++resumed;
            REQUIRE(lost <= static_cast<std::size_t>(SmallDaemon::max_unsynced));
          }
        }
      }
    }
  }
  CHECK(resumed > 500);
}

// What lies on the disk before a start, by rule. After a power loss all or nothing of what was not
// synced is there: with nothing, IDs were issued that the log does not know of.
enum class Left { fresh, killed, stopped, power_lost, unsynced_lost, damaged };

void leave(World& world, Left left) {
  if (left == Left::fresh) return;
  Process process;
  start(world, process, AfterPowerLoss::forfeit);
  process->claim();
  process->issue(11);
  if (left == Left::stopped) process->stop();
  process.reset();
  if (left == Left::power_lost || left == Left::unsynced_lost) {
    world.cut_power([&] { return left == Left::power_lost; });
  } else {
    world.kill();
  }
  if (left == Left::damaged) world.disk.content("state", "log.0")[600] ^= 4;
  if (left == Left::damaged) world.disk.content("state", "log.0")[10] ^= 4;
  world.disk.operations = 0;
}

std::size_t lost_without_faults(Left left, AfterPowerLoss after) {
  SmallWorld world;
  leave(world, left);
  return settle(world, after);
}

TEST_CASE("TwoKillsAtAnyOperationsOfTheStartChangeNothing") {
  for (const AfterPowerLoss after : {AfterPowerLoss::forfeit, AfterPowerLoss::resume}) {
    for (const Left left : {Left::fresh, Left::killed, Left::stopped, Left::power_lost,
                            Left::unsynced_lost, Left::damaged}) {
      const std::size_t expected = lost_without_faults(left, after);
      for (const int way : {1, 2, 8}) {
        bool first_ended = false;
        for (std::uint64_t first = 1; !first_ended; ++first) {
          bool second_ended = false;
          for (std::uint64_t second = 1; !second_ended && !first_ended; ++second) {
            SmallWorld world;
            leave(world, left);
            set_fault(world, way % 3, first);
            first_ended = !struck(world, one_start, after);
            world.kill();
            set_fault(world, way / 3, world.disk.operations + second);
            second_ended = !struck(world, one_start, after);
            world.kill();
            INFO("left " << static_cast<int>(left) << " way " << way << " operations " << first
                         << " and " << second);
            REQUIRE(settle(world, after) == expected);
          }
        }
      }
    }
  }
}

TEST_CASE("AKillAndThenAPowerCutInTheStartNeverRepeatsAnId") {
  for (const AfterPowerLoss after : {AfterPowerLoss::forfeit, AfterPowerLoss::resume}) {
    for (const Left left : {Left::killed, Left::stopped, Left::power_lost, Left::unsynced_lost}) {
      bool first_ended = false;
      for (std::uint64_t first = 1; !first_ended; ++first) {
        for (std::uint64_t second = 1; second < 20 && !first_ended; ++second) {
          SmallWorld world;
          leave(world, left);
          set_fault(world, 2, first);
          first_ended = !struck(world, one_start, after);
          world.kill();
          set_fault(world, 1, world.disk.operations + second);
          struck(world, one_start, after);
          CountingRandom coin(first * 100 + second);
          world.cut_power([&] { return coin.next() % 2 == 0; });
          INFO("left " << static_cast<int>(left) << " operations " << first << " and " << second);
          settle(world, after);
        }
      }
    }
  }
}

// The newest segment is in the page cache only when the daemon is killed, perhaps after its sync
// has failed; then the power goes in the middle of the next start. One whole file is on the medium
// at any moment.
TEST_CASE("TheStartNeverOverwritesTheOnlyCopyOnTheMedium") {
  for (const bool sync_failed : {false, true}) {
    for (std::uint64_t at = 1; at < 16; ++at) {
      for (std::uint64_t seed = 0; seed < 8; ++seed) {
        SmallWorld world;
        Process process;
        start(world, process, AfterPowerLoss::forfeit);
        process->claim();
        process->issue(5);
        while (process->started.log->statistics().rotations == 0) process->fill(3'000);
        if (sync_failed) world.disk.faults.fail_syncs_from = world.disk.operations + 1;
        if (sync_failed) process->run_worker();
        process.reset();
        world.kill();
        world.disk.faults.kill_torn = world.disk.operations + at;
        struck(world, one_start, AfterPowerLoss::forfeit);
        CountingRandom coin(seed);
        world.cut_power([&] { return coin.next() % 2 == 0; });
        start(world, process, AfterPowerLoss::forfeit);
        INFO("operation " << at << " seed " << seed << " sync failed " << sync_failed);
        REQUIRE(process->started.how.find("neither") == std::string::npos);
        REQUIRE(process->image.sequences.at(1).totals.leased == 40);
      }
    }
  }
}

}  // namespace
}  // namespace seqd
