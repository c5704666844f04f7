// Of TroubleMaker: processes that are killed, disks that fail, and what a power cut or rot leaves.
#include <algorithm>
#include <cstring>

#include "tests/sim/trouble.h"

namespace seqd::sim {
namespace {

constexpr std::int64_t kHeaderSize = 80;   // of a log file, check sum included
constexpr std::size_t kNumberOffset = 16;  // of the segment's number in there

}  // namespace

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

}  // namespace seqd::sim
