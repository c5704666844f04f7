// SmallDaemon: the least core that can be wrong: one scope and one sequence on a real StateLog, a
// MemoryDisk and a central store in memory. It notices an ID issued twice. Used by the tests of
// daemon/state only. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "daemon/core/leasing/lease_store.h"
#include "daemon/state/start.h"
#include "tests/unit/memory_disk.h"

namespace seqd {

class CountingRandom final : public Random {
 public:
  explicit CountingRandom(std::uint64_t seed = 1) : state_(seed) {}
  std::uint64_t next() override;

 private:
  std::uint64_t state_;
};

class FixedClock final : public Clock {
 public:
  std::int64_t monotonic_ms() const override { return 1; }
  std::int64_t wall_ms() const override { return 1'700'000'000'000; }
};

// Jobs wait until somebody runs them.
class ManualWorker final : public Worker {
 public:
  void submit(std::function<void()> job, std::function<void()> done) override {
    jobs.emplace_back(std::move(job), std::move(done));
  }
  // False when there is none.
  bool run_one();
  std::deque<std::pair<std::function<void()>, std::function<void()>>> jobs;
};

// What outlives every process: the central store, the clients' memory of what they were given.
struct World {
  MemoryDisk disk;
  CountingRandom random;
  FixedClock clock;
  Token boot_id{1};
  std::uint64_t state_log_size = std::uint64_t{1} << 20;

  std::int64_t next_id = 1;
  std::map<Token, std::pair<std::int64_t, std::int64_t>> leases;
  std::map<Token, std::pair<std::uint64_t, Token>> epochs;
  std::map<Token, bool> returns;  // false: made void
  std::set<std::int64_t> issued;
  std::int64_t twice = 0;  // IDs issued a second time

  World();
  LeaseOutcome lease(const Token& token, std::int64_t count);
  // Lowers the counter, if the range is its end; once for a token.
  bool return_range(const Token& token, std::int64_t begin, std::int64_t end);
  bool claim(const Token& instance, std::uint64_t epoch, const Token& nonce);
  // The process is gone, the machine is not.
  void kill();
  // The machine goes down; `keeps` decides about every unsynced sector.
  template <typename Keeps>
  void cut_power(Keeps keeps) {
    kill();
    disk.power_cut(keeps);
    ++boot_id[0];
  }
};

class SmallDaemon final : public RemainderLogObserver, public SnapshotSource {
 public:
  static constexpr SequenceId sequence = 1;
  static constexpr std::int64_t lease_size = 40;
  static constexpr std::int64_t max_unsynced = 8;

  SmallDaemon(World& world, const std::string& state = "state", const std::string& witness = "run");

  // Takes the state over; errors are kept in `status`.
  bool start(AfterPowerLoss after = AfterPowerLoss::forfeit);
  // Owns its scope afterwards: claims, and forfeits when it loses.
  void claim();
  // Issues `count` IDs one a turn, leasing and reserving as needed. Stops early when the log fails.
  void issue(std::int64_t count);
  // Gives the last available range back to the store, if there is one.
  void return_range();
  // One turn of about `size` bytes that means nothing.
  void fill(std::size_t size);
  void stop();
  // The rest of what is available, to the last ID.
  void issue_all_available() { issue(available()); }
  std::int64_t available() const;
  // leased = issued + available + gaps
  bool conserves() const;

  void run_worker() {
    while (worker.run_one()) continue;
  }
  void append(const LogEntry& entry);
  bool commit();
  bool commit_durably();

  void durable(LogPosition position) override { durable_position = position; }
  void flush_failed(const Status& failure) override { status = failure; }
  void snapshot(const std::function<void(const LogEntry&)>& entry) const override {
    image.snapshot(entry);
  }

  World& world;
  std::unique_ptr<Directory> state_directory;
  std::unique_ptr<Directory> witness_directory;
  ManualWorker worker;
  Status status;
  Started started;  // its image is moved to `image`
  StateImage image;
  LogPosition durable_position = 0;

 private:
  void define();
  bool settle_intent();
  bool settle_return();
  bool lease();
  bool reserve();
  std::int64_t durably_reserved_ = 0;  // by this process
  LogPosition opening_ = 0;            // the return that is open is durable with this position
  SequenceImage& mine() { return image.sequences.at(sequence); }
};

}  // namespace seqd
