#include "daemon/os/page_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/membarrier.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "daemon/base/assertion.h"
#include "protocol/block_slot.h"

namespace seqd {
namespace {

using protocol::BlockSlot;
using protocol::kBlockPageBytes;
using protocol::kBlockSlotBytes;
using protocol::kBlockSlots;

constexpr std::string_view kEnding = ".page";
// A read that is under way while the client writes may give a part of each number. A client that
// was stopped writes twice more at most, so one of three equal reads is whole.
constexpr int kEqualReads = 3;
constexpr int kMostReads = 64;  // a client that writes longer breaks the protocol

long membarrier(int command) {
  return ::syscall(SYS_membarrier, command, 0, 0);
}

bool has_barrier() {
  const long known = membarrier(MEMBARRIER_CMD_QUERY);
  return known >= 0 && (known & MEMBARRIER_CMD_GLOBAL_EXPEDITED) != 0;
}

Status unavailable(const std::string& what, int error) {
  return {ErrorCode::UNAVAILABLE,
          "no page for blocks: " + what + ": " + std::generic_category().message(error)};
}

std::string prefix_of(const FileIdentity& state) {
  char text[64];
  const int length = std::snprintf(text, sizeof text, "seqd-%llx-%llx.",
                                   static_cast<unsigned long long>(state.device),
                                   static_cast<unsigned long long>(state.inode));
  ASSERT(length > 0 && static_cast<std::size_t>(length) < sizeof text);
  return {text, static_cast<std::size_t>(length)};
}

bool is_memory(int descriptor) {
  struct statfs facts {};
  return ::fstatfs(descriptor, &facts) == 0 &&
         static_cast<std::uint32_t>(facts.f_type) == TMPFS_MAGIC;
}

// A whole page that is ours; its client may have cut it.
bool is_page(int descriptor) {
  struct stat found {};
  return ::fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode) &&
         found.st_uid == ::geteuid() && found.st_size >= static_cast<off_t>(kBlockPageBytes);
}

off_t offset_of(std::uint32_t slot, std::size_t field) {
  ASSERT(slot < kBlockSlots);
  return static_cast<off_t>(slot * kBlockSlotBytes + field);
}

bool write_whole(int descriptor, const void* bytes, std::size_t size, off_t offset) {
  ssize_t put = 0;
  do {
    put = ::pwrite(descriptor, bytes, size, offset);
  } while (put < 0 && errno == EINTR);
  return put == static_cast<ssize_t>(size);
}

bool read_whole(int descriptor, BlockSlot& slot, off_t offset) {
  ssize_t got = 0;
  do {
    got = ::pread(descriptor, &slot, sizeof slot, offset);
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(sizeof slot);
}

// Stores, the state and clients need descriptors, too: pages have the lower half of them. The
// kernel gives the lowest number that is free.
bool leaves_descriptors(int descriptor) {
  rlimit files{};
  return ::getrlimit(RLIMIT_NOFILE, &files) != 0 ||
         static_cast<rlim_t>(descriptor) < files.rlim_cur / 2;
}

// How many IDs of an ended block were taken.
std::optional<std::int64_t> taken_of(int descriptor, const BlockPlace& place) {
  BlockSlot last;
  int equal = 0;
  for (int reads = 0; reads < kMostReads && equal < kEqualReads; ++reads) {
    BlockSlot slot;
    if (!read_whole(descriptor, slot, offset_of(place.slot, 0))) return std::nullopt;
    const bool same = equal > 0 && slot.taken == last.taken && slot.block == last.block;
    equal = same ? equal + 1 : 1;
    last = slot;
  }
  if (equal < kEqualReads) return std::nullopt;
  if (last.block != place.block) return 0;  // it was never published
  if (last.taken > static_cast<std::uint64_t>(place.count)) return std::nullopt;
  return static_cast<std::int64_t>(last.taken);
}

}  // namespace

std::string PageFiles::usual_place() {
  return "/dev/shm/seqd-" + std::to_string(::geteuid());
}

PageFiles::PageFiles(std::string directory, const FileIdentity& state)
    : path_(std::move(directory)), prefix_(prefix_of(state)), has_barrier_(has_barrier()) {}

std::unique_ptr<PageFiles> PageFiles::of(const Directory& state) {
  const Result<FileIdentity> identity = state.identity("");
  return identity.ok() ? std::make_unique<PageFiles>(usual_place(), *identity) : nullptr;
}

PageFiles::~PageFiles() {
  for (const auto& [client, descriptor] : pages_)
    if (descriptor >= 0) ::close(descriptor);
  if (directory_ >= 0) ::close(directory_);
}

std::string PageFiles::name(ClientId client) const {
  return prefix_ + std::to_string(client) + std::string(kEnding);
}

Status PageFiles::open_directory(bool make) {
  if (directory_ >= 0) return {};
  if (make && ::mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST)
    return unavailable(path_ + ": mkdir", errno);
  const int opened = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (opened < 0) return unavailable(path_ + ": open", errno);
  struct stat found {};
  const bool ours = ::fstat(opened, &found) == 0 && found.st_uid == ::geteuid() &&
                    (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  if (ours && is_memory(opened)) {
    directory_ = opened;
    return {};
  }
  ::close(opened);
  return {ErrorCode::UNAVAILABLE,
          "no page for blocks: " + path_ +
              (ours ? " is not on a tmpfs; mount one at /dev/shm"
                    : " is not of the daemon's user alone; remove it, or chown it and chmod 0700")};
}

Status PageFiles::open(ClientId client) {
  if (const auto found = pages_.find(client); found != pages_.end()) {
    if (found->second >= 0) return {};
    return {ErrorCode::UNAVAILABLE, "the page of this client's blocks was removed from " + path_ +
                                        "; there is another one when this connection has ended"};
  }
  if (!has_barrier_) {
    return {ErrorCode::UNAVAILABLE,
            "no page for blocks: the system has no membarrier (Linux 4.16, or a filter forbids "
            "it)"};
  }
  if (static_cast<std::int64_t>(pages_.size()) >= kMost) {
    return {ErrorCode::BUSY, std::to_string(kMost) +
                                 " clients have a page for blocks, which is "
                                 "all; take IDs with next"};
  }
  if (Status status = open_directory(true); !status.ok()) return status;
  return make(client);
}

Status PageFiles::make(ClientId client) {
  const std::string file = name(client);
  const auto make_new = [&] {
    return ::openat(directory_, file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    0600);
  };
  int descriptor = make_new();
  // Of a client that has no blocks in it; keep_only() has those that have.
  if (descriptor < 0 && errno == EEXIST && ::unlinkat(directory_, file.c_str(), 0) == 0)
    descriptor = make_new();
  if (descriptor < 0) {
    const int error = errno;
    // The directory was removed: the next call makes it again.
    if (error == ENOENT) ::close(std::exchange(directory_, -1));
    return unavailable(path_ + ": open", error);
  }
  if (!leaves_descriptors(descriptor)) {
    ::close(descriptor);
    ::unlinkat(directory_, file.c_str(), 0);
    return {
        ErrorCode::BUSY,
        "too few descriptors are left for another page (LimitNOFILE of the daemon's unit); take "
        "IDs with next"};
  }
  // With room for all of it: a store into a page that a full tmpfs cannot give is SIGBUS.
  int error = 0;
  do {
    error = ::posix_fallocate(descriptor, 0, static_cast<off_t>(kBlockPageBytes));
  } while (error == EINTR);
  if (error != 0) {
    ::unlinkat(directory_, file.c_str(), 0);
    ::close(descriptor);
    return unavailable(path_ + ": fallocate", error);
  }
  pages_.emplace(client, descriptor);
  return {};
}

int PageFiles::find(ClientId client) const {
  if (directory_ < 0) return -1;
  const int found =
      ::openat(directory_, name(client).c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (found < 0 || is_page(found)) return found;
  ::close(found);
  return -1;
}

int PageFiles::descriptor(ClientId client) const {
  const auto found = pages_.find(client);
  ASSERT(found != pages_.end() && found->second >= 0);
  return found->second;
}

Status PageFiles::publish(const BlockPlace& place) {
  const auto found = pages_.find(place.client);
  const BlockSlot slot{place.block, static_cast<std::uint64_t>(place.count), 0};
  if (found == pages_.end() || found->second < 0)
    return {ErrorCode::UNAVAILABLE, "the client has no page for blocks: it asks for its page"};
  if (place.slot >= kBlockSlots || place.count < 0)
    return {ErrorCode::INTERNAL, "a block without a place"};
  if (!write_whole(found->second, &slot, sizeof slot, offset_of(place.slot, 0)))
    return unavailable(path_ + ": pwrite", errno);
  return {};
}

// False: it is not known whether IDs may still be taken from it.
bool PageFiles::end(const BlockPlace& place) const {
  const auto found = pages_.find(place.client);
  if (found == pages_.end() || found->second < 0 || place.slot >= kBlockSlots) return false;
  // In a page that was cut there would be zeros where the client had said what it took.
  if (!is_page(found->second)) return false;
  const std::uint64_t none = 0;
  return write_whole(found->second, &none, sizeof none,
                     offset_of(place.slot, offsetof(BlockSlot, limit)));
}

std::vector<std::optional<std::int64_t>> PageFiles::revoke(std::span<const BlockPlace> places) {
  std::vector<std::optional<std::int64_t>> taken(places.size());
  std::vector<bool> ended(places.size());
  for (std::size_t at = 0; at < places.size(); ++at) ended[at] = end(places[at]);
  // From here on a client that takes an ID sees the limit, or its store of `taken` is seen below.
  if (places.empty() || !has_barrier_ || membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED) != 0)
    return taken;
  for (std::size_t at = 0; at < places.size(); ++at)
    if (ended[at]) taken[at] = taken_of(pages_.at(places[at].client), places[at]);
  return taken;
}

void PageFiles::remove(ClientId client) {
  const auto found = pages_.find(client);
  if (found == pages_.end()) return;
  if (found->second >= 0) ::close(found->second);
  pages_.erase(found);
  if (directory_ >= 0) ::unlinkat(directory_, name(client).c_str(), 0);
}

void PageFiles::keep_only(const std::set<ClientId>& clients) {
  ASSERT(pages_.empty());
  static_cast<void>(open_directory(false).ok());  // where there is none, every page is lost
  for (const ClientId client : clients) pages_.emplace(client, find(client));
  if (directory_ < 0) return;
  const int again = ::openat(directory_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const listed = again < 0 ? nullptr : ::fdopendir(again);
  if (listed == nullptr) {
    if (again >= 0) ::close(again);
    return;
  }
  while (const dirent* const entry = ::readdir(listed)) {
    std::string_view file = entry->d_name;
    if (!file.starts_with(prefix_) || !file.ends_with(kEnding)) continue;
    file = file.substr(prefix_.size(), file.size() - prefix_.size() - kEnding.size());
    ClientId client = 0;
    const auto [end, error] = std::from_chars(file.data(), file.data() + file.size(), client);
    const bool whole = error == std::errc() && end == file.data() + file.size();
    if (!whole || !clients.contains(client)) ::unlinkat(directory_, entry->d_name, 0);
  }
  ::closedir(listed);
}

}  // namespace seqd
