#include "daemon/main/daemon.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/core/table/state_room.h"
#include "daemon/main/daemon_facts.h"
#include "daemon/main/daemon_limits.h"
#include "daemon/main/exit_codes.h"
#include "daemon/main/state/state_removal.h"
#include "daemon/main/state/witness_place.h"
#include "daemon/os/files/posix_files.h"
#include "daemon/os/host_name.h"
#include "daemon/state/decommission_mark.h"
#include "protocol/version.h"

namespace seqd {
namespace {

constexpr int kLogWarning = 4;                     // as in syslog
constexpr std::int64_t kGraceMs = 1'000;           // for what is reserved, when the log has failed
constexpr std::int64_t kStartTimeUs = 30'000'000;  // requested from systemd for recovery
// Of the time that a stop may take, this part is for leases in flight, the rest for what follows.
constexpr std::int64_t kSettlePart = 2;
constexpr std::int64_t kFlushGraceMs = 500;  // for the last replies
constexpr std::int64_t kTickMs = 1'000;

}  // namespace

Daemon::Daemon(ConfigurationRequest request, Configuration configuration)
    : request_(std::move(request)),
      configuration_(std::move(configuration)),
      journal_(clock_),
      sessions_(server_limits(configuration_).output_total) {}

Daemon::~Daemon() {
  loop_.on_turn_end(nullptr);
  tick_timer_.cancel();
  stop_timer_.cancel();
  failure_timer_.cancel();
  signals_.clear();
  metrics_.reset();
  if (listener_) listener_->close_all();
  while (listener_ && listener_->connections() > 0) loop_.run_once();
  if (log_) log_->attach(nullptr, nullptr);
  // Before the loop, which their threads wake; their answers do not reach the core any more.
  stores_.reset();
  history_.reset();
  log_worker_.reset();
  reload_worker_.reset();
  // The history is closed, the lock is held.
  remove_files();
}

// --- start

Status Daemon::start(const std::vector<int>& sockets, StoreModules modules) {
  notifier_.extend_timeout(kStartTimeUs);
  started_ms_ = clock_.monotonic_ms();
  log_worker_ = std::make_unique<ThreadWorker>(loop_, "log", 1);
  history_ =
      std::make_unique<History>(loop_, clock_, journal_, configuration_.daemon.state_dir,
                                history_limits(configuration_), configuration_.daemon.history);
  // The state first: it is locked, and its directory is where the embedded store lies.
  Result<Started> state = open_state();
  if (!state.ok()) return state.status();
  history_->started(*state);
  report_start(*state);
  Result<std::unique_ptr<Stores>> stores = Stores::open(
      configuration_, std::move(modules), *witness_directory_, loop_, clock_, journal_);
  if (!stores.ok()) return stores.status();
  stores_ = std::move(*stores);
  // Where the start forfeited: what the store keeps of the instance that this directory was.
  for (const auto& [id, former] : history_->former_instances()) {
    const auto scope = state->image.scopes.find(id);
    if (scope != state->image.scopes.end() && scope->second.instance != former)
      stores_->abandoned(scope->second.store, former);
  }
  make_core(*state);
  // Before the first turn: nothing was written to the log or issued, so the start may still fail.
  const Status room = check_state_room(
      table_->budgets(), static_cast<std::uint64_t>(configuration_.daemon.state_log_size));
  if (!room.ok()) return room;
  if (Status resumed = resume_decommission(); !resumed.ok()) return resumed;

  listener_ =
      std::make_unique<Listener>(loop_, *server_, journal_, listener_limits(configuration_));
  for (const int socket : sockets) {
    Status listening = listener_->listen_on(socket);
    if (!listening.ok()) return listening;
  }
  if (sockets.empty()) {
    const DaemonSettings& settings = configuration_.daemon;
    Status listening =
        listener_->listen_at(settings.socket, static_cast<int>(settings.socket_mode));
    if (!listening.ok()) return listening;
  }
  metrics_->start(configuration_.daemon);
  for (const int number : {SIGTERM, SIGINT}) {
    signals_.push_back(std::make_unique<SignalWatch>(loop_, number, [this] { stop_on_signal(); }));
  }
  signals_.push_back(std::make_unique<SignalWatch>(loop_, SIGHUP, [this] { reload_on_signal(); }));
  loop_.on_turn_end([this] { turn_->end(); });
  tick();
  return {};
}

Result<Started> Daemon::open_state() {
  const Status marked = state_mark_.check(configuration_.daemon.state_dir);
  if (!marked.ok()) return marked;
  Result<std::unique_ptr<Directory>> state = open_directory(configuration_.daemon.state_dir);
  if (!state.ok()) return state.status();
  state_directory_ = std::move(*state);
  Result<std::unique_ptr<Directory>> witness = open_witness_place(
      configuration_.daemon.witness_dir, configuration_.daemon.state_dir, witness_candidates());
  if (!witness.ok()) return witness.status();
  witness_directory_ = std::move(*witness);
  const Result<Token> boot_id = read_boot_id();
  if (!boot_id.ok()) return boot_id.status();

  StartOptions options;
  options.state_log_size = static_cast<std::uint64_t>(configuration_.daemon.state_log_size);
  options.after_power_loss = configuration_.daemon.after_power_loss;
  options.boot_id = *boot_id;
  options.reader = &history_->log_reader();
  options.may_lack_witness = configuration_.daemon.witness_dir.empty();
  Result<Started> started =
      seqd::start({*state_directory_, *witness_directory_, *log_worker_, random_, clock_}, options);
  if (!started.ok()) return started;
  if (Status made = state_mark_.make(); !made.ok()) started->warnings.push_back(made.to_string());
  return started;
}

void Daemon::make_core(Started& state) {
  ASSERT(state.log && stores_ && !table_);
  log_ = std::move(state.log);
  log_->measure_by(clock_);
  state_how_ = state.how;
  // The core appends to the log by way of the history, which sees every entry.
  const CoreContext context{
      clock_, loop_, random_, history_->follow(*log_), journal_, replies_, history_->recorder()};
  // The table, which is empty until restore(), and what works on it. The pages are the table's.
  pages_ = SharedPages::of(*state_directory_, *witness_directory_, random_, journal_);
  table_ = std::make_unique<SequenceTable>(context, configuration_, stores_->by_name(),
                                           table_limits(configuration_), pages_.get());
  Decommission::Place& place = *this;
  decommission_ = std::make_unique<Decommission>(context, *table_, place);
  inserts_ = std::make_unique<InsertQueues>(context, configuration_, stores_->that_insert(),
                                            table_limits(configuration_).sequences);
  registers_ = std::make_unique<Registers>(context, configuration_, *table_,
                                           stores_->that_keep_registers(), host_name());
  purge_ = std::make_unique<Purge>(context, *table_, configuration_, stores_->that_purge(),
                                   [this] { return configuration_.named_sequences(); });
  // The context refers to replies_ already: the core replies to requests that waited.
  replies_.attach(*table_);
  // The methods, which are about all of the above, and what shows the counts of the server.
  Control& control = *this;
  const Services services{control,
                          clock_,
                          *log_,
                          *table_,
                          history_->recorder(),
                          history_->asker(),
                          inserts_.get(),
                          registers_.get(),
                          purge_.get(),
                          &journal_};
  server_ = std::make_unique<Server>(services, sessions_, server_limits(configuration_));
  metrics_ = std::make_unique<MetricsEndpoint>(
      loop_, journal_,
      MetricsSource{*table_, control, *server_, clock_, inserts_.get(), registers_.get()},
      [](const std::string& warning) { log(kLogWarning, warning); });
  // The history takes sums from the table, the log snapshots, and the turn hears what is durable.
  // Before the first commit.
  history_->attach(*table_);
  TurnOwner& owner = *this;
  turn_ = std::make_unique<Turn>(*table_, *log_, owner);
  log_->attach(turn_.get(), table_.get());
  // It recreates the witness and the index of the pages if they are removed; see tick().
  witness_keeper_ =
      std::make_unique<WitnessKeeper>(*log_, pages_.get(), *witness_directory_, journal_);
  // When all is attached: from here on sequences exist, entries are appended and stores are called.
  // What they answer comes by the loop, which does not run yet.
  table_->restore(state.image);
  // The gaps of the start count as gaps of this process. The first floors are read in the loop.
  for (const GapMade& gap : state.gaps) table_->budgets().gap_made(gap.cause, gap.end - gap.begin);
  floor_watch_ = std::make_unique<FloorWatch>(loop_, *table_);
  floor_watch_->set_interval(configuration_.daemon.store_poll_interval_ms);
  table_->accounts().rates().show(MetricsEndpoint::sequences_shown(configuration_.daemon));
}

void Daemon::report_start(const Started& started) {
  for (const std::string& warning : configuration_.warnings) log(kLogWarning, warning);
  for (const std::string& warning : started.warnings)
    journal_.raise({EventKind::state_warning, warning, {}});
  history_->report_gaps(started);
}

int Daemon::run() {
  notifier_.ready(status_line());
  journal_.raise({EventKind::started,
                  "seqd " SEQD_VERSION " is ready (" + state_how_ + ")",
                  {{"STATE_HOW", state_how_},
                   {"SOCKET", configuration_.daemon.socket},
                   {"STATE_DIR", configuration_.daemon.state_dir},
                   {"WITNESS_DIR", witness_directory_->path()}}});
  loop_.run();
  return exit_code_;
}

bool Daemon::quiet() const {
  const bool reads = reload_worker_ != nullptr && !reload_worker_->quiet();
  return stores_->quiet() && log_worker_->quiet() && history_->quiet() && !reads;
}

// --- the turn

void Daemon::reply() {
  history_->turn_over([this] { return log_->statistics().position; });
  server_->turn_over();
  listener_->send_replies();
  if (turn_->phase() == Turn::Phase::over && listener_->connections() == 0 && history_->settled())
    loop_.stop();
}

void Daemon::log_failed(const Status& status) {
  journal_.raise(
      {EventKind::state_failed, "the state directory failed: " + status.to_string(), {}});
  failure_timer_.start(kGraceMs, [this, status] { die(status); });
}

// Its clients connect again and repeat.
void Daemon::die(const Status& status) {
  if (log_ != nullptr)
    journal_.raise({EventKind::state_failed, "the daemon ends: " + status.to_string(), {}});
  notifier_.stopping(status.to_string());
  _exit(kExitState);
}

// --- signals and ticks

void Daemon::stop_on_signal() {
  begin_stop({ErrorCode::STOPPING, "the daemon is stopping; connect again"});
}

void Daemon::reload_on_signal() {
  // The outcome is in the journal; no client waits for it.
  static_cast<void>(reload(user(), [](const Result<ReloadReport>&) {}).ok());
}

void Daemon::tick() {
  notifier_.watchdog();
  history_->tick();
  if (turn_->serving()) {
    std::string line = status_line();
    if (line != last_status_) notifier_.status(line);
    last_status_ = std::move(line);
    stores_->note_silence(table_->scopes());
    table_->replays().expire(clock_.monotonic_ms());
    table_->accounts().sample_rates(clock_.monotonic_ms(), table_->blocks().ids());
    runway_watch_.check(*table_, journal_);
    witness_keeper_->check();
    idle_trim_.check(log_->statistics().position);
  }
  const std::int64_t watchdog_ms = ServiceNotifier::watchdog_interval_ms();
  tick_timer_.start(watchdog_ms > 0 ? std::min(kTickMs, watchdog_ms) : kTickMs, [this] { tick(); });
}

std::string Daemon::status_line() const {
  return seqd::status_line(*table_, server_->counts().connections);
}

// --- Control

DaemonFacts Daemon::facts() const {
  DaemonFacts facts = process_facts(*log_);
  facts.state_how = state_how_;
  facts.uptime_ms = clock_.monotonic_ms() - started_ms_;
  const StoreScope* home = table_->scopes().find(configuration_.daemon.default_store);
  if (home != nullptr) facts.instance = to_hex(home->instance());
  facts.stores = store_facts(configuration_, *table_, *stores_);
  return facts;
}

UserId Daemon::user() const {
  return geteuid();
}

// --- stop

void Daemon::begin_stop(const Status& why) {
  if (!turn_->serving()) return;
  const std::int64_t timeout_ms = configuration_.daemon.stop_timeout_ms;
  notifier_.stopping("stopping");
  notifier_.extend_timeout(2 * timeout_ms * 1'000);  // microseconds; twice as long as it waits
  listener_->stop_accepting();
  reloads_.stop(why);
  turn_->begin_stop(why);
  floor_watch_->set_interval(0);
  metrics_->close();
  inserts_->begin_stop(why);
  registers_->begin_stop(why);
  listener_->drain();
  // A lease in flight is waited for, so that its range is not left open; not for ever.
  stop_timer_.start(timeout_ms / kSettlePart, [this] { turn_->leave(); });
}

void Daemon::over() {
  stop_timer_.cancel();
  history_->finish();
  if (removal_ == Removal::none)
    journal_.raise({EventKind::stopped, "seqd has stopped; the remainder is on disk", {}});
  stop_timer_.start(kFlushGraceMs, [this] { loop_.stop(); });
}

// --- decommission

Status Daemon::mark(const std::vector<RetiredInstance>& instances) {
  return write_decommission_mark(*state_directory_, instances);
}

Status Daemon::resume_decommission() {
  auto marked = read_decommission_mark(*state_directory_);
  if (!marked.ok()) return marked.status();
  if (marked->has_value()) decommission_->resume(std::move(**marked));
  return {};
}

Status Daemon::decommission(const DecommissionRequest& request,
                            std::function<void(const DecommissionAnswer&)> done) {
  using End = DecommissionReport::End;
  return decommission_->begin(request.only_look, request.timeout_ms,
                              [this, keep_history = request.keep_history,
                               done = std::move(done)](const DecommissionReport& instance) {
                                DecommissionAnswer report{instance, {}, {}};
                                if (instance.end == End::preview || instance.end == End::done) {
                                  StateContents contents = state_contents(
                                      *state_directory_, *witness_directory_, keep_history);
                                  report.removed = std::move(contents.ours);
                                  report.left = std::move(contents.others);
                                }
                                done(report);
                                if (instance.end == End::done) end_for_good(instance, keep_history);
                              });
}

void Daemon::end_for_good(const DecommissionReport& report, bool keep_history) {
  removal_ = keep_history ? Removal::all_but_history : Removal::all;
  std::int64_t issued = 0;
  for (const DecommissionReport::OfSequence& part : report.sequences) issued += part.totals.issued;
  std::string instances;
  for (const DecommissionReport::OfStore& part : report.stores)
    instances += (instances.empty() ? "" : " ") + to_hex(part.instance);
  journal_.raise({EventKind::decommissioned,
                  "this instance is decommissioned; it issued " + std::to_string(issued) +
                      " IDs of " + std::to_string(report.sequences.size()) +
                      " sequences, and its stores have removed its records",
                  {{"INSTANCE", instances}, {"STATE_DIR", configuration_.daemon.state_dir}}});
  begin_stop({ErrorCode::STOPPING, "this daemon is decommissioned; use another daemon"});
  exit_code_ = kExitDecommissioned;
}

void Daemon::remove_files() {
  if (removal_ == Removal::none) return;
  const bool keep_history = removal_ == Removal::all_but_history;
  removal_ = Removal::none;
  // The mark first: a kill in between leaves a decommission that goes on, not a mark without a
  // state.
  Status removed = state_mark_.remove();
  if (removed.ok()) removed = remove_state(*state_directory_, *witness_directory_, keep_history);
  if (removed.ok()) return;
  journal_.raise({EventKind::state_failed,
                  "the files of the decommissioned daemon are not all removed: " +
                      removed.to_string() + "; remove them by hand",
                  {}});
}

}  // namespace seqd
