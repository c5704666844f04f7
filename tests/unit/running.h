// Running: a core on a real StateLog; its disk, its store and its clients stay when it is started
// again. One thread.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <utility>

#include "daemon/core/log/state_bounds.h"
#include "daemon/core/table/sequence_table.h"
#include "daemon/state/start.h"
#include "daemon/state/state_log.h"
#include "tests/unit/small_daemon.h"
#include "tests/unit/world.h"

namespace seqd {

class Running final : public RemainderLogObserver {
 public:
  explicit Running(std::uint64_t seed, std::uint64_t size = StateLog::smallest_size)
      : random(seed) {
    resize(size);
    start();
  }
  ~Running() override { stop(); }

  // Of the log, from the next start on.
  void resize(std::uint64_t size) {
    state_log_size = size;
    limits.sequences = 100'000;
    const StateBounds bounds(size);
    limits.state_bytes = bounds.sequence_bytes();
    limits.replays.clients = bounds.clients();
    limits.replays.issues = bounds.issues();
  }
  void start() {
    StartOptions options;
    options.state_log_size = state_log_size;
    options.boot_id = world.boot_id;
    state = world.disk.open("state");
    witness = world.disk.open("run");
    Result<Started> result =
        seqd::start({*state, *witness, worker, world.random, world.clock}, options);
    CAPTURE(result.status().to_string());
    REQUIRE(result.ok());
    log = std::move(result->log);
    rotations = 0;
    table = std::make_unique<SequenceTable>(CoreContext{time, time, random, *log, events, replies},
                                            settings, SequenceTable::Stores{{"default", &store}},
                                            limits);
    log->attach(this, table.get());
    table->restore(result->image);
    turn();
  }
  void stop() {
    table.reset();
    log.reset();
    worker.jobs.clear();
    store.drop_pending();
    world.kill();
  }
  void restart() {
    stop();
    start();
  }

  void turn() {
    table->end_turn();
    const Status written = log->commit();
    CAPTURE(written.to_string());
    REQUIRE(written.ok());
    if (log->statistics().rotations == rotations) return;
    rotations = log->statistics().rotations;
    rotated = true;
  }
  void settle() {
    for (int round = 0; round < 50; ++round) {
      turn();
      while (worker.run_one()) continue;
      while (store.deliver()) continue;
    }
  }

  void durable(LogPosition position) override { table->durable(position); }
  void flush_failed(const Status& status) override { FAIL(status.to_string()); }

  World world;
  std::uint64_t state_log_size = 0;
  SeededRandom random;
  VirtualTime time;
  RecordedEvents events;
  RecordedReplies replies;
  ConfiguredSequences settings;
  TableLimits limits;
  ScriptedStore store;
  std::unique_ptr<Directory> state, witness;
  ManualWorker worker;
  std::unique_ptr<StateLog> log;
  std::unique_ptr<SequenceTable> table;
  std::uint64_t rotations = 0;
  bool rotated = false;
};

}  // namespace seqd
