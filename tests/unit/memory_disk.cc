#include "tests/unit/memory_disk.h"

#include <algorithm>
#include <utility>

namespace seqd {
namespace {

constexpr std::size_t sector = 512;

Status injected(const char* call) {
  return {ErrorCode::STATE_IO, std::string(call) + ": injected failure"};
}

Status no_space(const char* call) {
  return {ErrorCode::STATE_IO, std::string(call) + ": no space left on the device"};
}

class MemoryFile final : public File {
 public:
  MemoryFile(MemoryDisk& disk, std::shared_ptr<MemoryDisk::Inode> inode)
      : disk_(disk), inode_(std::move(inode)) {
    inode_->locked = true;
  }
  ~MemoryFile() override { inode_->locked = false; }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::uint8_t> into) override {
    if (offset >= inode_->cached.size()) return std::size_t{0};
    const std::size_t count = std::min<std::size_t>(into.size(), inode_->cached.size() - offset);
    std::copy_n(inode_->cached.begin() + static_cast<std::ptrdiff_t>(offset), count, into.begin());
    return count;
  }

  Status write_at(std::uint64_t offset, std::span<const std::uint8_t> bytes) override {
    switch (disk_.step()) {
      case MemoryDisk::Step::fail:
        store(offset, bytes.first(part_of(bytes.size())));
        return injected("write");
      case MemoryDisk::Step::die_torn:
        store(offset, bytes.first(part_of(bytes.size())));
        throw Killed{};
      case MemoryDisk::Step::die_after:
        store(offset, bytes);
        throw Killed{};
      case MemoryDisk::Step::go_on:
        store(offset, bytes);
    }
    return {};
  }

  Status sync_data() override {
    const MemoryDisk::Step step = disk_.step();
    if (step == MemoryDisk::Step::die_torn) throw Killed{};
    const std::uint64_t from = disk_.faults.fail_syncs_from;
    if (step == MemoryDisk::Step::fail || (from > 0 && disk_.operations >= from)) {
      // As Linux does it: the pages are clean now, and not on the medium.
      inode_->lost.insert(inode_->unsynced.begin(), inode_->unsynced.end());
      inode_->unsynced.clear();
      return injected("sync");
    }
    flush();
    if (step == MemoryDisk::Step::die_after) throw Killed{};
    return {};
  }

  Status allocate(std::uint64_t size) override {
    const MemoryDisk::Step step = disk_.step();
    if (step == MemoryDisk::Step::die_torn) throw Killed{};
    if (step == MemoryDisk::Step::fail) return injected("allocate");
    if (inode_->cached.size() < size && disk_.faults.full) return no_space("allocate");
    if (inode_->cached.size() < size) {
      inode_->cached.resize(size);
      flush();
    }
    if (step == MemoryDisk::Step::die_after) throw Killed{};
    return {};
  }

  Result<std::uint64_t> size() override { return std::uint64_t{inode_->cached.size()}; }
  FileIdentity identity() const override { return {1, inode_->number}; }

 private:
  std::size_t part_of(std::size_t size) const { return size * disk_.faults.part / 256; }
  void store(std::uint64_t offset, std::span<const std::uint8_t> bytes) {
    if (bytes.empty()) return;
    if (inode_->cached.size() < offset + bytes.size()) inode_->cached.resize(offset + bytes.size());
    std::copy(bytes.begin(), bytes.end(),
              inode_->cached.begin() + static_cast<std::ptrdiff_t>(offset));
    for (std::size_t at = offset / sector; at <= (offset + bytes.size() - 1) / sector; ++at) {
      inode_->unsynced.insert(at);
      inode_->lost.erase(at);
    }
  }
  void flush() {
    inode_->medium.resize(inode_->cached.size());
    for (const std::size_t at : inode_->unsynced) {
      const std::size_t end = std::min((at + 1) * sector, inode_->cached.size());
      for (std::size_t byte = at * sector; byte < end; ++byte) {
        inode_->medium[byte] = inode_->cached[byte];
      }
    }
    inode_->unsynced.clear();
  }

  MemoryDisk& disk_;
  const std::shared_ptr<MemoryDisk::Inode> inode_;
};

class MemoryMapping final : public SharedMemory {
 public:
  MemoryMapping(std::unique_ptr<File> file, std::shared_ptr<MemoryDisk::Inode> inode,
                std::size_t size)
      : file_(std::move(file)), inode_(std::move(inode)), size_(size) {}
  std::span<std::uint8_t> bytes() override { return std::span(inode_->mapped).first(size_); }

 private:
  const std::unique_ptr<File> file_;
  const std::shared_ptr<MemoryDisk::Inode> inode_;
  const std::size_t size_;
};

class MemoryDirectory final : public Directory {
 public:
  MemoryDirectory(MemoryDisk& disk, std::string path)
      : disk_(disk), path_(std::move(path)), shared_(disk_.share(path_)), folder_(*shared_) {}

  Result<std::unique_ptr<File>> open(const std::string& name) override {
    MemoryDisk::Step step = MemoryDisk::Step::go_on;
    auto found = folder_.names.find(name);
    if (found == folder_.names.end()) {
      step = disk_.step();
      if (step == MemoryDisk::Step::die_torn) throw Killed{};
      if (step == MemoryDisk::Step::fail) return injected("open");
      if (disk_.faults.full) return no_space("open");
      auto inode = std::make_shared<MemoryDisk::Inode>();
      inode->number = disk_.next_number++;
      found = folder_.names.emplace(name, std::move(inode)).first;
    }
    if (step == MemoryDisk::Step::die_after) throw Killed{};
    if (found->second->locked) return {ErrorCode::FENCED, name + " is in use"};
    return std::unique_ptr<File>(std::make_unique<MemoryFile>(disk_, found->second));
  }

  Result<std::unique_ptr<SharedMemory>> map(const std::string& name, std::size_t size) override {
    Result<std::unique_ptr<File>> file = open(name);
    if (!file.ok()) return file.status();
    return std::unique_ptr<SharedMemory>(
        std::make_unique<MemoryMapping>(std::move(*file), folder_.names[name], size));
  }

  Status rename(const std::string& from, const std::string& to) override {
    const MemoryDisk::Step step = disk_.step();
    if (step == MemoryDisk::Step::die_torn) throw Killed{};
    if (step == MemoryDisk::Step::fail) return injected("rename");
    folder_.names[to] = folder_.names[from];
    folder_.names.erase(from);
    if (step == MemoryDisk::Step::die_after) throw Killed{};
    return {};
  }

  Status sync() override {
    const MemoryDisk::Step step = disk_.step();
    if (step == MemoryDisk::Step::die_torn) throw Killed{};
    if (step == MemoryDisk::Step::fail) return injected("sync of the directory");
    folder_.synced_names = folder_.names;
    if (step == MemoryDisk::Step::die_after) throw Killed{};
    return {};
  }

  Result<FileIdentity> identity(const std::string& name) const override {
    const MemoryDisk::Folder& now = disk_.folder(path_);
    if (name.empty()) return FileIdentity{1, now.number};
    const auto found = now.names.find(name);
    if (found == now.names.end()) return {ErrorCode::STATE_IO, name + ": no such file"};
    return FileIdentity{1, found->second->number};
  }

  FileSystemKind kind() const override { return folder_.kind; }
  const std::string& path() const override { return path_; }

 private:
  MemoryDisk& disk_;
  const std::string path_;
  const std::shared_ptr<MemoryDisk::Folder> shared_;
  MemoryDisk::Folder& folder_;
};

}  // namespace

std::unique_ptr<Directory> MemoryDisk::open(const std::string& path) {
  return std::make_unique<MemoryDirectory>(*this, path);
}

std::shared_ptr<MemoryDisk::Folder> MemoryDisk::share(const std::string& path) {
  std::shared_ptr<Folder>& folder = folders_[path];
  if (!folder) {
    folder = std::make_shared<Folder>();
    folder->number = next_number++;
  }
  return folder;
}

std::vector<std::uint8_t>& MemoryDisk::content(const std::string& path, const std::string& name) {
  return folder(path).names.at(name)->cached;
}

MemoryDisk::Contents MemoryDisk::contents(const std::string& path) {
  Contents out;
  for (const auto& [name, inode] : folder(path).names) out[name] = inode->cached;
  return out;
}

void MemoryDisk::replace(const std::string& path, const Contents& contents, bool reuse_number) {
  const FileSystemKind kind = folder(path).kind;
  const std::uint64_t number = folder(path).number;
  folders_.erase(path);
  Folder& made = folder(path);
  made.kind = kind;
  if (reuse_number) made.number = number;
  for (const auto& [name, bytes] : contents) {
    auto inode = std::make_shared<Inode>();
    inode->number = next_number++;
    inode->cached = inode->medium = bytes;
    made.names[name] = inode;
  }
  made.synced_names = made.names;
}

void MemoryDisk::overwrite(const std::string& path, const Contents& contents) {
  Folder& into = folder(path);
  for (const auto& [name, bytes] : contents) {
    std::shared_ptr<Inode>& target = into.names[name];
    if (!target) {
      target = std::make_shared<Inode>();
      target->number = next_number++;
    }
    target->cached = target->medium = bytes;
    target->unsynced.clear();
    target->lost.clear();
  }
  into.synced_names = into.names;
}

void MemoryDisk::copy(const std::string& from, const std::string& to) {
  replace(to, contents(from));
  folder(to).kind = folder(from).kind;
}

void MemoryDisk::copy_over(const std::string& from, const std::string& to) {
  overwrite(to, contents(from));
}

void MemoryDisk::move(const std::string& from, const std::string& to) {
  folders_[to] = folders_.at(from);
  folders_.erase(from);
}

void MemoryDisk::evict_lost() {
  for (auto& [path, folder] : folders_) {
    for (auto& [name, inode] : folder->names) {
      inode->medium.resize(inode->cached.size());
      for (const std::size_t at : inode->lost) {
        const std::size_t end = std::min((at + 1) * sector, inode->cached.size());
        for (std::size_t byte = at * sector; byte < end; ++byte) {
          inode->cached[byte] = inode->medium[byte];
        }
      }
      inode->lost.clear();
    }
  }
}

void MemoryDisk::release_locks() {
  for (auto& [path, folder] : folders_) {
    for (auto& [name, inode] : folder->names) inode->locked = false;
  }
}

MemoryDisk::Step MemoryDisk::step() {
  ++operations;
  if (operations == faults.kill_before) throw Killed{};
  // A torn write is the write's own business; for the rest it is as if the call was never made.
  if (operations == faults.kill_torn) return Step::die_torn;
  if (operations == faults.fail) return Step::fail;
  return operations == faults.kill_after ? Step::die_after : Step::go_on;
}

}  // namespace seqd
