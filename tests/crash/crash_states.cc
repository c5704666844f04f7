#include "tests/crash/crash_states.h"

#include <algorithm>
#include <utility>

namespace seqd {
namespace {

constexpr const char* state_name = "state";

// What a start says of the state of an honest disk. Damage is none of it.
bool is_honest(const std::string& how, AfterPowerLoss after, bool nothing_leased) {
  if (how == "clean" || how.starts_with("resumed")) return true;
  if (how == "fresh") return nothing_leased;
  if (how.find("damaged") != std::string::npos) return false;
  // The files were made, and the first segment never was on the medium.
  if (how.find("neither") != std::string::npos) return nothing_leased;
  return how.starts_with("forfeited") && after == AfterPowerLoss::forfeit;
}

std::int64_t sum(const std::vector<GapMade>& gaps) {
  std::int64_t sum = 0;
  for (const GapMade& gap : gaps) sum += gap.end - gap.begin;
  return sum;
}

}  // namespace

Stage::Stage(CrashStates& states, AfterPowerLoss after, std::uint64_t variation)
    : states_(states), after_(after), varies_(variation > 0), chance_(variation) {
  world_.state_log_size = StateLog::smallest_size;
  recording_.cut = [this] { cut(); };
}

bool Stage::start() {
  daemon_ = std::make_unique<SmallDaemon>(world_);
  daemon_->state_directory = recording_.record(std::move(daemon_->state_directory));
  return daemon_->start(after_);
}

void Stage::kill() {
  end();
  ++ends_;
  daemon_.reset();
  world_.kill();
}

void Stage::cut_power(std::uint64_t seed) {
  kill();
  Medium::State chosen = seed == 0 ? recording_.medium.oldest() : recording_.medium.newest();
  CountingRandom chance(seed);
  for (std::size_t& version : chosen.sectors) {
    if (seed > 1) version = chance.next() % (version + 1);
  }
  const std::map<std::string, Medium::Bytes> files = recording_.medium.files(chosen);
  recording_.medium.settle(chosen);
  world_.cut_power([] { return true; });
  std::erase_if(world_.disk.folder(state_name).names,
                [&](const auto& name) { return !files.contains(name.first); });
  for (const auto& [name, bytes] : files) world_.disk.content(state_name, name) = bytes;
}

void Stage::damage(const std::string& file, std::size_t at) {
  damaged_ = true;
  MemoryDisk::Folder& folder = world_.disk.folder(state_name);
  std::uint8_t& byte = folder.names.at(file)->cached.at(at);
  byte ^= 4;
  recording_.medium.wrote(folder.names.at(file)->number, at, {&byte, 1});
  recording_.medium.settle(recording_.medium.newest());
}

std::int64_t Stage::vary(std::int64_t count) {
  if (!varies_) return count;
  return 1 + count / 2 +
         static_cast<std::int64_t>(chance_.next() % static_cast<std::uint64_t>(count));
}

void Stage::end() {
  cut();
  const std::string text = daemon_->status.ok() ? "" : daemon_->status.text();
  const bool expected = text.find("injected") != std::string::npos ||
                        text.find("the medium has not confirmed") != std::string::npos;
  if (!text.empty() && !expected) states_.refused.push_back(text);
}

void Stage::cut() {
  ++states_.cuts;
  recording_.medium.enumerate(states_.all_below, states_.random, states_.cuts,
                              [this](const Medium::State& state) { try_state(state); });
}

void Stage::try_state(const Medium::State& state) {
  std::uint64_t print = recording_.medium.fingerprint(state);
  for (const auto& [instance, epoch] : world_.epochs) print = print * 31 + epoch.first;
  print = (print * 31 + static_cast<std::uint64_t>(world_.next_id)) * 31 + world_.issued.size();
  print = print * 31 + world_.returns.size();
  if (!states_.prints.insert(print).second) return;
  ++states_.tried;
  const std::map<std::string, Medium::Bytes> files = recording_.medium.files(state);
  for (const AfterPowerLoss after : {AfterPowerLoss::forfeit, AfterPowerLoss::resume}) {
    try_start(files, after);
  }
}

void Stage::fill(World& world, const std::map<std::string, Medium::Bytes>& files) const {
  world.state_log_size = world_.state_log_size;
  world.next_id = world_.next_id;
  world.leases = world_.leases;
  world.epochs = world_.epochs;
  world.returns = world_.returns;
  world.issued = world_.issued;
  world.random = CountingRandom(world_.boot_id[0] + 99);
  world.boot_id = world_.boot_id;
  ++world.boot_id[0];
  MemoryDisk::Folder& folder = world.disk.folder(state_name);
  for (const auto& [name, bytes] : files) {
    auto inode = std::make_shared<MemoryDisk::Inode>();
    inode->number = world.disk.next_number++;
    inode->cached = inode->medium = bytes;
    folder.names[name] = std::move(inode);
  }
  folder.synced_names = folder.names;
}

void Stage::try_start(const std::map<std::string, Medium::Bytes>& files, AfterPowerLoss after) {
  World world;
  fill(world, files);
  SmallDaemon daemon(world);
  const bool nothing_leased = world.next_id == 1;
  const bool started = daemon.start(after);
  const std::string how = started ? daemon.started.how : daemon.status.text();
  if (!started || (!damaged_ && !is_honest(how, after, nothing_leased))) {
    states_.refused.push_back("cut " + std::to_string(states_.cuts) + ": " + how);
    if (!started) return;
  }
  // Resumed, only what was reserved is lost.
  if (how.starts_with("resumed") && sum(daemon.started.gaps) > SmallDaemon::max_unsynced) {
    states_.refused.push_back("cut " + std::to_string(states_.cuts) + ": lost more than reserved");
  }
  daemon.claim();
  daemon.issue_all_available();
  daemon.issue(3);
  daemon.issue_all_available();
  if (!daemon.status.ok()) states_.refused.push_back(daemon.status.text());
  states_.duplicates += static_cast<std::uint64_t>(world.twice);
  if (!damaged_) states_.unaccounted += static_cast<std::uint64_t>(unaccounted(daemon));
}

// Every ID the store has given is leased in the log's books, or of a lease that they call
// untraceable; every leased one is issued, a gap or available; and what is called issued went to a
// client, but for the turn that a process had under way when it ended.
std::int64_t Stage::unaccounted(const SmallDaemon& daemon) const {
  const auto found = daemon.image.sequences.find(SmallDaemon::sequence);
  if (found == daemon.image.sequences.end()) return daemon.world.next_id - 1;
  const SequenceTotals& totals = found->second.totals;
  const std::int64_t unknown = totals.unknown * SmallDaemon::lease_size;
  const std::int64_t unbooked =
      daemon.world.next_id - 1 - (totals.leased - totals.returned) - unknown;
  const std::optional<ReturnOpened>& open = found->second.returning;
  const std::int64_t returning = open ? open->end - open->begin : 0;
  const std::int64_t booked =
      totals.issued + totals.returned + totals.gaps + daemon.available() + returning;
  const auto replied = static_cast<std::int64_t>(daemon.world.issued.size());
  return std::max<std::int64_t>(0, unbooked) + std::abs(totals.leased - booked) +
         std::max<std::int64_t>(0, totals.issued - replied - ends_);
}

}  // namespace seqd
