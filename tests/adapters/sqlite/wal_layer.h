// WalLayer: SQLite's own file layer, with a test's word put in before each write and each flush of
// a write-ahead log. Counts the temporary files that SQLite opens. The default layer of the process
// while it lives, one at a time; one thread opens files meanwhile.
#pragma once

#include <functional>

#include <sqlite3.h>

namespace seqd::testing {

class WalLayer {
 public:
  // Says SQLITE_OK, and the call goes on, or the error that SQLite is to see.
  using Word = std::function<int()>;

  WalLayer(Word before_write, Word before_flush);
  ~WalLayer();
  WalLayer(const WalLayer&) = delete;
  WalLayer& operator=(const WalLayer&) = delete;
  int temporary_files() const { return temporary_files_; }

 private:
  static int open(sqlite3_vfs* self, const char* name, sqlite3_file* file, int flags,
                  int* out_flags);
  static int write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset);
  static int flush(sqlite3_file* file, int flags);

  static WalLayer* current_;
  const Word before_write_;
  const Word before_flush_;
  int temporary_files_ = 0;
  sqlite3_vfs* real_ = nullptr;
  sqlite3_vfs layer_{};
  const sqlite3_io_methods* real_methods_ = nullptr;
  sqlite3_io_methods methods_{};
};

}  // namespace seqd::testing
