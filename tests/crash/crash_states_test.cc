// Every state that a power cut can leave, over the lives that a log can have: all kinds of starts
// and stops, leases, reservations, rotations, flushes good and bad. One test tries them all, so
// that it can tell that they are enough.
#include "tests/crash/crash_states.h"

#include <malloc.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace seqd {
namespace {

// How many are tried, at least. Of fewer than the scripts have by themselves, fewer at each cut.
constexpr std::uint64_t kByThemselves = 10'000;

std::uint64_t wanted_states() {
  const char* const states = std::getenv("CRASH_STATES");
  return states == nullptr ? 100'000 : std::stoull(states);
}

void begin(Stage& stage) {
  REQUIRE(stage.start());
  stage.daemon().claim();
}

// A first start in an empty directory, leases, reservations.
void first_start(Stage& stage) {
  begin(stage);
  stage.issue(60);
}

// What the loop's thread can do while the worker flushes: issue what is reserved, or write what
// means nothing when a lease is being prepared.
void go_on(SmallDaemon& daemon) {
  const SequenceImage& sequence = daemon.image.sequences.at(SmallDaemon::sequence);
  if (sequence.intent || sequence.ranges.empty()) {
    daemon.fill(100);
  } else {
    daemon.issue(2);
  }
}

// Turns that are written while a flush is under way on the worker.
void turns_during_flushes(Stage& stage) {
  begin(stage);
  SmallDaemon& daemon = stage.daemon();
  for (int round = 0; round < 12; ++round) {
    stage.recording().during_sync = [&daemon] { go_on(daemon); };
    stage.issue(7);
  }
}

// Several rotations, with flushes that are late and with flushes during which the log goes on.
void rotations(Stage& stage) {
  begin(stage);
  SmallDaemon& daemon = stage.daemon();
  stage.issue(11);
  for (int round = 0; round < 8; ++round) {
    stage.fill(14'000);
    if (round % 2 == 0) stage.recording().during_sync = [&daemon] { go_on(daemon); };
    stage.issue(3);
    if (round % 3 == 2) daemon.run_worker();
  }
  CHECK(daemon.started.log->statistics().rotations > 0);
}

// The log rotates while the flush of its older part is under way.
void rotation_during_a_flush(Stage& stage) {
  begin(stage);
  SmallDaemon& daemon = stage.daemon();
  stage.issue(5);
  stage.fill(52'000);
  stage.issue(9);
  stage.recording().during_sync = [&daemon] {
    daemon.fill(40'000);
    go_on(daemon);
  };
  stage.issue(17);
  CHECK(daemon.started.log->statistics().rotations > 0);
}

// No sync comes to an end: the log is full a second time, and must not rotate into its only copy.
void rotation_while_the_disk_hangs(Stage& stage) {
  begin(stage);
  for (int round = 0; round < 2; ++round) {
    stage.issue(12);
    for (int turn = 0; turn < 60 && stage.daemon().status.ok(); ++turn) stage.fill(3'000);
    CHECK(!stage.daemon().status.ok());
    stage.kill();
    begin(stage);
  }
}

void clean_stop_and_start(Stage& stage) {
  begin(stage);
  for (int round = 0; round < 3; ++round) {
    stage.issue(13);
    stage.daemon().stop();
    stage.kill();
    begin(stage);
  }
}

// Ranges go back to the store, and are leased again; the daemon dies around it.
void ranges_returned(Stage& stage) {
  begin(stage);
  for (int round = 0; round < 6; ++round) {
    stage.issue(7);
    if (round % 3 == 1) stage.fill(30'000);
    stage.daemon().return_range();
    if (round % 2 == 0) stage.issue(3);
    if (round == 3) stage.recording().fail_next_sync = true;
    if (round > 1) stage.daemon().return_range();
    stage.recording().fail_next_sync = false;
    if (round == 2 || round == 3) stage.kill();
    if (round == 4) stage.cut_power(5);
    if (round > 1 && round < 5) begin(stage);
  }
}

// R1: the witness is there.
void starts_after_kills(Stage& stage) {
  begin(stage);
  for (int round = 0; round < 5; ++round) {
    stage.issue(9);
    if (round == 2) stage.fill(60'000);
    stage.kill();
    stage.start();
    if (round % 2 == 0) stage.kill();
    if (round % 2 == 0) stage.start();
  }
}

// R3, or `resume`: after real power cuts with all kinds of mixtures.
void starts_after_power_cuts(Stage& stage) {
  begin(stage);
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    stage.issue(12);
    if (seed % 2 == 1) stage.fill(30'000);
    stage.cut_power(seed);
    begin(stage);
    // The power fails again before anything was issued, and a kill comes between.
    if (seed == 3) stage.kill();
    if (seed == 3) begin(stage);
    if (seed > 3) stage.cut_power(seed);
    if (seed > 3) begin(stage);
  }
}

// The witness was removed: R3 in the same boot, where what was read may be in the cache only.
void starts_without_a_witness(Stage& stage) {
  begin(stage);
  for (int round = 0; round < 3; ++round) {
    stage.issue(14);
    stage.fill(25'000);
    stage.kill();
    stage.world().disk.folder("run").names.clear();
    begin(stage);
  }
}

// A flush fails, the daemon issues what is durable, ends, and is started again.
void failed_flushes(Stage& stage) {
  begin(stage);
  for (int round = 0; round < 4; ++round) {
    stage.issue(10);
    if (round % 2 == 1) stage.fill(58'000);
    if (round % 2 == 0) stage.fill(3'000);
    stage.recording().fail_next_sync = true;
    stage.issue(20);
    stage.recording().fail_next_sync = false;
    // A second sync would succeed and prove nothing.
    stage.issue(20);
    stage.issue(20);
    stage.kill();
    begin(stage);
  }
}

// A write fails half-way; the process ends.
void failed_writes(Stage& stage) {
  begin(stage);
  for (int round = 0; round < 4; ++round) {
    stage.issue(10 + round);
    stage.recording().fail_next_write = true;
    stage.fill(2'000);
    stage.issue(30);
    stage.recording().fail_next_write = false;
    stage.kill();
    begin(stage);
  }
}

// A start whose own sync fails, and the next one.
void failed_starts(Stage& stage) {
  begin(stage);
  for (int round = 0; round < 3; ++round) {
    stage.issue(10);
    stage.kill();
    if (round == 2) stage.world().disk.folder("run").names.clear();
    stage.recording().fail_next_sync = true;
    stage.start();
    stage.recording().fail_next_sync = false;
    stage.kill();
    begin(stage);
  }
}

// Both files cannot be read: they are set aside, and the log starts again. What they held is lost,
// and is not issued again.
void damaged_files(Stage& stage) {
  begin(stage);
  stage.issue(30);
  stage.fill(66'000);
  stage.issue(5);
  stage.kill();
  stage.damage("log.0", 20);
  stage.damage("log.1", 20);
  begin(stage);
  stage.issue(30);
}

constexpr void (*scripts[])(Stage&) = {first_start,
                                       turns_during_flushes,
                                       rotations,
                                       rotation_during_a_flush,
                                       rotation_while_the_disk_hangs,
                                       clean_stop_and_start,
                                       ranges_returned,
                                       starts_after_kills,
                                       starts_after_power_cuts,
                                       starts_without_a_witness,
                                       failed_flushes,
                                       failed_writes,
                                       failed_starts,
                                       damaged_files};

TEST_CASE("NoStateThatAPowerCutCanLeaveRepeatsOrLosesAnId") {
  // Each start takes and returns the same few hundred KiB: they need not go back to the kernel.
  mallopt(M_TRIM_THRESHOLD, 1 << 28);
  mallopt(M_MMAP_THRESHOLD, 1 << 28);
  const std::uint64_t wanted = wanted_states();
  CrashStates states;
  if (wanted < kByThemselves) {
    states.all_below = 8;
    states.random = 4;
  }
  for (std::uint64_t variation = 0; variation < 1000 && states.tried < wanted; ++variation) {
    for (void (*script)(Stage&) : scripts) {
      // What a script's own starts do after a power loss: forfeit and resume in turn.
      Stage stage(states, variation % 2 == 0 ? AfterPowerLoss::forfeit : AfterPowerLoss::resume,
                  variation);
      const std::uint64_t before = states.tried;
      script(stage);
      stage.end();
      // Later ones may be the beginning of an earlier one.
      if (variation == 0) CHECK(states.tried > before);
    }
  }
  std::printf("crash states tried %llu, duplicates %llu, unaccounted %llu\n",
              static_cast<unsigned long long>(states.tried),
              static_cast<unsigned long long>(states.duplicates),
              static_cast<unsigned long long>(states.unaccounted));
  for (std::size_t i = 0; i < std::min<std::size_t>(states.refused.size(), 5); ++i) {
    UNSCOPED_INFO(states.refused[i]);
  }
  CHECK(states.refused.size() == 0);
  CHECK(states.duplicates == 0);
  CHECK(states.unaccounted == 0);
  CHECK((wanted > 0 && states.tried >= wanted));
}

}  // namespace
}  // namespace seqd
