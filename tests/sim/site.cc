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

bool Site::accept(const std::shared_ptr<Connection>& connection, UserId user) {
  return process_ != nullptr && !retired_ && process_->accept(connection, user);
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
  const std::int64_t down_ms = down_until_ms_ - stage_.time.monotonic_ms();
  if (down_ms > 0 && !stage_.calm) return start_soon(2 * down_ms);
  const std::int64_t number = number_ * 1'000'000 + ++processes_;
  settings_.keep_legal(mirror_);
  meanings_ = {};
  note_meanings(settings_.written());
  LinkOwner::Later later = [this, number](std::int64_t delay_ms, std::function<void()> event) {
    stage_.after(delay_ms, [this, number, event = std::move(event)] { run(number, event); });
  };
  process_ = std::make_unique<Process>(ProcessPlace{stage_, machine_, mirror_, home_, settings_,
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

void Site::advance_ahead() {
  if (process_ == nullptr) return;
  run(process_->number(), [this] { process_->advance_ahead(); });
}

void Site::stay_down(std::int64_t ms) {
  down_until_ms_ = stage_.time.monotonic_ms() + ms;
  kill();
}

std::int64_t Site::was_of_wrong_type(std::size_t sequence) const {
  std::int64_t until_ms = -1;
  for (const Database* database : databases_)
    until_ms =
        std::max(until_ms,
                 database->was_of_wrong_type(stage_.accounts.counter_of(kSequenceNames[sequence])));
  return until_ms;
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
  stage_.happened(Kind::reloaded, number_);
  settings_.change(mirror_);
  load_settings();
}

void Site::configure_otherwise(bool loads) {
  settings_.change_one(mirror_);
  if (loads) load_settings();
}

void Site::load_settings() {
  if (process_ == nullptr) return;
  const std::int64_t number = process_->number();
  // Noted before a reply can leave that was made under them.
  run(number, [this] {
    process_->load_settings();
    note_meanings(process_->settings());
    loaded_ms_ = stage_.time.monotonic_ms();
  });
}

// A sequence whose table is gone goes on as it was, until it is started again.
void Site::note_meanings(const ConfiguredSequences& loaded) {
  for (const auto& [name, settings] : loaded.by_name) {
    const auto* const found = std::find(std::begin(kSequenceNames), std::end(kSequenceNames), name);
    const auto known = known_meanings_.emplace(meaning_of(settings), known_meanings_.size() + 1);
    meanings_.at(static_cast<std::size_t>(found - std::begin(kSequenceNames))) =
        known.first->second;
  }
}

const PeriodRule* Site::period_rule() const {
  const auto found = home_.by_name.find(kSequenceNames[kWithPeriods]);
  return found == home_.by_name.end() ? nullptr : found->second.periods.rule.get();
}

std::string Site::present_period() const {
  return period_sequence(kSequenceNames[kWithPeriods],
                         period_rule()->at(machine_.wall_ms() / 1'000).name);
}

bool Site::has_begun(std::int64_t begin_s) const {
  const auto& names = mirror_.image().names;
  const auto found = names.find(kSequenceNames[kWithPeriods]);
  return found != names.end() && found->second.newest_s >= begin_s;
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
