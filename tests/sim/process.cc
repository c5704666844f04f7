#include "tests/sim/process.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "daemon/core/sequence/sequence_state.h"
#include "daemon/state/decommission_mark.h"
#include "daemon/state/log_format.h"
#include "tests/sim/site.h"

namespace seqd::sim {
namespace {

constexpr std::int64_t kTickMs = 1'000;
constexpr std::size_t kMostPeriods = 100;  // of one sequence

ServerLimits server_limits() {
  ServerLimits limits;
  limits.methods.pipeline = 24;
  limits.output = 2'048;
  return limits;
}

TableLimits table_limits(const DaemonOptions& options, std::uint64_t state_log_size) {
  TableLimits limits;
  limits.sequences = Site::kSequences + kMostPeriods;
  limits.replays.clients = options.clients;
  limits.replays.unacknowledged = Process::kUnacknowledged;
  limits.replays.remember_ms = options.remember_ms;
  limits.replays.issues = StateBounds(state_log_size).issues();
  limits.state_bytes = StateBounds(state_log_size).sequence_bytes();
  limits.blocks = std::min<std::int64_t>(options.blocks, StateBounds(state_log_size).blocks());
  return limits;
}

}  // namespace

Process::Process(ProcessPlace place)
    : place_(std::move(place)),
      stage_(place_.stage),
      settings_(place_.settings.written()),
      // Each period is a sequence in the snapshot.
      log_size_((stage_.profile.period.empty() ? place_.settings.daemon().log_sizes : 4) *
                StateLog::smallest_size),
      state_directory_(place_.machine.disk.open(place_.state_path)),
      witness_directory_(place_.machine.disk.open(Machine::witness_path)),
      sessions_(server_limits().output_total) {}

Process::~Process() {
  for (const auto& [number, connection] : connections_) {
    connection->session = nullptr;
    connection->user.connection_ended(*connection);
  }
  place_.mirror.ended();
}

// --- start
// --------------------------------------------------------------------------------------

Status Process::start() {
  excuses_.wait_until(stage_.time.monotonic_ms() + Excuses::kSoonMs);
  StartOptions options;
  options.state_log_size = log_size_;
  options.after_power_loss = stage_.profile.after_power_loss;
  options.boot_id = place_.machine.boot_id;
  Worker& worker = *this;
  Result<Started> started = seqd::start(
      {*state_directory_, *witness_directory_, worker, stage_.random, place_.machine}, options);
  if (!started.ok()) return started.status();
  stage_.history.note(started->how.rfind("forfeited", 0) == 0 ? "start: forfeited"
                      : started->how.rfind("resumed", 0) == 0 ? "start: resumed"
                      : started->how == "witness"             ? "start: witness"
                      : started->how == "clean"               ? "start: clean"
                                                              : "start: fresh",
                      number(), static_cast<std::int64_t>(started->gaps.size()));
  count_start(started->how);
  stage_.transcript.started(number(), started->how);
  place_.mirror.started(*started);
  place_.mirror.set_elsewhere(place_.elsewhere);
  make_core(*started);
  auto marked = read_decommission_mark(*state_directory_);
  if (!marked.ok()) return marked.status();
  if (marked->has_value()) decommission_->resume(std::move(**marked));
  tick();
  request_turn();
  return {};
}

void Process::count_start(const std::string& how) {
  if (how == "fresh") return stage_.count(Kind::started_fresh);
  if (how == "witness") return stage_.count(Kind::started_by_witness);
  if (how == "clean") return stage_.count(Kind::started_clean);
  stage_.count(how.rfind("resumed", 0) == 0 ? Kind::started_by_resume : Kind::started_by_forfeit);
}

void Process::make_core(Started& started) {
  log_ = std::move(started.log);
  mirrored_ = std::make_unique<MirroredLog>(*log_, place_.mirror, [this] { before_record(); });
  SequenceTable::Stores stores;
  for (Database* database : place_.databases) {
    LinkOwner& owner = *this;
    links_.push_back(std::make_unique<StoreLink>(stage_, *database, owner, place_.elsewhere));
    stores[database->name()] = links_.back().get();
  }
  Timers& timers = *this;
  EventSink& events = *this;
  const CoreContext context{place_.machine, timers, stage_.random, *mirrored_, events, replies_};
  place_.pages.begin_process();
  table_ = std::make_unique<SequenceTable>(
      context, settings_, stores, table_limits(place_.settings.daemon(), log_size_), &place_.pages);
  TurnOwner& turns = *this;
  turn_ = std::make_unique<Turn>(*table_, *mirrored_, turns);
  replies_.attach(*table_);
  log_->attach(this, table_.get());
  table_->restore(started.image);
  floor_watch_ = std::make_unique<FloorWatch>(timers, *table_);
  set_floor_checks();
  Purge::Stores purged;
  for (const auto& link : links_) purged[link->name()] = link.get();
  purge_ = std::make_unique<Purge>(context, *table_, settings_, purged,
                                   [] { return std::vector<NamedSequence>(); });
  Decommission::Place& place = *this;
  decommission_ = std::make_unique<Decommission>(context, *table_, place);
  Control& control = *this;
  server_ = std::make_unique<Server>(Services{control, place_.machine, *mirrored_, *table_},
                                     sessions_, server_limits());
}

void Process::tick() {
  place_.later(kTickMs, [this] {
    table_->replays().expire(place_.machine.monotonic_ms());
    resume_stores();
    tick();
    request_turn();
  });
}

// --- what comes from outside
// --------------------------------------------------------------------------------------

TimerId Process::schedule(std::int64_t delay_ms, std::function<void()> call) {
  // The core cancels its timers when it ends, but for answers that are due at once.
  return stage_.after(delay_ms, alive_.guard([this, call = std::move(call)] {
    call();
    request_turn();
  }));
}

// As in the event loop, what a store answers is followed by the end of a turn.
LinkOwner::Later Process::later() {
  return [this, later = place_.later](std::int64_t delay_ms, std::function<void()> event) {
    later(delay_ms, [this, event = std::move(event)] {
      event();
      request_turn();
    });
  };
}

void Process::submit(std::function<void()> job, std::function<void()> done) {
  std::int64_t delay_ms = stage_.random.between(0, 3);
  if (stage_.time.monotonic_ms() < place_.machine.slow_until_ms && !stage_.calm) {
    delay_ms = stage_.random.between(500, 4'000);
    stage_.happened(Kind::slow_flush, number(), delay_ms);
    excuses_.wait_until(stage_.time.monotonic_ms() + delay_ms + Excuses::kSoonMs / 2);
  }
  // The jobs end with the process, and with them the files that they hold.
  jobs_.push_back({std::move(job), std::move(done)});
  place_.later(delay_ms, [this] {
    flushing_ = true;
    jobs_.front().run();
    flushing_ = false;
    place_.later(stage_.random.between(0, 1), [this] {
      const Job first = std::move(jobs_.front());
      jobs_.pop_front();
      first.done();
      request_turn();
    });
  });
}

void Process::raise(const Event& event) {
  stage_.transcript.raised(number(), event);
  if (event.kind == EventKind::lease_granted) stage_.count(Kind::lease_granted);
  if (event.kind == EventKind::sequence_moved) stage_.happened(Kind::moved, number());
  if (event.kind == EventKind::gap_superseded) stage_.count(Kind::superseded);
  if (event.kind == EventKind::gap_block_lost) stage_.count(Kind::block_lost);
  if (event.kind == EventKind::gap_out_of_bounds) stage_.count(Kind::out_of_bounds);
  if (event.kind == EventKind::gap_period_end) stage_.count(Kind::period_ended);
  if (event.kind == EventKind::store_restored) stage_.happened(Kind::restore_noticed, number());
  if (event.kind == EventKind::gap_restored) stage_.count(Kind::restored_gap);
  if (event.kind == EventKind::lease_resolved) stage_.count(Kind::lease_recovered);
  if (event.kind == EventKind::sequence_stopped && place_.elsewhere)
    stage_.happened(Kind::database_refused, number());
}

StoreHeartbeat Process::heartbeat(const std::string& store) const {
  const StateImage& image = place_.mirror.image();
  for (const auto& [id, scope] : image.scopes) {
    const auto found = image.heartbeats.find(id);
    if (scope.store == store && found != image.heartbeats.end()) return found->second;
  }
  return {};
}

void Process::set_floor_checks() {
  floor_watch_->set_interval(place_.settings.daemon().polls_every * stage_.profile.floor_check_ms);
}

void Process::load_settings() {
  if (!turn_->serving()) return;
  // What was answered before has left.
  turn_->end();
  const std::map<std::string, SequenceSettings> before = settings_.by_name;
  settings_ = reloaded(settings_, place_.settings.written(), [this](const std::string& name) {
    return table_->sequences().find_any_period(name) != nullptr;
  });
  set_floor_checks();
  not_applied_.clear();
  const TableLimits limits = table_limits(place_.settings.daemon(), log_size_);
  for (const std::string& name : table_->apply_settings(limits)) {
    not_applied_.insert(std::string(base_of(name)));
    // One without a table until now may have come back as another.
    const bool is_kept = before.contains(std::string(base_of(name))) && is_configured(name);
    if (is_kept && table_->at(table_->find(name)).stop_error().ok())
      stage_.history.violation("a setting of " + name + " was not applied that may be changed");
  }
  request_turn();
}

bool Process::serves_configured(const std::string& name) const {
  return is_configured(name) && !not_applied_.contains(name);
}

// --- the turn
// --------------------------------------------------------------------------------------

void Process::request_turn() {
  if (turn_due_) return;
  turn_due_ = true;
  place_.later(stage_.random.between(0, 2), [this] { turn_->end(); });
}

void Process::decide() {
  turn_due_ = false;
  for (const auto& [number, connection] : connections_) {
    if (connection->session->paused) take_in(*connection);
  }
}

void Process::before_record() {
  if (fills_log_ && place_.mirror.at_rest()) fill_log();
  if (ends_before_record_) end_here(Kind::kill_before_record);
}

void Process::fill_log() {
  fills_log_ = false;
  excuses_.wait_until(stage_.time.monotonic_ms() + Excuses::kSoonMs);
  const StateImage image = place_.mirror.image();
  const std::uint64_t wanted = log_size_ - log_->statistics().used -
                               static_cast<std::uint64_t>(stage_.random.between(50, 1'500));
  if (image.sequences.empty() || wanted > log_size_) return;
  std::vector<std::uint8_t> bytes;
  while (bytes.size() < wanted) {
    const DefineSequence& definition =
        std::next(image.sequences.begin(),
                  stage_.random.below(static_cast<std::int64_t>(image.sequences.size())))
            ->second.definition;
    encode_entry(bytes, definition);
    mirrored_->append(definition);
  }
  stage_.count(Kind::log_filled);
}

// The other file has a new segment in the page cache; the next start may be cut off, too.
void Process::end_at_rotation() {
  MemoryDisk& disk = place_.machine.disk;
  const std::uint64_t at =
      disk.operations + static_cast<std::uint64_t>(stage_.random.between(1, 8));
  (stage_.random.below(2) == 0 ? disk.faults.kill_before : disk.faults.kill_after) = at;
  end_here(Kind::kill_at_rotation);
}

void Process::end_here(Kind kind) {
  stage_.happened(kind, number());
  throw Ended{};
}

// --- the end
// --------------------------------------------------------------------------------------

void Process::durable(LogPosition position) {
  place_.mirror.durable(position);
  turn_->durable(position);
}

void Process::flush_failed(const Status& status) {
  const bool fenced = status.code() == ErrorCode::FENCED;
  stage_.happened(fenced ? Kind::fenced : Kind::flush_failed, number());
  flush_told_ = true;
  turn_->flush_failed(status);
  flush_told_ = false;
}

void Process::log_failed(const Status& /*status*/) {
  place_.later(kTickMs, [] { throw Ended{}; });
}

void Process::die(const Status& /*status*/) {
  if (!flush_told_) stage_.happened(Kind::write_failed, number());
  throw Ended{};
}

// --- checks
// --------------------------------------------------------------------------------------

void Process::check() {
  const StateImage& image = place_.mirror.image();
  for (const Sequence* sequence : table_->sequences().all()) {
    const SequenceTotals& totals = sequence->totals();
    const auto wrong = [&](const char* what) {
      stage_.history.violation("daemon " + std::to_string(number()) + ", \"" + sequence->name() +
                               "\": " + what);
    };
    const SequenceImage& logged = image.sequences.at(sequence->id());
    if (totals.leased != totals.issued + sequence->available() + sequence->out() +
                             sequence->slot().returning() + totals.returned + totals.gaps) {
      wrong("leased is not issued + available + out + returning + returned + gaps");
    }
    if (!(totals == logged.totals)) wrong("the totals are not those of the log");
    if (sequence->available() != StateImage::available(logged)) {
      wrong("what is available is not what the log says");
    }
    if (sequence->definition().high_water() != logged.definition.high_water)
      wrong("the high-water mark is not that of the log");
    // As the settings were when they came in, at most. A range that was parked is taken whole.
    const Profile& profile = stage_.profile;
    const std::int64_t more = profile.reuse == Reuse::parked ? profile.lease_max : 0;
    if (sequence->waiters().size() > SiteSettings::kMaxWaiters) wrong("more wait than may");
    if (sequence->available() > profile.max_available() + more)
      wrong("more is available than may be");
  }
}

}  // namespace seqd::sim
