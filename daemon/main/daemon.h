// Daemon: everything wired together: configuration, state, stores, core, methods and sockets, and
// the order in which they begin and end. One a process, made by main; loop thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/base/files/files.h"
#include "daemon/base/one_shot.h"
#include "daemon/core/table/sequence_table.h"
#include "daemon/core/turn.h"
#include "daemon/core/upkeep/floor_watch.h"
#include "daemon/core/upkeep/runway_watch.h"
#include "daemon/main/config/config.h"
#include "daemon/main/config/config_page.h"
#include "daemon/main/history.h"
#include "daemon/main/idle_trim.h"
#include "daemon/main/metrics_endpoint.h"
#include "daemon/main/reload_queue.h"
#include "daemon/main/state/state_mark.h"
#include "daemon/main/state/witness_keeper.h"
#include "daemon/main/stores.h"
#include "daemon/os/journal/journal.h"
#include "daemon/os/notify.h"
#include "daemon/os/shared_pages.h"
#include "daemon/os/system_clock.h"
#include "daemon/os/system_random.h"
#include "daemon/rpc/server.h"
#include "daemon/state/start.h"
#include "daemon/uv/listener.h"
#include "daemon/uv/signal_watch.h"

namespace seqd {

class Daemon final : private Control, private TurnOwner, private Decommission::Place {
 public:
  Daemon(ConfigurationRequest request, Configuration configuration);
  ~Daemon() override;
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // Takes over the state directory, opens the stores and listens: on `sockets`, or where the
  // configuration says when there are none. `modules`: the configuration's. FENCED: another
  // daemon has the directory.
  Status start(const std::vector<int>& sockets, StoreModules modules);
  // Serves until a stop is requested. Returns the exit code.
  int run();
  // Nothing is under way on another thread, so that the process can be taken down in order.
  bool quiet() const;
  // After run(): a daemon that was decommissioned leaves no file behind. The destructor does that
  // too, when nothing is under way any more.
  void remove_files();

 private:
  enum class Removal : std::uint8_t { none, all_but_history, all };

  // Control
  DaemonFacts facts() const override;
  Status reload(UserId user, std::function<void(const Result<ReloadReport>&)> done) override;
  Result<ConfigPage> config(const ConfigQuestion& question) const override {
    return answer_config(configuration_, question);
  }
  UserId user() const override;
  const UserList& admins() const override { return configuration_.daemon.admins.compiled; }
  Status decommission(const DecommissionRequest& request,
                      std::function<void(const DecommissionAnswer&)> done) override;
  // Decommission::Place
  Status mark(const std::vector<RetiredInstance>& instances) override;
  // TurnOwner
  void decide() override { listener_->resume_deferred(); }
  bool others_settled() const override { return inserts_->settled() && registers_->settled(); }
  bool leaves_state() const override { return removal_ == Removal::none; }
  void reply() override;
  void over() override;
  void log_failed(const Status& status) override;
  void die(const Status& status) override;

  Result<Started> open_state();
  void make_core(Started& state);
  void load_again(std::function<void(const Result<ReloadReport>&)> done);
  Result<ReloadReport> apply_configuration(Result<Configuration> next);
  void report_start(const Started& started);
  Status resume_decommission();
  void end_for_good(const DecommissionReport& report, bool keep_history);
  void begin_stop(const Status& why);
  void stop_on_signal();
  void reload_on_signal();
  void tick();
  std::string status_line() const;

  // In the order in which they are needed: each uses those above it. The destructor ends the
  // threads before that.
  const ConfigurationRequest request_;
  Configuration configuration_;
  SystemClock clock_;
  SystemRandom random_;
  Journal journal_;
  ServiceNotifier notifier_{journal_};
  EventLoop loop_;
  const StateMark state_mark_{mark_directory()};
  std::unique_ptr<Directory> state_directory_;
  std::unique_ptr<Directory> witness_directory_;
  std::unique_ptr<SharedPages> pages_;  // of blocks; null: there is no place for them
  std::unique_ptr<ThreadWorker> log_worker_;
  std::unique_ptr<Stores> stores_;
  std::unique_ptr<History> history_;
  std::unique_ptr<StateLog> log_;
  std::unique_ptr<WitnessKeeper> witness_keeper_;
  IdleTrim idle_trim_;
  RunwayWatch runway_watch_;
  Sessions sessions_;
  ReplyWriter replies_{sessions_};
  std::unique_ptr<SequenceTable> table_;
  std::unique_ptr<Turn> turn_;
  std::unique_ptr<InsertQueues> inserts_;
  std::unique_ptr<Registers> registers_;
  std::unique_ptr<FloorWatch> floor_watch_;
  std::unique_ptr<Purge> purge_;
  std::unique_ptr<Decommission> decommission_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<MetricsEndpoint> metrics_;
  std::unique_ptr<ThreadWorker> reload_worker_;
  ReloadQueue reloads_{clock_, loop_,
                       [this](ReloadQueue::Done done) { load_again(std::move(done)); }};
  std::string state_how_;
  std::int64_t started_ms_ = 0;

  std::vector<std::unique_ptr<SignalWatch>> signals_;
  OneShot tick_timer_{loop_};
  OneShot stop_timer_{loop_};     // until leave(); after over(), for the last replies
  OneShot failure_timer_{loop_};  // also while it stops
  std::string last_status_;

  int exit_code_ = 0;
  Removal removal_ = Removal::none;
};

}  // namespace seqd
