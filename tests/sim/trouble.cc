#include "tests/sim/trouble.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace seqd::sim {
namespace {

constexpr std::size_t kCopiesKept = 6;
constexpr std::int64_t kHeaderSize = 80;   // of a log file, check sum included
constexpr std::size_t kNumberOffset = 16;  // of the segment's number in there
constexpr std::size_t kSitesAtOnce = 6;
constexpr std::int64_t kBlock = 4096;
constexpr std::int64_t kAnsweredMs = 40'000;  // what is asked now is answered then, or given up

bool in_use(const std::unique_ptr<Site>& site) {
  return !site->retired();
}

}  // namespace

void TroubleMaker::begin() {
  stage_.after(stage_.random.between(1, 2 * stage_.profile.trouble_ms), [this] {
    if (stage_.calm) return;
    const auto& weights = stage_.profile.weights;
    const std::int64_t sum = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
    if (sum > 0) {
      std::int64_t at = stage_.random.below(sum);
      std::size_t which = 0;
      while (at >= weights[which]) at -= weights[which++];
      make(static_cast<Trouble>(which));
    }
    begin();
  });
}

void TroubleMaker::make_peace() {
  for (const auto& machine : machines_) machine->disk.faults = {};
  for (Database* database : databases_) {
    database->be_down(0);
    database->raise_all();
  }
  for (const auto& site : sites_) site->name_databases(false);
}

void TroubleMaker::killed(Site& site) {
  if (may_cut_power() && !stage_.calm && stage_.random.below(3) == 0) cut_power(site.machine());
}

Site* TroubleMaker::any_site() {
  std::vector<Site*> candidates;
  for (const auto& site : sites_) {
    if (in_use(site) && !site->detached()) candidates.push_back(site.get());
  }
  return candidates[static_cast<std::size_t>(
      stage_.random.below(static_cast<std::int64_t>(candidates.size())))];
}

const char* TroubleMaker::any_sequence() {
  const bool periods = !stage_.profile.period.empty();
  return Site::kSequenceNames[stage_.random.below(Site::kSequences + (periods ? 1 : 0))];
}

Machine& TroubleMaker::any_machine() {
  return *machines_[static_cast<std::size_t>(
      stage_.random.below(static_cast<std::int64_t>(machines_.size())))];
}

Database& TroubleMaker::any_database() {
  return *databases_[static_cast<std::size_t>(
      stage_.random.below(static_cast<std::int64_t>(databases_.size())))];
}

void TroubleMaker::make(Trouble trouble) {
  SeededRandom& random = stage_.random;
  Site& site = *any_site();
  switch (trouble) {
    case Trouble::kill:
      return kill(site);
    case Trouble::kill_at_operation:
      return kill_at_operation(site);
    case Trouble::fail_operation:
      return fail_operation(site);
    case Trouble::fail_syncs:
      site.machine().disk.faults.fail_syncs_from = site.machine().disk.operations + 1;
      return;
    case Trouble::fill_disk:
      return fill_disk(site);
    case Trouble::cut_power:
      return cut_power(any_machine());
    case Trouble::stop:
      return site.stop();
    case Trouble::remove_witness:
      return remove_witness(any_machine());
    case Trouble::remove_pages:
      // A daemon that runs has them open.
      if (!site.running()) return;
      site.kill();
      stage_.happened(Kind::pages_removed, site.number());
      return site.pages().pages.clear();
    case Trouble::rot:
      return rot(site);
    case Trouble::fill_log:
      return fill_log(site);
    case Trouble::forget_pages:
      return forget_pages(site.machine());
    case Trouble::slow_disk:
      site.machine().slow_until_ms = stage_.time.monotonic_ms() + random.between(500, 5'000);
      return;
    case Trouble::clone:
      return clone(site);
    case Trouble::begin_copy:
      return begin_copy(site);
    case Trouble::restore:
      return restore(site);
    case Trouble::replace_running:
      return replace_running(site);
    case Trouble::lose_directory:
      return lose_directory(site);
    case Trouble::second_start:
      return site.start_second();
    case Trouble::outage:
      stage_.happened(Kind::outage, 0);
      return any_database().be_down(
          random.between(100, stage_.profile.period.empty() ? 15'000 : 150'000));
    case Trouble::fail_over:
      return any_database().begin_fail_over();
    case Trouble::foreign_write:
      return write_elsewhere();
    case Trouble::spoil_counter:
      return spoil_counter();
    case Trouble::stall:
      stage_.happened(Kind::stalled, site.number());
      return site.stand_still(random.between(50, 4'000));
    case Trouble::jump_clock:
      return jump_clock(site.machine());
    case Trouble::drain:
      return site.drain(any_sequence());
    case Trouble::advance:
      return site.advance(any_sequence());
    case Trouble::let_days_pass:
      return let_days_pass();
    case Trouble::purge:
      return purge(site);
    case Trouble::reload:
      return site.reload();
    case Trouble::decommission:
      return site.decommission();
    case Trouble::change_database:
      return change_database(site);
    case Trouble::put_back_database:
      return put_back_database();
  }
}

// --- processes and disks
// --------------------------------------------------------------------------------------

void TroubleMaker::kill(Site& site) {
  if (!site.running()) return;
  if (stage_.random.below(2) == 0) return site.kill_within_turn(stage_.random.below(4) == 0);
  kill_now(site);
}

void TroubleMaker::kill_now(Site& site) {
  if (!site.running()) return;
  stage_.happened(Kind::kill_between_turns, site.number());
  site.kill();
}

void TroubleMaker::kill_at_operation(Site& site) {
  MemoryDisk& disk = site.machine().disk;
  const std::uint64_t at =
      disk.operations + static_cast<std::uint64_t>(stage_.random.between(1, 12));
  MemoryDisk::Faults& faults = disk.faults;
  faults.part = static_cast<std::uint32_t>(stage_.random.below(256));
  switch (stage_.random.below(3)) {
    case 0:
      faults.kill_before = at;
      break;
    case 1:
      faults.kill_torn = at;
      break;
    default:
      faults.kill_after = at;
      break;
  }
  // A start writes more than a turn: have one come along.
  if (stage_.random.below(2) == 0) kill_now(site);
}

void TroubleMaker::fail_operation(Site& site) {
  MemoryDisk& disk = site.machine().disk;
  disk.faults.part = static_cast<std::uint32_t>(stage_.random.below(256));
  disk.faults.fail = disk.operations + static_cast<std::uint64_t>(stage_.random.between(1, 8));
  if (stage_.random.below(4) == 0) kill_now(site);
}

void TroubleMaker::fill_disk(Site& site) {
  kill_now(site);
  lose_directory(site);
  MemoryDisk& disk = site.machine().disk;
  disk.faults.full = true;
  stage_.after(stage_.random.between(50, 400), [&disk] { disk.faults.full = false; });
}

void TroubleMaker::cut_power(Machine& machine) {
  bool unsynced = false;
  bool clean = false;
  for (const auto& site : sites_) {
    if (&site->machine() != &machine || site->retired()) continue;
    unsynced = unsynced || machine.has_unsynced_sectors(site->state_path());
    clean = clean || (!site->running() && !site->mirror().image().scopes.empty() &&
                      site->mirror().image().scopes.begin()->second.state == ScopeState::clean);
    site->kill();
    site->mirror().disturb();
    site->pages().pages.clear();
  }
  stage_.happened(Kind::power_cut, 0);
  if (unsynced) stage_.count(Kind::power_cut_unsynced);
  if (clean) stage_.count(Kind::power_cut_clean);
  machine.cut_power();
}

void TroubleMaker::remove_witness(Machine& machine) {
  stage_.happened(Kind::witness_removed, 0);
  machine.disk.folder(Machine::witness_path).names.clear();
  for (const auto& site : sites_) {
    if (&site->machine() == &machine) site->mirror().disturb();
  }
}

void TroubleMaker::rot(Site& site) {
  if (site.running()) site.kill();
  auto& names = site.machine().disk.folder(site.state_path()).names;
  const auto found = names.find(segment_names[stage_.random.below(2)]);
  if (found == names.end() || found->second->cached.empty()) return;
  MemoryDisk::Inode& inode = *found->second;
  std::int64_t most = stage_.random.below(2) == 0 ? 20'000 : 1'500;
  // With `resume` the manual promises nothing for the last record that was synced.
  if (stage_.profile.after_power_loss == AfterPowerLoss::resume) most = kHeaderSize;
  const auto size = static_cast<std::int64_t>(inode.cached.size());
  const auto at = static_cast<std::size_t>(stage_.random.below(std::min(most, size)));
  flip_bit(site, inode, at);
}

void TroubleMaker::flip_bit(Site& site, MemoryDisk::Inode& inode, std::size_t at) {
  inode.cached[at] ^= static_cast<std::uint8_t>(1 << stage_.random.below(8));
  if (at < inode.medium.size()) inode.medium[at] = inode.cached[at];
  stage_.happened(Kind::rot, site.number(), static_cast<std::int64_t>(at));
  site.mirror().damage();
}

// What comes behind a rotation: an end before anything is synced; or, when much has been issued in
// the other file, that one rots and the power fails, and a start is left with the older one.
void TroubleMaker::fill_log(Site& site) {
  const std::int64_t how = stage_.random.below(3);
  site.fill_log(how == 0);
  if (how != 1 || !may_cut_power()) return;
  stage_.after(stage_.random.between(100, 3'000), [this, &site] {
    if (!stage_.calm && !site.detached()) rot_newest(site);
  });
}

void TroubleMaker::rot_newest(Site& site) {
  if (!site.running()) return;
  site.kill();
  MemoryDisk::Inode* newest = nullptr;
  std::uint64_t highest = 0;
  for (const auto& [name, inode] : site.machine().disk.folder(site.state_path()).names) {
    const bool of_the_log = name == segment_names[0] || name == segment_names[1];
    if (!of_the_log || inode->cached.size() < static_cast<std::size_t>(kHeaderSize)) continue;
    std::uint64_t number = 0;
    std::memcpy(&number, inode->cached.data() + kNumberOffset, sizeof(number));
    if (number <= highest) continue;
    highest = number;
    newest = inode.get();
  }
  if (newest == nullptr) return;
  flip_bit(site, *newest, static_cast<std::size_t>(stage_.random.below(kHeaderSize)));
  stage_.count(Kind::rot_and_power);
  cut_power(site.machine());
}

void TroubleMaker::forget_pages(Machine& machine) {
  bool lost = false;
  for (const auto& site : sites_) {
    if (&site->machine() != &machine) continue;
    for (const auto& [name, inode] : machine.disk.folder(site->state_path()).names) {
      if (inode->lost.empty()) continue;
      lost = true;
      site->mirror().disturb();
    }
  }
  if (!lost) return;
  stage_.happened(Kind::lost_pages, 0);
  machine.disk.evict_lost();
}

// --- copies
// --------------------------------------------------------------------------------------

void TroubleMaker::retire_one() {
  std::int64_t used = std::count_if(sites_.begin(), sites_.end(), in_use);
  for (const auto& site : sites_) {
    if (used < static_cast<std::int64_t>(kSitesAtOnce)) return;
    // The first of each machine stay.
    if (site->retired() || site->number() <= stage_.profile.machines) continue;
    site->retire();
    --used;
  }
}

// Next to the original, or on another machine.
void TroubleMaker::clone(Site& site) {
  MemoryDisk::Contents contents = site.machine().disk.contents(site.state_path());
  const Copy* older = copy_of(site);
  if (older != nullptr && stage_.random.below(2) == 0) contents = older->contents;
  if (contents.empty()) return;
  retire_one();
  stage_.happened(site.running() ? Kind::clone_of_running : Kind::clone_of_stopped, site.number());
  const std::int64_t copies = stage_.random.below(4) == 0 ? 2 : 1;
  for (std::int64_t at = 0; at < copies; ++at) {
    Machine& machine = any_machine();
    const std::string path = "clone-" + std::to_string(++clones_);
    machine.disk.replace(path, contents);
    add_site_(machine, path).start_soon();
  }
}

void TroubleMaker::begin_copy(Site& site) {
  copy_on(site, {&site, {}}, 0);
}

// Half a file at a time, in the order of their names, like a slow cp; a small one as a whole.
void TroubleMaker::copy_on(Site& site, Copy copy, std::size_t step) {
  if (site.retired()) return;
  const MemoryDisk::Contents now = site.machine().disk.contents(site.state_path());
  if (step / 2 >= now.size()) {
    copies_.push_back(std::move(copy));
    if (copies_.size() > kCopiesKept) copies_.erase(copies_.begin());
    return;
  }
  const auto& [name, bytes] = *std::next(now.begin(), static_cast<std::ptrdiff_t>(step / 2));
  std::vector<std::uint8_t>& into = copy.contents[name];
  if (step % 2 == 0) {
    const auto size = static_cast<std::int64_t>(bytes.size());
    const auto half =
        static_cast<std::ptrdiff_t>(size < kBlock ? size : stage_.random.below(size + 1));
    into.assign(bytes.begin(), bytes.begin() + half);
  } else if (bytes.size() > into.size()) {
    into.insert(into.end(), bytes.begin() + static_cast<std::ptrdiff_t>(into.size()), bytes.end());
  }
  stage_.after(stage_.random.between(0, 30), [this, &site, copy = std::move(copy), step]() mutable {
    copy_on(site, std::move(copy), step + 1);
  });
}

const TroubleMaker::Copy* TroubleMaker::copy_of(const Site& site) const {
  const auto found = std::find_if(copies_.begin(), copies_.end(),
                                  [&](const Copy& copy) { return copy.of == &site; });
  return found == copies_.end() ? nullptr : &*found;
}

void TroubleMaker::restore(Site& site) {
  const Copy* copy = copy_of(site);
  if (copy == nullptr) return;
  // Where it was stopped in an orderly way it stays stopped.
  kill_now(site);
  site.forget();
  const bool in_place = stage_.random.below(2) == 0;
  stage_.happened(in_place ? Kind::restored_in_place : Kind::restored_again, site.number());
  MemoryDisk& disk = site.machine().disk;
  if (in_place) {
    disk.overwrite(site.state_path(), copy->contents);
  } else {
    disk.replace(site.state_path(), copy->contents, stage_.random.below(2) == 0);
  }
  if (stage_.random.below(2) == 0) copies_.erase(copies_.begin() + (copy - copies_.data()));
}

// The running daemon keeps files that nothing leads to any more, and another one is started on what
// is there now.
void TroubleMaker::replace_running(Site& site) {
  if (!site.running() || site.number() <= stage_.profile.machines) return;
  MemoryDisk& disk = site.machine().disk;
  const Copy* copy = copy_of(site);
  const bool older = copy != nullptr && stage_.random.below(2) == 0;
  disk.replace(site.state_path(), older ? copy->contents : disk.contents(site.state_path()));
  stage_.happened(Kind::replaced_while_running, site.number());
  site.detach();
  add_site_(site.machine(), site.state_path()).start_soon();
}

void TroubleMaker::lose_directory(Site& site) {
  if (site.running()) return;
  stage_.happened(Kind::directory_lost, site.number());
  site.forget();
  site.machine().disk.replace(site.state_path(), {});
}

// --- stores
// --------------------------------------------------------------------------------------

// The configuration names other databases for one life or some, and then the former ones again.
void TroubleMaker::change_database(Site& site) {
  site.name_databases(true);
  end_somehow(site);
  stage_.after(stage_.random.between(500, 6'000), [this, &site] {
    if (stage_.calm) return;
    site.name_databases(false);
    end_somehow(site);
  });
}

void TroubleMaker::end_somehow(Site& site) {
  if (stage_.random.below(2) == 0) return site.stop();
  kill_now(site);
}

// Hosts that were there notice; one that cannot know leases only when the counters were raised,
// which is what the manual asks for. Or an operator sees that it was the wrong database, puts the
// right one in place, and restarts the daemons: then nothing is lost.
void TroubleMaker::put_back_database() {
  Database& database = any_database();
  if (database.is_put_back()) return;
  database.back_up();
  stage_.after(stage_.random.between(500, 15'000), [this, &database] {
    if (stage_.calm) return;
    database.put_back();
    stage_.after(stage_.random.between(500, 20'000), [this, &database] {
      if (stage_.calm || stage_.random.below(2) == 0 || !database.put_right())
        return database.raise_all();
      for (const auto& site : sites_) end_somehow(*site);
    });
  });
}

void TroubleMaker::write_elsewhere() {
  const std::string name = any_key();
  for (Database* database : databases_) {
    database->take_elsewhere(name, stage_.random.below(2) == 0 ? 1 : 10);
  }
}

void TroubleMaker::spoil_counter() {
  Database& database = any_database();
  const std::string name = any_key();
  if (stage_.random.below(3) == 0) {
    database.remove(name);
  } else {
    database.lower(name);
  }
  stage_.after(stage_.random.between(500, 20'000), [&database, name] { database.repair(name); });
}

std::string TroubleMaker::any_key() {
  const char* const name = any_sequence();
  return name == Site::kSequenceNames[Site::kWithPeriods] ? any_site()->present_period() : name;
}

// --- clocks and periods
// --------------------------------------------------------------------------------------

bool TroubleMaker::clocks_stay() const {
  return stage_.time.monotonic_ms() < stage_.clocks_stay_until_ms;
}

void TroubleMaker::jump_clock(Machine& machine) {
  if (clocks_stay()) return;
  stage_.happened(Kind::clock_jumped, 0);
  const bool far =
      stage_.profile.clock_error_s > stage_.profile.retain_s && stage_.random.below(8) == 0;
  const std::int64_t most_ms = (far ? 60 * 86'400 : stage_.profile.clock_error_s) * 1'000LL;
  machine.set_clock(stage_.random.between(-most_ms, most_ms));
}

void TroubleMaker::let_days_pass() {
  if (clocks_stay()) return;
  stage_.happened(Kind::days_passed, 0);
  stage_.time.wall_set_ms += stage_.random.between(1, 40) * 86'400'000;
}

// What was asked for before a clock was set has its answer when the counters go. Where clocks lie,
// they go only when no other host can take a period that is over for a new one: it knows that it
// was later.
void TroubleMaker::purge(Site& site) {
  if (site.period_rule() == nullptr || clocks_stay()) return;
  // And while it lasts.
  stage_.clocks_stay_until_ms = stage_.time.monotonic_ms() + 2 * kAnsweredMs;
  if (stage_.random.below(2) == 0) site.machine().set_clock(0);
  stage_.after(kAnsweredMs, [this, &site] {
    if (site.retired()) return;
    const std::string present = site.present_period();
    const bool known = std::all_of(sites_.begin(), sites_.end(), [&](const auto& one) {
      return one->retired() || one.get() == &site || one->has_used(present);
    });
    if (known || !stage_.profile.clocks_lie()) site.purge();
  });
}

}  // namespace seqd::sim
