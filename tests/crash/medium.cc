#include "tests/crash/medium.h"

#include <algorithm>

#include "daemon/base/assertion.h"
#include "tests/unit/small_daemon.h"

namespace seqd {
namespace {

std::uint64_t mixed(std::uint64_t seed, std::uint64_t value) {
  return CountingRandom(seed * 0x9e3779b97f4a7c15 + value).next();
}

std::uint64_t hash_of(std::span<const std::uint8_t> bytes) {
  std::uint64_t hash = 0;
  bool blank = true;
  for (const std::uint8_t byte : bytes) {
    hash = (hash ^ byte) * 0x100000001b3;
    blank = blank && byte == 0;
  }
  return blank ? 0 : mixed(1, hash);
}

}  // namespace

void Medium::created(const std::string& name, std::uint64_t inode) {
  Names names = names_.back();
  names[name] = inode;
  names_.push_back(std::move(names));
  files_[inode];
}

void Medium::renamed(const std::string& from, const std::string& to) {
  Names names = names_.back();
  names[to] = names.at(from);
  names.erase(from);
  names_.push_back(std::move(names));
}

void Medium::names_synced() {
  names_.erase(names_.begin(), names_.end() - 1);
}

void Medium::allocated(std::uint64_t inode, std::size_t size) {
  File& file = files_[inode];
  const std::size_t sectors = (size + sector_size - 1) / sector_size;
  if (file.sectors.size() < sectors) file.sectors.resize(sectors);
}

void Medium::wrote(std::uint64_t inode, std::size_t offset, std::span<const std::uint8_t> bytes) {
  File& file = files_[inode];
  allocated(inode, offset + bytes.size());
  while (!bytes.empty()) {
    const std::size_t inside = offset % sector_size;
    const std::size_t count = std::min(bytes.size(), sector_size - inside);
    Sector& sector = file.sectors[offset / sector_size];
    Content content = sector.versions.back();
    std::copy_n(bytes.begin(), count, content.bytes.begin() + static_cast<std::ptrdiff_t>(inside));
    content.hash = hash_of(content.bytes);
    sector.dirty = true;
    if (content.hash != sector.versions.back().hash) sector.versions.push_back(content);
    offset += count;
    bytes = bytes.subspan(count);
  }
}

void Medium::sync_begins(std::uint64_t inode) {
  File& file = files_[inode];
  ASSERT(!file.syncing);
  file.syncing = true;
  for (Sector& sector : file.sectors) sector.covered = sector.dirty ? sector.versions.size() : 0;
}

void Medium::sync_ended(std::uint64_t inode, bool good) {
  File& file = files_[inode];
  file.syncing = false;
  for (Sector& sector : file.sectors) {
    const std::size_t covered = std::exchange(sector.covered, 0);
    if (covered == 0) continue;
    // Written again meanwhile: that part waits for the next sync.
    if (covered == sector.versions.size()) sector.dirty = false;
    if (!good) continue;
    sector.versions.erase(sector.versions.begin(),
                          sector.versions.begin() + static_cast<std::ptrdiff_t>(covered) - 1);
  }
}

void Medium::settle(const State& state) {
  names_ = {names_[state.names]};
  std::size_t next = 0;
  for (auto& [inode, file] : files_) {
    file.syncing = false;
    for (Sector& sector : file.sectors) {
      const std::size_t chosen = sector.versions.size() > 1 ? state.sectors[next++] : 0;
      sector = Sector{{sector.versions[chosen]}, false, 0};
    }
  }
}

std::vector<const Medium::Sector*> Medium::uncertain() const {
  std::vector<const Sector*> found;
  for (const auto& [inode, file] : files_) {
    for (const Sector& sector : file.sectors) {
      if (sector.versions.size() > 1) found.push_back(&sector);
    }
  }
  return found;
}

std::vector<std::size_t> Medium::counts() const {
  std::vector<std::size_t> counts;
  for (const Sector* sector : uncertain()) counts.push_back(sector->versions.size());
  return counts;
}

Medium::State Medium::newest() const {
  State state{names_.size() - 1, counts()};
  for (std::size_t& version : state.sectors) --version;
  return state;
}

void Medium::enumerate(std::size_t all_below, std::size_t random, std::uint64_t seed,
                       const std::function<void(const State&)>& visit) const {
  const std::vector<std::size_t> versions = counts();
  std::size_t product = names_.size();
  for (const std::size_t count : versions) product = std::min(product * count, all_below + 1);
  State state = oldest();
  if (product <= all_below) {
    for (std::size_t number = 0; number < product; ++number) {
      std::size_t rest = number;
      for (std::size_t at = 0; at < versions.size(); ++at) {
        state.sectors[at] = rest % versions[at];
        rest /= versions[at];
      }
      state.names = rest;
      visit(state);
    }
    return;
  }
  const State old = oldest();
  const State all = newest();
  visit(old);
  visit(all);
  for (std::size_t at = 0; at < versions.size(); ++at) {
    for (std::size_t version = 1; version < versions[at]; ++version) {
      state = old;
      state.names = all.names;
      state.sectors[at] = version;
      visit(state);
    }
    for (std::size_t version = 0; version + 1 < versions[at]; ++version) {
      state = all;
      state.sectors[at] = version;
      visit(state);
    }
    state = old;
    state.names = all.names;
    std::copy_n(all.sectors.begin(), at, state.sectors.begin());
    visit(state);
  }
  CountingRandom chance(seed);
  for (std::size_t number = 0; number < random; ++number) {
    state.names = chance.next() % names_.size();
    for (std::size_t at = 0; at < versions.size(); ++at) {
      state.sectors[at] = chance.next() % versions[at];
    }
    visit(state);
  }
}

std::map<std::string, Medium::Bytes> Medium::files(const State& state) const {
  std::map<std::uint64_t, Bytes> by_inode;
  std::size_t next = 0;
  for (const auto& [inode, file] : files_) {
    Bytes& bytes = by_inode[inode];
    bytes.reserve(file.sectors.size() * sector_size);
    for (const Sector& sector : file.sectors) {
      const std::size_t chosen = sector.versions.size() > 1 ? state.sectors[next++] : 0;
      const auto& content = sector.versions[chosen].bytes;
      bytes.insert(bytes.end(), content.begin(), content.end());
    }
  }
  std::map<std::string, Bytes> files;
  for (const auto& [name, inode] : names_[state.names]) files[name] = by_inode[inode];
  return files;
}

std::uint64_t Medium::fingerprint(const State& state) const {
  std::uint64_t print = 0;
  std::size_t next = 0;
  std::map<std::uint64_t, std::uint64_t> by_inode;
  for (const auto& [inode, file] : files_) {
    std::uint64_t& sum = by_inode[inode];
    sum = file.sectors.size();
    for (std::size_t at = 0; at < file.sectors.size(); ++at) {
      const Sector& sector = file.sectors[at];
      const std::size_t chosen = sector.versions.size() > 1 ? state.sectors[next++] : 0;
      if (sector.versions[chosen].hash != 0) sum += mixed(at, sector.versions[chosen].hash);
    }
  }
  for (const auto& [name, inode] : names_[state.names]) {
    print += mixed(hash_of({reinterpret_cast<const std::uint8_t*>(name.data()), name.size()}),
                   by_inode[inode]);
  }
  return print;
}

}  // namespace seqd
