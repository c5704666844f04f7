// Process: one running seqd: the real state, core and methods, with everything around them
// simulated. Its turns are those of daemon/main: daemon/core/turn.h. Owned by its site, which
// destroys it when it ends in any way; one thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "daemon/base/lifetime.h"
#include "daemon/core/turn.h"
#include "daemon/core/upkeep/decommission.h"
#include "daemon/core/upkeep/floor_watch.h"
#include "daemon/core/upkeep/purge.h"
#include "daemon/rpc/server.h"
#include "daemon/state/start.h"
#include "tests/sim/clients/connection.h"
#include "tests/sim/configuration/site_settings.h"
#include "tests/sim/database.h"
#include "tests/sim/excuses.h"
#include "tests/sim/machine.h"
#include "tests/sim/mirror/log_mirror.h"
#include "tests/sim/mirror/mirrored_log.h"
#include "tests/sim/store_link.h"
#include "tests/unit/memory_pages.h"
#include "tests/unit/world.h"

namespace seqd::sim {

// Thrown where the real daemon calls _exit().
struct Ended {};

// What is around a process: the site it runs at, and the central stores.
struct ProcessPlace {
  Stage& stage;
  Machine& machine;
  LogMirror& mirror;
  const ConfiguredSequences& home;  // as all hosts are configured
  const SiteSettings& settings;     // as they are written now
  const std::vector<Database*>& databases;
  std::string state_path;
  std::int64_t number = 0;
  LinkOwner::Later later;
  bool elsewhere = false;  // the stores are other databases than in the life before
  MemoryPages& pages;      // of blocks
};

class Process final : public LinkOwner,
                      private RemainderLogObserver,
                      private TurnOwner,
                      private Control,
                      private EventSink,
                      private Decommission::Place,
                      private Timers,
                      private Worker {
 public:
  static constexpr std::uint32_t kUnacknowledged = 64;

  explicit Process(ProcessPlace place);
  ~Process() override;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Throws Killed when the disk says so.
  Status start();
  // False while it is stopping.
  bool accept(const std::shared_ptr<Connection>& connection, UserId user);
  // What has arrived is taken in.
  void receive(Connection& connection);
  // The client has closed.
  void hang_up(Connection& connection);
  void begin_stop();
  void drain(const char* sequence);
  SequenceId find_left_over(std::string_view name) const;
  // For every host.
  void advance(const char* sequence);
  // Of a period to come.
  void advance_ahead();
  // Of the sequence with periods.
  void purge();
  // The settings have changed.
  void load_settings();
  const ConfiguredSequences& settings() const { return settings_; }  // that it has loaded
  // It has loaded a table for that sequence, and did not say that a restart is needed.
  bool serves_configured(const std::string& name) const;
  void take_out_of_service();
  // Then the directory goes when it has finished.
  bool is_decommissioned() const { return decommissioned_; }
  // It ends within its next turn, before the turn's record or between that and the replies.
  void end_within_turn(bool before_record) {
    ends_before_record_ = before_record;
    ends_before_replies_ = !before_record;
  }
  // Its log becomes nearly full, so that it goes on in the other file; there the process ends,
  // where `ends`, before anything of that is synced.
  void fill_log(bool ends) {
    fills_log_ = true;
    ends_at_rotation_ = ends;
  }
  bool finished() const { return turn_->phase() == Turn::Phase::over; }
  bool flushing() const { return flushing_; }
  // All leases have an outcome.
  bool settled() const { return table_->settled(); }

  std::int64_t number() const override { return place_.number; }
  Later later() override;
  bool intent_is_durable(const Token& token) const override {
    return place_.mirror.intent_is_durable(token);
  }
  bool claim_is_durable(const Token& nonce) const override {
    return place_.mirror.claim_is_durable(nonce);
  }
  bool is_home(const std::string& store, const std::string& key) const override;
  StoreHeartbeat heartbeat(const std::string& store) const override;
  void store_failed(const std::string& store) override {
    excuses_.store_failed(stage_.time.monotonic_ms());
    place_.mirror.store_failed(store);
  }
  // No request waits longer than that for anything but this daemon.
  Excuses& excuses() { return excuses_; }
  std::optional<std::pair<std::int64_t, std::int64_t>> held_of(
      const std::string& sequence) override;
  // When an advance of that sequence last had an answer; -1: never.
  std::int64_t advanced_ms(const std::string& sequence) const;

 private:
  // What an operator does after a restore, when the counters were raised on every host.
  void resume_stores();

  // RemainderLogObserver: the mirror hears it before the core.
  void durable(LogPosition position) override;
  void flush_failed(const Status& status) override;
  // TurnOwner
  void decide() override;
  bool others_settled() const override { return true; }
  bool leaves_state() const override { return true; }
  void reply() override;
  void over() override {}
  void log_failed(const Status& status) override;
  void die(const Status& status) override;
  DaemonFacts facts() const override { return {}; }
  Status reload(UserId /*user*/, std::function<void(const Result<ReloadReport>&)> done) override {
    done(ReloadReport{});
    return {};
  }
  Result<ConfigPage> config(const ConfigQuestion& /*question*/) const override {
    return ConfigPage{};
  }
  UserId user() const override { return 0; }
  const UserList& admins() const override { return admins_; }
  Status decommission(const DecommissionRequest& /*request*/,
                      std::function<void(const DecommissionAnswer&)> /*done*/) override {
    return {ErrorCode::DENIED, "nobody leaves this world for good"};
  }
  Status mark(const std::vector<RetiredInstance>& instances) override;
  void raise(const Event& event) override;
  TimerId schedule(std::int64_t delay_ms, std::function<void()> call) override;
  void cancel(TimerId id) override { place_.stage.time.cancel(id); }
  void submit(std::function<void()> job, std::function<void()> done) override;

  void make_core(Started& started);
  void set_floor_checks();
  void count_start(const std::string& how);
  void tick();
  void take_in(Connection& connection);
  void request_turn();
  void before_record();
  void fill_log();
  void end_at_rotation();
  [[noreturn]] void end_here(Kind kind);
  void send(Connection& connection);
  void end(Connection& connection);
  void check();
  void check_removed(const PurgeReport& report, std::int64_t retain_s) const;
  void check_left(const DecommissionReport& report) const;

  struct Job {
    std::function<void()> run;
    std::function<void()> done;
  };

  bool is_configured(const std::string& name) const { return settings_.find(name) != nullptr; }

  const ProcessPlace place_;
  Stage& stage_;
  ConfiguredSequences settings_;
  Excuses excuses_;
  std::set<std::string> not_applied_;                // by the last reload
  std::map<std::string, std::int64_t> advanced_ms_;  // when a sequence was
  const std::uint64_t log_size_;
  std::unique_ptr<Directory> state_directory_;
  std::unique_ptr<Directory> witness_directory_;
  std::unique_ptr<StateLog> log_;
  std::unique_ptr<MirroredLog> mirrored_;
  std::vector<std::unique_ptr<StoreLink>> links_;
  Sessions sessions_;
  ReplyWriter replies_{sessions_};
  std::unique_ptr<SequenceTable> table_;
  std::unique_ptr<Turn> turn_;
  std::unique_ptr<FloorWatch> floor_watch_;
  std::unique_ptr<Purge> purge_;
  std::unique_ptr<Decommission> decommission_;
  std::unique_ptr<Server> server_;
  std::map<std::uint64_t, std::shared_ptr<Connection>> connections_;
  std::deque<Job> jobs_;  // of the worker of the log, which has one at a time
  std::uint64_t rotations_ = 0;
  bool turn_due_ = false;
  bool flushing_ = false;
  bool flush_told_ = false;  // a death now is the flush's
  bool ends_before_record_ = false;
  bool ends_before_replies_ = false;
  bool fills_log_ = false;
  bool ends_at_rotation_ = false;
  bool decommissioned_ = false;
  const UserList admins_;
  Lifetime alive_;
};

}  // namespace seqd::sim
