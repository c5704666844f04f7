// Site: a place where a daemon runs: a machine, a state directory and whatever supervises the
// daemon there: when one ends, the next is started. It knows what its directory has to say. Belongs
// to the simulation and is never destroyed before its end, since copies and clients refer to it;
// one thread.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/process.h"

namespace seqd::sim {

class Site {
 public:
  static constexpr std::int64_t kSequences = 4;
  static constexpr const char* kSequenceNames[kSequences + 1] = {"alpha", "beta", "gamma", "delta",
                                                                 "hours"};
  static constexpr std::int64_t kWithPeriods = 4;  // in the worlds that have one
  static constexpr std::int64_t kPauseMs = 80;     // before the next daemon is started, at most

  // `home`: as all hosts are configured, but for what may differ.
  Site(Stage& stage, Machine& machine, const ConfiguredSequences& home,
       const std::vector<Database*>& databases, std::string state_path, std::int64_t number)
      : stage_(stage),
        machine_(machine),
        home_(home),
        settings_(stage, home),
        databases_(databases),
        state_path_(std::move(state_path)),
        number_(number),
        mirror_(stage, number) {}
  ~Site() { retired_ = true; }
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;

  std::int64_t number() const { return number_; }
  Machine& machine() { return machine_; }
  const std::string& state_path() const { return state_path_; }
  LogMirror& mirror() { return mirror_; }
  const SequenceSettings& home(std::size_t sequence) const {
    return home_.by_name.at(kSequenceNames[sequence]);
  }
  // How the daemon answers for that sequence, as a number: another one where it may differ.
  std::size_t meaning(std::size_t sequence) const { return meanings_.at(sequence); }
  std::int64_t loaded_ms() const { return loaded_ms_; }  // when a configuration was loaded last
  bool serves_configured(std::size_t sequence) const {
    return process_ != nullptr && process_->serves_configured(kSequenceNames[sequence]);
  }
  // Null in a world without periods.
  const PeriodRule* period_rule() const;
  // The period that this machine's clock shows, as a sequence.
  std::string present_period() const;
  // Whether the directory says that a period that begins then, or later, was begun: an operator has
  // not said since that the clock was ahead.
  bool has_begun(std::int64_t begin_s) const;
  const LogMirror& mirror() const { return mirror_; }
  bool running() const { return process_ != nullptr; }
  bool retired() const { return retired_; }
  bool detached() const { return detached_; }
  bool stands_still() const { return stage_.time.monotonic_ms() < still_until_ms_; }
  bool settled() const { return running() && process_->settled() && mirror_.is_quiet(); }

  // The pages of blocks, which outlive the daemons.
  MemoryPages& pages() { return pages_; }
  // The daemon that runs, or the last one.
  std::int64_t process() const { return processes_; }

  // --- for clients
  bool accept(const std::shared_ptr<Connection>& connection, UserId user = SiteSettings::kUser);
  void receive(const std::shared_ptr<Connection>& connection);
  void hang_up(const std::shared_ptr<Connection>& connection);

  // --- for trouble
  // A daemon is started, now or soon.
  void start();
  void start_soon(std::int64_t at_most_ms = kPauseMs);
  // The process ends at once.
  void kill();
  void kill_within_turn(bool before_record) {
    if (process_ != nullptr) process_->end_within_turn(before_record);
  }
  void fill_log(bool ends) {
    if (process_ != nullptr) process_->fill_log(ends);
  }
  void stop();
  void drain(const char* sequence);
  void advance(const char* sequence);
  void advance_ahead();
  void purge();
  void decommission();
  // Somebody changes the configuration, and has it loaded if a daemon runs.
  void reload();
  // The same, also what a daemon takes over at its start only.
  void configure_otherwise(bool loads);
  void configure_right() { settings_.put_right(); }
  // From its next start on.
  void name_databases(bool elsewhere) { elsewhere_ = elsewhere; }
  void stand_still(std::int64_t ms) {
    still_until_ms_ = std::max(still_until_ms_, stage_.time.monotonic_ms() + ms);
    if (process_ != nullptr) process_->excuses().wait_until(still_until_ms_ + Excuses::kSoonMs);
  }
  // See Excuses; nothing is waited for where no daemon runs.
  std::int64_t excused_until_ms() const {
    return process_ == nullptr ? stage_.time.monotonic_ms() : process_->excuses().until_ms();
  }
  // Its daemon ends, and the next one starts after so long.
  void stay_down(std::int64_t ms);
  // When an advance of the sequence was answered by this daemon; -1: never.
  std::int64_t advanced_ms(std::size_t sequence) const {
    return process_ == nullptr ? -1 : process_->advanced_ms(kSequenceNames[sequence]);
  }
  // Until when its counter was something else than a number; -1: never.
  std::int64_t was_of_wrong_type(std::size_t sequence) const;
  // Another daemon is started on the same directory; it must be refused.
  void start_second();
  // The path leads elsewhere from now on: when the process ends, what it had is gone.
  void detach() { detached_ = true; }
  // Never started again.
  void retire();
  // The operator notes that what was in the directory is gone; not while a daemon runs.
  void forget() { mirror_.destroy(); }
  // What is called when the disk has ended a daemon: more may come of it.
  void on_kill(std::function<void(Site& site)> call) { on_kill_ = std::move(call); }

 private:
  // Runs an event in the process with this number, if it is still there.
  void run(std::int64_t process, const std::function<void()>& event);
  void load_settings();
  void note_meanings(const ConfiguredSequences& loaded);
  void killed_by_the_disk(bool starting);
  void remove_state();
  void ended(std::int64_t pause_ms = kPauseMs);

  Stage& stage_;
  Machine& machine_;
  const ConfiguredSequences& home_;
  SiteSettings settings_;
  std::array<std::size_t, kSequences + 1> meanings_{};
  std::int64_t loaded_ms_ = 0;
  std::map<std::string, std::size_t> known_meanings_;
  const std::vector<Database*>& databases_;
  const std::string state_path_;
  const std::int64_t number_;
  LogMirror mirror_;
  MemoryPages pages_;
  std::unique_ptr<Process> process_;
  std::function<void(Site& site)> on_kill_;
  std::int64_t processes_ = 0;
  std::int64_t still_until_ms_ = 0;
  std::int64_t down_until_ms_ = 0;
  bool start_due_ = false;
  bool retired_ = false;
  bool detached_ = false;
  bool elsewhere_ = false;
};

}  // namespace seqd::sim
