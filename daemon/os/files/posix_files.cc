#include "daemon/os/files/posix_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "daemon/base/assertion.h"
#include "daemon/os/files/file_system_kind.h"
#include "daemon/os/files/fuse_kind.h"
#include "daemon/os/files/unwritten_parts.h"

namespace seqd {
namespace {

constexpr std::uint64_t most_at_once = std::uint64_t{256} * 1024;  // bytes that allocate() copies

Status failed(const std::string& path, const char* call, int error) {
  return {ErrorCode::STATE_IO, path + ": " + call + ": " + std::generic_category().message(error)};
}

// Calls again what a signal interrupted.
template <typename Call>
auto uninterrupted(Call call) {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

FileIdentity identity_of(const struct stat& found) {
  return {static_cast<std::uint64_t>(found.st_dev), static_cast<std::uint64_t>(found.st_ino)};
}

class PosixFile final : public File {
 public:
  PosixFile(std::string path, Descriptor descriptor, FileIdentity identity)
      : path_(std::move(path)), descriptor_(std::move(descriptor)), identity_(identity) {
    ASSERT(descriptor_.number() >= 0);
  }

  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::uint8_t> into) override {
    std::size_t done = 0;
    while (done < into.size()) {
      const ssize_t got = uninterrupted([&] {
        return ::pread(descriptor_.number(), into.data() + done, into.size() - done,
                       static_cast<off_t>(offset + done));
      });
      if (got < 0) return failed(path_, "pread", errno);
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

  Status write_at(std::uint64_t offset, std::span<const std::uint8_t> bytes) override {
    while (!bytes.empty()) {
      const ssize_t put = uninterrupted([&] {
        return ::pwrite(descriptor_.number(), bytes.data(), bytes.size(),
                        static_cast<off_t>(offset));
      });
      if (put < 0) return failed(path_, "pwrite", errno);
      // A regular file that takes nothing will not take it the next time either.
      if (put == 0) return failed(path_, "pwrite", ENOSPC);
      offset += static_cast<std::uint64_t>(put);
      bytes = bytes.subspan(static_cast<std::size_t>(put));
    }
    return {};
  }

  // Not called again after EINTR: the result of a second call proves nothing. A file system that
  // was made read-only by force (SysRq-u) writes nothing and says that all is well.
  Status sync_data() override {
    if (::fdatasync(descriptor_.number()) != 0) return failed(path_, "fdatasync", errno);
    struct statfs found {};
    if (::fstatfs(descriptor_.number(), &found) != 0) return failed(path_, "fstatfs", errno);
    const bool read_only = (static_cast<unsigned long>(found.f_flags) & ST_RDONLY) != 0;
    return read_only ? failed(path_, "fdatasync", EROFS) : Status();
  }

  Status allocate(std::uint64_t size) override {
    const Result<std::uint64_t> had = this->size();
    if (!had.ok()) return had.status();
    const int error = allocate_room(std::max(*had, size));
    if (error != 0) return failed(path_, "fallocate", error);
    std::vector<FilePart> unwritten;
    if (find_unwritten_parts(descriptor_.number(), size, unwritten) != 0 && *had < size) {
      unwritten = {{*had, size - *had}};
    }
    for (const FilePart& part : unwritten) {
      Status status = write_over(part);
      if (!status.ok()) return status;
    }
    // A file that was long enough was synced by the call that extended it, or is by the next
    // sync_data.
    if (unwritten.empty() && *had >= size) return {};
    return ::fsync(descriptor_.number()) == 0 ? Status() : failed(path_, "fsync", errno);
  }

  Result<std::uint64_t> size() override {
    struct stat found {};
    if (::fstat(descriptor_.number(), &found) != 0) return failed(path_, "fstat", errno);
    return static_cast<std::uint64_t>(found.st_size);
  }

  FileIdentity identity() const override { return identity_; }
  int descriptor() const { return descriptor_.number(); }

 private:
  int allocate_room(std::uint64_t size) {
    int error = 0;
    do {
      error = ::posix_fallocate(descriptor_.number(), 0, static_cast<off_t>(size));
    } while (error == EINTR);
    return error;
  }

  // Writes the bytes that the part reads as, so that its content does not change.
  Status write_over(const FilePart& part) {
    ASSERT(part.size > 0);
    std::vector<std::uint8_t> bytes(std::min<std::uint64_t>(part.size, most_at_once));
    for (std::uint64_t done = 0; done < part.size;) {
      const std::uint64_t offset = part.offset + done;
      const std::uint64_t wanted = std::min<std::uint64_t>(bytes.size(), part.size - done);
      const Result<std::size_t> got = read_at(offset, std::span(bytes).first(wanted));
      if (!got.ok()) return got.status();
      Status status = write_at(offset, std::span(bytes).first(*got));
      if (!status.ok() || *got < wanted) return status;
      done += wanted;
    }
    return {};
  }

  const std::string path_;
  const Descriptor descriptor_;
  const FileIdentity identity_;
};

class PosixMemory final : public SharedMemory {
 public:
  PosixMemory(std::unique_ptr<PosixFile> file, void* at, std::size_t size)
      : file_(std::move(file)), at_(static_cast<std::uint8_t*>(at)), size_(size) {
    ASSERT(file_ != nullptr && at_ != nullptr && size_ > 0);
  }
  ~PosixMemory() override { ::munmap(at_, size_); }
  PosixMemory(const PosixMemory&) = delete;
  PosixMemory& operator=(const PosixMemory&) = delete;

  std::span<std::uint8_t> bytes() override { return {at_, size_}; }

 private:
  const std::unique_ptr<PosixFile> file_;  // holds the lock
  std::uint8_t* const at_;
  const std::size_t size_;
};

// The process that wrote its number into the lock file, for error texts.
std::string holder(int descriptor) {
  char text[32] = {};
  const ssize_t got = ::pread(descriptor, text, sizeof text - 1, 0);
  const std::string_view all(text, got > 0 ? static_cast<std::size_t>(got) : 0);
  const std::string_view digits = all.substr(0, all.find('\n'));
  const std::size_t first = digits.find_first_not_of('0');
  const bool number = first != digits.npos && digits.find_first_not_of("0123456789") == digits.npos;
  return number ? "process " + std::string(digits.substr(first)) : "another process";
}

constexpr std::string_view lock_file = "lock";

class PosixDirectory final : public Directory {
 public:
  PosixDirectory(std::string path, Descriptor descriptor, FileSystemKind kind)
      : path_(std::move(path)), descriptor_(std::move(descriptor)), kind_(kind) {}

  Result<std::unique_ptr<File>> open(const std::string& name) override {
    Result<std::unique_ptr<PosixFile>> file = open_locked(name);
    if (!file.ok()) return file.status();
    return std::unique_ptr<File>(std::move(*file));
  }

  Result<std::unique_ptr<SharedMemory>> map(const std::string& name, std::size_t size) override {
    Result<std::unique_ptr<PosixFile>> file = open_locked(name);
    if (!file.ok()) return file.status();
    // With room for all of it: a store into a page that a full tmpfs cannot give is SIGBUS.
    Status status = (*file)->allocate(size);
    if (!status.ok()) return status;
    void* const at =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, (*file)->descriptor(), 0);
    if (at == MAP_FAILED) return failed(path_of(name), "mmap", errno);
    return std::unique_ptr<SharedMemory>(std::make_unique<PosixMemory>(std::move(*file), at, size));
  }

  Status rename(const std::string& from, const std::string& to) override {
    const int result =
        ::renameat(descriptor_.number(), from.c_str(), descriptor_.number(), to.c_str());
    return result == 0 ? Status() : failed(path_of(from), "rename", errno);
  }

  Status sync() override {
    return ::fsync(descriptor_.number()) == 0 ? Status() : failed(path_, "fsync", errno);
  }

  // By the whole path, not by the descriptor: another daemon would open that path.
  Result<FileIdentity> identity(const std::string& name) const override {
    const std::string path = name.empty() ? path_ : path_of(name);
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0) return failed(path, "stat", errno);
    return identity_of(found);
  }

  FileSystemKind kind() const override { return kind_; }
  const std::string& path() const override { return path_; }

 private:
  std::string path_of(const std::string& name) const { return path_ + "/" + name; }

  Result<std::unique_ptr<PosixFile>> open_locked(const std::string& name) {
    const std::string path = path_of(name);
    Descriptor descriptor(uninterrupted([&] {
      return ::openat(descriptor_.number(), name.c_str(),
                      O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    }));
    if (descriptor.number() < 0) return failed(path, "open", errno);
    struct stat found {};
    if (::fstat(descriptor.number(), &found) != 0) return failed(path, "fstat", errno);
    if (!S_ISREG(found.st_mode)) {
      return {ErrorCode::STATE_IO, path + " is not a regular file; move it away"};
    }
    if (found.st_uid != ::geteuid() && found.st_uid != 0) {
      return {ErrorCode::STATE_IO, path + " belongs to user " + std::to_string(found.st_uid) +
                                       "; give it to the user seqd runs as"};
    }
    if (uninterrupted([&] { return ::flock(descriptor.number(), LOCK_EX | LOCK_NB); }) != 0) {
      if (errno != EWOULDBLOCK) return failed(path, "flock", errno);
      return {ErrorCode::FENCED, path + " is in use by " + holder(descriptor.number()) +
                                     "; a state directory serves one seqd at a time"};
    }
    if (name == lock_file) {
      Status status = leave_number(path, descriptor.number());
      if (!status.ok()) return status;
    }
    return std::make_unique<PosixFile>(path, std::move(descriptor), identity_of(found));
  }

  // A fixed width, so that a shorter number leaves nothing of a longer one behind.
  static Status leave_number(const std::string& path, int descriptor) {
    char text[16];
    const int length = std::snprintf(text, sizeof text, "%010ld\n", static_cast<long>(::getpid()));
    ASSERT(length > 0 && static_cast<std::size_t>(length) < sizeof text);
    const ssize_t put = uninterrupted(
        [&] { return ::pwrite(descriptor, text, static_cast<std::size_t>(length), 0); });
    return put == length ? Status() : failed(path, "pwrite", put < 0 ? errno : ENOSPC);
  }

  const std::string path_;
  const Descriptor descriptor_;
  const FileSystemKind kind_;
};

Result<FileSystemKind> kind_of(const std::string& path, int descriptor) {
  struct statfs found {};
  if (uninterrupted([&] { return ::fstatfs(descriptor, &found); }) != 0) {
    return failed(path, "fstatfs", errno);
  }
  // f_type is signed on some machines; only its low 32 bits are significant.
  const FileSystemKind kind = kind_of_file_system(static_cast<std::uint32_t>(found.f_type));
  struct stat file {};
  if (kind != FileSystemKind::unknown || ::fstat(descriptor, &file) != 0) return kind;
  std::ifstream mounts("/proc/self/mountinfo");
  return kind_of_fuse(std::string(std::istreambuf_iterator<char>(mounts), {}), file.st_dev);
}

}  // namespace

Result<FileSystemKind> file_system_of(const std::string& path) {
  const Descriptor descriptor(
      uninterrupted([&] { return ::open(path.c_str(), O_PATH | O_CLOEXEC); }));
  if (descriptor.number() < 0) return failed(path, "open", errno);
  return kind_of(path, descriptor.number());
}

Result<FileSystemKind> file_system_for(const std::string& file) {
  namespace fs = std::filesystem;
  constexpr int kMostLinks = 40;  // as the kernel has it
  fs::path path(file);
  for (int links = 0; links < kMostLinks; ++links) {
    Result<FileSystemKind> kind = file_system_of(path.string());
    if (kind.ok()) return kind;
    std::error_code not_a_link;
    const fs::path next = fs::read_symlink(path, not_a_link);
    if (not_a_link) break;
    path = path.parent_path() / next;  // an absolute one replaces all of it
  }
  return file_system_of(path.parent_path() / "");
}

Result<std::unique_ptr<Directory>> open_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return failed(path, "mkdir", errno);
  Descriptor descriptor(
      uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (descriptor.number() < 0) return failed(path, "open", errno);
  struct stat found {};
  if (::fstat(descriptor.number(), &found) != 0) return failed(path, "fstat", errno);
  if (found.st_uid != ::geteuid() && found.st_uid != 0) {
    return {ErrorCode::STATE_IO, path + " belongs to user " + std::to_string(found.st_uid) +
                                     "; give it to the user seqd runs as (chown)"};
  }
  if ((found.st_mode & S_IWOTH) != 0) {
    return {ErrorCode::STATE_IO,
            path + " is writable by every user; remove that permission (chmod 0700)"};
  }
  Result<FileSystemKind> kind = kind_of(path, descriptor.number());
  if (!kind.ok()) return kind.status();
  return std::unique_ptr<Directory>(
      std::make_unique<PosixDirectory>(path, std::move(descriptor), *kind));
}

Result<std::array<std::uint8_t, 16>> read_boot_id() {
  const std::string path = "/proc/sys/kernel/random/boot_id";
  const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (descriptor.number() < 0) return failed(path, "open", errno);
  char text[64];
  const ssize_t got = uninterrupted([&] { return ::read(descriptor.number(), text, sizeof text); });
  if (got < 0) return failed(path, "read", errno);
  std::array<std::uint8_t, 16> boot_id{};
  std::size_t digits = 0;
  for (const char letter : std::string_view(text, static_cast<std::size_t>(got))) {
    if (letter == '-' || letter == '\n') continue;
    const std::size_t value = std::string_view("0123456789abcdef").find(letter);
    if (value == std::string_view::npos || digits == 32) {
      return {ErrorCode::STATE_IO, path + " does not hold a UUID"};
    }
    const std::size_t high = boot_id[digits / 2];
    boot_id[digits / 2] = static_cast<std::uint8_t>(high << 4 | value);
    ++digits;
  }
  if (digits != 32) return {ErrorCode::STATE_IO, path + " does not hold a UUID"};
  return boot_id;
}

}  // namespace seqd
