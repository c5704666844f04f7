// Files: what the log of the state directory needs of a file system, so that the simulator and the
// fault-injecting tests can replace it. The real one is daemon/os/files/posix_files.h.
//
// Every file is opened with an exclusive lock that lasts until its File is destroyed: a file has
// one owner. Calls on one File may come from several threads at once when they touch different
// bytes. Errors are STATE_IO with the path, the call and the cause; FENCED is a lock held by
// another user.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "daemon/base/status.h"

namespace seqd {

// What a path leads to: equal when it is the same file or directory of this machine.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

enum class FileSystemKind : std::uint8_t {
  local,    // keeps what was synced over a power loss
  memory,   // gone after a reboot (tmpfs)
  overlay,  // local, but its files may be part of a shared image
  remote,   // NFS, SMB, a cluster's: locks and caches cannot be relied on
  unknown,  // FUSE: it may be any of the other kinds
};

class File {
 public:
  virtual ~File() = default;
  // Fills `into` from `offset`; fewer bytes only at the end of the file.
  virtual Result<std::size_t> read_at(std::uint64_t offset, std::span<std::uint8_t> into) = 0;
  // Writes all of `bytes`. After an error any part of them may be in the file.
  virtual Status write_at(std::uint64_t offset, std::span<const std::uint8_t> bytes) = 0;
  // Returns OK when all that was written before is on the medium. After an error it is unknown what
  // is there, and a second call proves nothing.
  virtual Status sync_data() = 0;
  // Makes the file at least `size` bytes long, with written blocks on the medium for all of them,
  // and syncs that. What is in the file stays; new bytes are zero.
  virtual Status allocate(std::uint64_t size) = 0;
  virtual Result<std::uint64_t> size() = 0;
  virtual FileIdentity identity() const = 0;
};

// Memory that outlives this process but not the machine's boot.
class SharedMemory {
 public:
  virtual ~SharedMemory() = default;
  // Constant; aligned for 64-bit stores.
  virtual std::span<std::uint8_t> bytes() = 0;
};

class Directory {
 public:
  virtual ~Directory() = default;
  // Opens the file, makes it (empty, readable by its owner only) when it is missing, and locks it.
  virtual Result<std::unique_ptr<File>> open(const std::string& name) = 0;
  // The same for a file of `size` bytes that is mapped; new bytes are zero.
  virtual Result<std::unique_ptr<SharedMemory>> map(const std::string& name, std::size_t size) = 0;
  // Replaces a file that has the new name.
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  // Returns OK when the names made and renamed before are on the medium.
  virtual Status sync() = 0;
  // What the directory's path (`name` empty) or the name under it leads to now. Any thread.
  virtual Result<FileIdentity> identity(const std::string& name) const = 0;
  virtual FileSystemKind kind() const = 0;
  virtual const std::string& path() const = 0;
};

}  // namespace seqd
