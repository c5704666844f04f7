#include "daemon/os/shared_segments.h"

#include <sys/ipc.h>
#include <sys/shm.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

// The name stands in front of the mapped bytes, because other programs may use the same key.
constexpr std::size_t kNameSize = 128;
constexpr int kMostTries = 8;

Status failed(const char* call) {
  return {ErrorCode::STATE_IO,
          std::string(kSharedSegments) + ": " + call + ": " + std::strerror(errno)};
}

// FNV-1a; 0 is IPC_PRIVATE.
key_t key_of(std::string_view name, int attempt) {
  std::uint32_t hash = 2'166'136'261U;
  for (const char c : name) hash = (hash ^ static_cast<std::uint8_t>(c)) * 16'777'619U;
  hash += static_cast<std::uint32_t>(attempt);
  return static_cast<key_t>(hash == 0 ? 1 : hash);
}

class Segment final : public SharedMemory {
 public:
  Segment(void* at, std::size_t size) : at_(static_cast<std::uint8_t*>(at)), size_(size) {
    ASSERT(size_ > kNameSize);
  }
  ~Segment() override { shmdt(at_); }
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;
  std::span<std::uint8_t> bytes() override { return {at_ + kNameSize, size_ - kNameSize}; }
  bool has_name(std::string_view name) const {
    return std::string_view(reinterpret_cast<const char*>(at_), name.size()) == name &&
           at_[name.size()] == 0;
  }
  void set_name(std::string_view name) {
    ASSERT(name.size() < kNameSize);
    std::memcpy(at_, name.data(), name.size());
  }

 private:
  std::uint8_t* const at_;
  const std::size_t size_;
};

// Whether only this user can have made it and can write to it, and it has not been removed.
bool is_ours(const shmid_ds& facts) {
  return facts.shm_perm.uid == geteuid() && facts.shm_perm.cuid == geteuid() &&
         (facts.shm_perm.mode & (SHM_DEST | 077)) == 0;
}

struct Found {
  int id = -1;
  std::unique_ptr<Segment> segment;
};

// The segment with that key if it has that name; nothing: it is another's. `made`: it is new.
std::optional<Found> attach(int id, std::string_view name, std::size_t size, bool made) {
  shmid_ds facts{};
  if (shmctl(id, IPC_STAT, &facts) != 0 || !is_ours(facts)) return std::nullopt;
  if (facts.shm_segsz <= kNameSize || (size != 0 && facts.shm_segsz != size)) return std::nullopt;
  void* const at = shmat(id, nullptr, 0);
  if (reinterpret_cast<std::intptr_t>(at) == -1) return std::nullopt;
  auto segment = std::make_unique<Segment>(at, facts.shm_segsz);
  if (made) segment->set_name(name);
  if (!segment->has_name(name)) return std::nullopt;
  return Found{id, std::move(segment)};
}

class SharedSegments final : public Directory {
 public:
  Result<std::unique_ptr<SharedMemory>> map(const std::string& name, std::size_t size) override {
    if (name.size() >= kNameSize)
      return Status(ErrorCode::STATE_IO, name + ": the name is too long");
    const std::size_t whole = kNameSize + size;
    for (int attempt = 0; attempt < kMostTries; ++attempt) {
      const key_t key = key_of(name, attempt);
      int id = shmget(key, 0, 0);
      const bool make = id < 0 && errno == ENOENT;
      if (make) id = shmget(key, whole, IPC_CREAT | IPC_EXCL | 0600);
      // EEXIST: another process was faster; EACCES: it is another user's.
      if (id < 0 && errno != EEXIST && errno != EACCES) return failed("shmget");
      std::optional<Found> found = id < 0 ? std::nullopt : attach(id, name, whole, make);
      if (!found) continue;
      shmid_ds facts{};
      if (shmctl(id, IPC_STAT, &facts) != 0) return failed("shmctl");
      if (facts.shm_nattch != 1)
        return Status(ErrorCode::FENCED, name + " is in use by another process");
      return std::unique_ptr<SharedMemory>(std::move(found->segment));
    }
    return Status(ErrorCode::STATE_IO,
                  std::string(kSharedSegments) + ": every key for " + name + " is in use");
  }

  Result<std::unique_ptr<File>> open(const std::string& name) override { return none(name); }
  Status rename(const std::string& from, const std::string& /*to*/) override { return none(from); }
  Status sync() override { return {}; }
  Result<FileIdentity> identity(const std::string& name) const override {
    for (int attempt = 0; name.size() < kNameSize && attempt < kMostTries; ++attempt) {
      const int id = shmget(key_of(name, attempt), 0, 0);
      if (id >= 0 && attach(id, name, 0, false))
        return FileIdentity{0, static_cast<std::uint64_t>(id)};
    }
    return none(name);
  }
  FileSystemKind kind() const override { return FileSystemKind::memory; }
  const std::string& path() const override { return path_; }

 private:
  Status none(const std::string& name) const {
    return {ErrorCode::STATE_IO, path_ + " has no files, nor " + name};
  }
  const std::string path_ = kSharedSegments;
};

}  // namespace

Result<std::unique_ptr<Directory>> open_shared_segments() {
  const int probe = shmget(IPC_PRIVATE, 1, IPC_CREAT | 0600);
  if (probe < 0) return failed("shmget");
  shmctl(probe, IPC_RMID, nullptr);
  return std::unique_ptr<Directory>(std::make_unique<SharedSegments>());
}

Status remove_shared_segment(const std::string& name) {
  if (name.size() >= kNameSize) return {};
  for (int attempt = 0; attempt < kMostTries; ++attempt) {
    const int id = shmget(key_of(name, attempt), 0, 0);
    if (id < 0) continue;
    const std::optional<Found> found = attach(id, name, 0, false);
    if (found && shmctl(id, IPC_RMID, nullptr) != 0) return failed("shmctl");
  }
  return {};
}

}  // namespace seqd
