// MemoryDisk: directories in memory that behave as badly as real ones may: writes sit in a cache
// until they are synced, a power cut keeps any subset of the unsynced 512-byte sectors, the n-th
// operation fails or is the last one of the process (it throws Killed). One thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "daemon/base/files/files.h"

namespace seqd {

// Thrown out of the operation at which the process dies. Whoever catches it destroys what lived in
// that process.
struct Killed {};

class MemoryDisk {
 public:
  struct Inode {
    std::uint64_t number = 0;
    std::vector<std::uint8_t> cached;
    std::vector<std::uint8_t> medium;
    std::set<std::size_t> unsynced;  // sectors that differ
    std::set<std::size_t> lost;      // sectors a failed sync has given up: cached only, and clean
    bool locked = false;
    alignas(64) std::array<std::uint8_t, std::size_t{80} << 10> mapped = {};
  };
  struct Folder {
    std::uint64_t number = 0;
    FileSystemKind kind = FileSystemKind::local;
    std::map<std::string, std::shared_ptr<Inode>> names;
    std::map<std::string, std::shared_ptr<Inode>> synced_names;
  };
  // What happens at the operation of that number; 0 never. Operations are those that change
  // something: create, write, sync, allocate, rename.
  struct Faults {
    std::uint64_t kill_before = 0;
    std::uint64_t kill_torn = 0;  // a write is half done; like kill_before for the rest
    std::uint64_t kill_after = 0;
    std::uint64_t fail = 0;
    std::uint64_t fail_syncs_from = 0;
    std::uint32_t part = 128;  // how much of a write that is torn or fails is done, in 256ths
    bool full = false;         // no room for a file that is made or grows
  };
  using Contents = std::map<std::string, std::vector<std::uint8_t>>;

  // The process's view. Must not outlive the disk.
  std::unique_ptr<Directory> open(const std::string& path);
  std::shared_ptr<Folder> share(const std::string& path);
  Folder& folder(const std::string& path) { return *share(path); }
  std::vector<std::uint8_t>& content(const std::string& path, const std::string& name);

  void set_kind(const std::string& path, FileSystemKind kind) { folder(path).kind = kind; }
  // The files of a directory, as whoever reads them now sees them.
  Contents contents(const std::string& path);
  // The path leads to a new directory with new inodes and these bytes (rm -r, cp -a). A file system
  // may give the new directory the number of the old one.
  void replace(const std::string& path, const Contents& contents, bool reuse_number = false);
  // These bytes in the inodes that are there; what is missing is made (cp -r over them).
  void overwrite(const std::string& path, const Contents& contents);
  // A new directory with new inodes and the bytes of the old (cp -a).
  void copy(const std::string& from, const std::string& to);
  // New bytes in the same inodes (cp over them).
  void copy_over(const std::string& from, const std::string& to);
  // The path leads to another directory from now on.
  void move(const std::string& from, const std::string& to);

  // Of every unsynced sector keeps the new bytes when `keeps()` says so. Memory folders are
  // emptied.
  template <typename Keeps>
  void power_cut(Keeps keeps);
  // What a failed sync has lost is forgotten by the cache, too.
  void evict_lost();
  // The dead process's locks.
  void release_locks();

  Faults faults;
  std::uint64_t operations = 0;

  enum class Step { go_on, fail, die_torn, die_after };
  Step step();
  std::uint64_t next_number = 100;

 private:
  std::map<std::string, std::shared_ptr<Folder>> folders_;
};

template <typename Keeps>
void MemoryDisk::power_cut(Keeps keeps) {
  constexpr std::size_t sector = 512;
  for (auto& [path, folder] : folders_) {
    if (folder->kind == FileSystemKind::memory) {
      folder->names.clear();
      continue;
    }
    if (folder->names != folder->synced_names && !keeps()) folder->names = folder->synced_names;
    for (auto& [name, inode] : folder->names) {
      inode->medium.resize(inode->cached.size());
      for (const std::size_t at : inode->unsynced) {
        if (at * sector >= inode->cached.size() || !keeps()) continue;
        const std::size_t end = std::min((at + 1) * sector, inode->cached.size());
        for (std::size_t byte = at * sector; byte < end; ++byte) {
          inode->medium[byte] = inode->cached[byte];
        }
      }
      inode->cached = inode->medium;
      inode->unsynced.clear();
      inode->lost.clear();
    }
    folder->synced_names = folder->names;
  }
}

}  // namespace seqd
