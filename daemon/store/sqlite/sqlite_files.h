// SqliteFiles: the files of an open database: itself, its write-ahead log and the log's shared
// memory. SQLite compares the inode of the first only; here the path must lead to all three, on
// their device, and their file system must take writes. The connection's thread.
#pragma once

#include <array>
#include <string>
#include <utility>

#include "daemon/base/files/files.h"
#include "daemon/base/status.h"

namespace seqd {

class SqliteFiles {
 public:
  explicit SqliteFiles(std::string path) : path_(std::move(path)) {}

  // Of a database that has just been opened and read. `resolved`: the file without symbolic links,
  // beside which SQLite puts the other two. UNAVAILABLE: one of them is gone already.
  Status note(const std::string& resolved);
  // STORE_REFUSED: the path leads to other files, or to none. UNAVAILABLE: their file system takes
  // no writes. One that was made read-only by force (SysRq-u) reports each sync as done.
  Status check() const;

 private:
  static constexpr std::size_t kCount = 3;

  const std::string path_;  // as configured
  std::array<std::string, kCount> files_;
  std::array<FileIdentity, kCount> identities_{};
};

}  // namespace seqd
