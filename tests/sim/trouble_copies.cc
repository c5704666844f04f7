// Of TroubleMaker: directories of state that are copied, cloned, restored, replaced and lost.
#include <algorithm>
#include <utility>

#include "tests/sim/trouble.h"

namespace seqd::sim {
namespace {

constexpr std::size_t kCopiesKept = 6;
constexpr std::size_t kSitesAtOnce = 6;
constexpr std::int64_t kBlock = 4096;

bool in_use(const std::unique_ptr<Site>& site) {
  return !site->retired();
}

}  // namespace

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

}  // namespace seqd::sim
