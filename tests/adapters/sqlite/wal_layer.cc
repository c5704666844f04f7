#include "tests/adapters/sqlite/wal_layer.h"

#include <utility>

#include "daemon/store/sqlite/sqlite_locks.h"

#include <catch2/catch.hpp>

namespace seqd::testing {

WalLayer* WalLayer::current_ = nullptr;

WalLayer::WalLayer(Word before_write, Word before_flush)
    : before_write_(std::move(before_write)), before_flush_(std::move(before_flush)) {
  REQUIRE(current_ == nullptr);
  bound_sqlite_waits();  // it is below this layer, and stays
  current_ = this;
  real_ = sqlite3_vfs_find(nullptr);
  layer_ = *real_;
  layer_.zName = "seqd-wal-layer";
  layer_.pNext = nullptr;
  layer_.xOpen = open;
  REQUIRE(sqlite3_vfs_register(&layer_, 1) == SQLITE_OK);
}

WalLayer::~WalLayer() {
  sqlite3_vfs_register(real_, 1);
  sqlite3_vfs_unregister(&layer_);
  current_ = nullptr;
}

int WalLayer::open(sqlite3_vfs* /*self*/, const char* name, sqlite3_file* file, int flags,
                   int* out_flags) {
  constexpr int kTemporary = SQLITE_OPEN_TEMP_DB | SQLITE_OPEN_TRANSIENT_DB |
                             SQLITE_OPEN_TEMP_JOURNAL | SQLITE_OPEN_SUBJOURNAL;
  if ((flags & kTemporary) != 0) ++current_->temporary_files_;
  const int code = current_->real_->xOpen(current_->real_, name, file, flags, out_flags);
  if (code == SQLITE_OK && (flags & SQLITE_OPEN_WAL) != 0) {
    // The same file with two of its calls replaced.
    current_->real_methods_ = file->pMethods;
    current_->methods_ = *file->pMethods;
    current_->methods_.xWrite = write;
    current_->methods_.xSync = flush;
    file->pMethods = &current_->methods_;
  }
  return code;
}

int WalLayer::write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  const int word = current_->before_write_();
  return word == SQLITE_OK ? current_->real_methods_->xWrite(file, data, size, offset) : word;
}

int WalLayer::flush(sqlite3_file* file, int flags) {
  const int word = current_->before_flush_();
  return word == SQLITE_OK ? current_->real_methods_->xSync(file, flags) : word;
}

}  // namespace seqd::testing
