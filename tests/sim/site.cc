#include "tests/sim/site.h"

#include <utility>

namespace seqd::sim {
namespace {

// A second daemon ends before it would flush anything.
class NoWorker final : public Worker {
  void submit(std::function<void()>, std::function<void()>) override {}
};

}  // namespace

void Site::run(std::int64_t process, const std::function<void()>& event) {
  if (!process_ || process_->number() != process) return;
  if (stands_still()) {
    stage_.after(still_until_ms_ - stage_.time.monotonic_ms(),
                 [this, process, event] { run(process, event); });
    return;
  }
  try {
    event();
  } catch (const Killed&) {
    return killed_by_the_disk(false);
  } catch (const Ended&) {
    return ended();
  }
  if (process_->finished()) {
    stage_.happened(Kind::stopped_orderly, number_);
    if (process_->is_decommissioned()) remove_state();
    ended(stage_.random.below(2) == 0 ? 5'000 : kPauseMs);
  }
}

bool Site::accept(const std::shared_ptr<Connection>& connection) {
  return process_ != nullptr && !retired_ && process_->accept(connection);
}

void Site::receive(const std::shared_ptr<Connection>& connection) {
  if (process_ == nullptr) return;
  run(process_->number(), [this, connection] {
    if (connection->session != nullptr) process_->receive(*connection);
  });
}

void Site::hang_up(const std::shared_ptr<Connection>& connection) {
  if (process_ == nullptr) return;
  run(process_->number(), [this, connection] { process_->hang_up(*connection); });
}

void Site::start_soon(std::int64_t at_most_ms) {
  if (start_due_ || retired_) return;
  start_due_ = true;
  stage_.after(stage_.random.between(0, at_most_ms), [this] {
    start_due_ = false;
    start();
  });
}

void Site::start() {
  if (process_ != nullptr || retired_) return;
  const std::int64_t number = number_ * 1'000'000 + ++processes_;
  LinkOwner::Later later = [this, number](std::int64_t delay_ms, std::function<void()> event) {
    stage_.after(delay_ms, [this, number, event = std::move(event)] { run(number, event); });
  };
  process_ = std::make_unique<Process>(ProcessPlace{stage_, machine_, mirror_, settings_,
                                                    databases_, state_path_, number,
                                                    std::move(later), elsewhere_, pages_});
  if (elsewhere_) stage_.happened(Kind::database_changed, number_);
  Status started;
  try {
    started = process_->start();
  } catch (const Killed&) {
    return killed_by_the_disk(true);
  }
  if (started.ok()) return;
  if (started.code() != ErrorCode::STATE_IO) {
    stage_.history.violation("daemon " + std::to_string(number_) +
                             " does not start: " + started.to_string());
  }
  stage_.happened(Kind::start_failed, number_);
  if (machine_.disk.faults.full) stage_.count(Kind::disk_full);
  mirror_.start_was_cut_off();
  ended(500);
}

void Site::killed_by_the_disk(bool starting) {
  const MemoryDisk& disk = machine_.disk;
  if (disk.operations == disk.faults.kill_before) {
    stage_.happened(Kind::kill_before_operation, number_);
  } else if (disk.operations == disk.faults.kill_torn) {
    stage_.happened(Kind::kill_within_operation, number_);
  } else {
    stage_.happened(Kind::kill_after_operation, number_);
  }
  if (starting) {
    stage_.count(Kind::kill_within_start);
    mirror_.start_was_cut_off();
  } else if (process_->flushing()) {
    stage_.count(Kind::kill_within_flush);
  }
  ended();
  if (on_kill_) on_kill_(*this);
}

void Site::ended(std::int64_t pause_ms) {
  process_.reset();
  still_until_ms_ = 0;
  machine_.disk.faults.fail_syncs_from = 0;
  if (detached_) {
    mirror_.destroy();
    retired_ = true;
  }
  start_soon(pause_ms);
}

void Site::kill() {
  if (process_ != nullptr) ended();
}

void Site::stop() {
  if (process_ == nullptr) return;
  run(process_->number(), [this] { process_->begin_stop(); });
}

void Site::drain(const char* sequence) {
  if (process_ == nullptr) return;
  run(process_->number(), [this, sequence] { process_->drain(sequence); });
}

void Site::advance(const char* sequence) {
  if (process_ == nullptr) return;
  run(process_->number(), [this, sequence] { process_->advance(sequence); });
}

void Site::purge() {
  if (process_ == nullptr) return;
  run(process_->number(), [this] { process_->purge(); });
}

void Site::decommission() {
  if (process_ == nullptr) return;
  run(process_->number(), [this] { process_->take_out_of_service(); });
}

// What is started here next is another instance.
void Site::remove_state() {
  if (mirror_.has_anything())
    stage_.history.violation("daemon " + std::to_string(number_) +
                             " is decommissioned, and its log has something available");
  process_.reset();
  mirror_.destroy();
  machine_.disk.replace(state_path_, {});
}

void Site::reload() {
  SeededRandom& random = stage_.random;
  const Profile& profile = stage_.profile;
  stage_.happened(Kind::reloaded, number_);
  for (auto& [name, settings] : settings_.by_name) {
    settings.lease_max = random.between(5, profile.lease_max);
    settings.max_available = random.between(settings.lease_max, profile.max_available());
    settings.max_unsynced = random.between(1, profile.max_unsynced);
    settings.max_waiters = random.between(1, kMaxWaiters);
    settings.wait_timeout_ms = random.between(100, kWaitTimeoutMs);
    if (random.below(2) == 0) settings.reuse = random.below(2) == 0 ? profile.reuse : Reuse::never;
  }
  SequenceSettings& bounded = settings_.by_name["gamma"];
  bounded.max_value = random.between(profile.bounded_end / 4, profile.bounded_end);
  if (process_ == nullptr) return;
  run(process_->number(), [this] { process_->load_settings(); });
}

const PeriodRule* Site::period_rule() const {
  const auto found = settings_.by_name.find(kSequenceNames[kWithPeriods]);
  return found == settings_.by_name.end() ? nullptr : found->second.periods.rule.get();
}

std::string Site::present_period() const {
  return period_sequence(kSequenceNames[kWithPeriods],
                         period_rule()->at(machine_.wall_ms() / 1'000).name);
}

bool Site::has_used(const std::string& period) const {
  const auto& sequences = mirror_.image().sequences;
  return std::any_of(sequences.begin(), sequences.end(), [&](const auto& one) {
    const std::string& name = one.second.definition.name;
    return base_of(name) == base_of(period) && name >= period;
  });
}

void Site::start_second() {
  if (process_ == nullptr || detached_) return;
  const std::unique_ptr<Directory> state = machine_.disk.open(state_path_);
  const std::unique_ptr<Directory> witness = machine_.disk.open(Machine::witness_path);
  NoWorker worker;
  StartOptions options;
  options.state_log_size = StateLog::smallest_size;
  options.boot_id = machine_.boot_id;
  const Result<Started> second =
      seqd::start({*state, *witness, worker, stage_.random, machine_}, options);
  if (second.ok() || second.status().code() != ErrorCode::FENCED) {
    stage_.history.violation("a second daemon on the directory of daemon " +
                             std::to_string(number_) + " is not refused");
  }
  stage_.happened(Kind::start_refused, number_);
}

void Site::retire() {
  process_.reset();
  mirror_.destroy();
  retired_ = true;
}

}  // namespace seqd::sim
