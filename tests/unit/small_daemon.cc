#include "tests/unit/small_daemon.h"

#include <algorithm>

namespace seqd {

std::uint64_t CountingRandom::next() {
  state_ += 0x9e3779b97f4a7c15;
  std::uint64_t mixed = state_;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31);
}

bool ManualWorker::run_one() {
  if (jobs.empty()) return false;
  const auto [job, done] = std::move(jobs.front());
  jobs.pop_front();
  job();
  done();
  return true;
}

World::World() {
  disk.set_kind("run", FileSystemKind::memory);
}

LeaseOutcome World::lease(const Token& token, std::int64_t count) {
  LeaseOutcome outcome;
  outcome.kind = LeaseOutcome::Kind::granted;
  outcome.begin = next_id;
  outcome.end = next_id += count;
  leases[token] = {outcome.begin, outcome.end};
  return outcome;
}

bool World::return_range(const Token& token, std::int64_t begin, std::int64_t end) {
  const auto [found, fresh] = returns.try_emplace(token, next_id == end);
  if (fresh && found->second) next_id = begin;
  return found->second;
}

bool World::claim(const Token& instance, std::uint64_t epoch, const Token& nonce) {
  auto& [now, owner] = epochs[instance];
  if (now == epoch + 1 && owner == nonce) return true;
  if (now != epoch) return false;
  now = epoch + 1;
  owner = nonce;
  return true;
}

void World::kill() {
  disk.release_locks();
  disk.faults = {};
}

SmallDaemon::SmallDaemon(World& in, const std::string& state, const std::string& witness)
    : world(in), state_directory(in.disk.open(state)), witness_directory(in.disk.open(witness)) {}

bool SmallDaemon::start(AfterPowerLoss after) {
  StartOptions options;
  options.state_log_size = world.state_log_size;
  options.after_power_loss = after;
  options.boot_id = world.boot_id;
  Result<Started> result = seqd::start(
      {*state_directory, *witness_directory, worker, world.random, world.clock}, options);
  status = result.status();
  if (!result.ok()) return false;
  started = std::move(*result);
  image = std::move(started.image);
  started.log->attach(this, this);
  durable_position = started.log->statistics().durable;
  return true;
}

void SmallDaemon::append(const LogEntry& entry) {
  ASSERT(image.apply(entry).ok());
  started.log->append(entry);
}

bool SmallDaemon::commit() {
  Status committed = started.log->commit();
  if (!committed.ok()) status = committed;
  // Most turns do nothing to the disk, and yet the process can die behind each.
  const MemoryDisk::Step step = world.disk.step();
  if (step == MemoryDisk::Step::die_torn || step == MemoryDisk::Step::die_after) throw Killed{};
  return committed.ok();
}

bool SmallDaemon::commit_durably() {
  started.log->make_durable();
  const LogPosition wanted = started.log->next_position();
  if (!commit()) return false;
  run_worker();
  return durable_position >= wanted;
}

void SmallDaemon::define() {
  append(DefineScope{1, "default", random_token(world.random), 0, ScopeState::clean, {}});
  append(DefineSequence{sequence, 1, "orders", "counters/orders", 0});
}

void SmallDaemon::claim() {
  if (image.scopes.empty()) define();
  DefineScope scope = image.scopes.at(1);
  if (scope.state == ScopeState::owned) return;
  if (scope.state == ScopeState::clean) {
    scope.state = ScopeState::claiming;
    scope.nonce = random_token(world.random);
    append(scope);
    if (!commit()) return;
  }
  if (world.claim(scope.instance, scope.epoch, scope.nonce)) {
    scope.epoch += 1;
    scope.state = ScopeState::owned;
    append(scope);
    commit();
    return;
  }
  // Lost: what carry_out() does for R3 is what has to be done now.
  for (const AvailableRange& range : Fifo<AvailableRange>(mine().ranges)) {
    append(GapMade{sequence, range.begin, range.end, GapCause::epoch_lost, 0});
  }
  if (mine().returning) {
    append(
        ReturnClosed{sequence, mine().returning->token, ReturnEnd::kept, GapCause::epoch_lost, 0});
  }
  if (mine().intent) {
    append(LeaseClosed{sequence, mine().intent->lease, LeaseEnd::untraceable, 0});
  }
  append(DefineScope{1, "default", random_token(world.random), 0, ScopeState::clean, {}});
  if (commit()) claim();
}

bool SmallDaemon::settle_intent() {
  if (!mine().intent) return true;
  const Token token = mine().intent->lease;
  const auto found = world.leases.find(token);
  if (found == world.leases.end()) {
    append(LeaseClosed{sequence, token, LeaseEnd::refused, 0});
  } else {
    append(LeaseGranted{sequence, token, found->second.first, found->second.second, 0});
  }
  return commit();
}

bool SmallDaemon::settle_return() {
  if (!mine().returning) return true;
  // What releases the range is durable before the request leaves.
  if (durable_position < opening_) return false;
  const ReturnOpened open = *mine().returning;
  const bool returned = world.return_range(open.token, open.begin, open.end);
  append(ReturnClosed{sequence, open.token, returned ? ReturnEnd::returned : ReturnEnd::kept,
                      GapCause::drained, 0});
  return commit();
}

void SmallDaemon::return_range() {
  if (image.scopes.at(1).state != ScopeState::owned || !settle_intent() || !settle_return()) return;
  if (mine().ranges.empty()) return;
  const AvailableRange last = mine().ranges.back();
  opening_ = started.log->next_position();
  durably_reserved_ = std::min(durably_reserved_, last.begin);
  append(ReturnOpened{sequence, random_token(world.random), last.begin, last.end, Reuse::tail, 0});
  if (commit_durably()) settle_return();
}

bool SmallDaemon::lease() {
  if (!settle_intent() || !settle_return()) return false;
  if (!mine().ranges.empty()) return true;
  const Token token = random_token(world.random);
  append(LeaseIntended{sequence, token, lease_size, 0});
  if (!commit_durably()) return false;
  const LeaseOutcome outcome = world.lease(token, lease_size);
  append(LeaseGranted{sequence, token, outcome.begin, outcome.end, 0});
  return commit();
}

bool SmallDaemon::reserve() {
  const AvailableRange& front = mine().ranges.front();
  if (front.begin < durably_reserved_) return true;
  const std::int64_t end = std::min(front.begin + max_unsynced, front.end);
  append(Reserved{sequence, end});
  if (!commit_durably()) return false;
  durably_reserved_ = end;
  return true;
}

void SmallDaemon::issue(std::int64_t count) {
  if (image.clients.empty() && !image.scopes.empty()) {
    append(DefineClient{image.next_numbers.client, Token{7}});
  }
  for (std::int64_t done = 0; done < count; ++done) {
    if (image.scopes.at(1).state != ScopeState::owned || !lease() || !reserve()) return;
    const ClientId client = image.clients.begin()->first;
    const std::int64_t id = mine().ranges.front().begin;
    append(Issued{sequence, id, id + 1, client, static_cast<std::uint32_t>(id), IssueKind::single});
    append(Acknowledged{client, static_cast<std::uint32_t>(id)});
    if (!commit()) return;
    if (!world.issued.insert(id).second) ++world.twice;
  }
}

void SmallDaemon::fill(std::size_t size) {
  while (size > 0) {
    const std::size_t text = std::min<std::size_t>(size, world.state_log_size / 20);
    DefineSequence definition = mine().definition;
    const std::string binding = definition.binding;
    definition.binding = std::string(text, 'x');
    started.log->append(definition);
    definition.binding = binding;
    started.log->append(definition);
    size -= text;
  }
  commit();
}

void SmallDaemon::stop() {
  DefineScope scope = image.scopes.at(1);
  if (scope.state == ScopeState::owned) {
    scope.state = ScopeState::clean;
    append(scope);
  }
  commit_durably();
  started.log.reset();
}

std::int64_t SmallDaemon::available() const {
  const auto found = image.sequences.find(sequence);
  return found == image.sequences.end() ? 0 : StateImage::available(found->second);
}

bool SmallDaemon::conserves() const {
  for (const auto& [id, one] : image.sequences) {
    const SequenceTotals& totals = one.totals;
    const std::int64_t returning = one.returning ? one.returning->end - one.returning->begin : 0;
    if (totals.leased != totals.issued + totals.returned + totals.gaps + returning +
                             StateImage::available(one) + StateImage::out(one)) {
      return false;
    }
  }
  return true;
}

}  // namespace seqd
