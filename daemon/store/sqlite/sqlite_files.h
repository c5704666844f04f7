// SqliteFiles: the files of an open database: itself, its write-ahead log and the log's shared
// memory. SQLite compares the inode of the first only; here the path must lead to all three, on
// their device. The connection's thread.
#pragma once

#include <array>
#include <string>
#include <utility>

#include "daemon/base/files.h"
#include "daemon/base/status.h"

namespace seqd {

class SqliteFiles {
 public:
  explicit SqliteFiles(std::string path) : path_(std::move(path)) {}

  // Of a database that has just been opened and read. UNAVAILABLE: one of them is gone already.
  Status note();
  // The file that the path does not lead to any more: "sequences.db-wal"; "" when all are there.
  std::string replaced() const;
  // Whether their file system may be written to. One that was made read-only by force (SysRq-u)
  // reports each sync as done.
  bool is_writable() const;

 private:
  const std::string path_;
  std::array<FileIdentity, 3> identities_{};
};

}  // namespace seqd
