// The foreign API here is the table of system calls that SQLite lets its user replace.
#include "daemon/store/sqlite/sqlite_open_error.h"

#include <fcntl.h>
#include <sqlite3.h>

#include <cerrno>
#include <mutex>
#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

thread_local int open_error = 0;

// Of a file beside a database SQLite itself makes the mode that of the database.
int open_and_keep_error(const char* path, int flags, int mode) {
  const int file = open(path, flags, mode & 0600);
  const int error = file < 0 ? errno : 0;
  // ENOENT does not replace the reason why the file could not be created just before.
  if (error != ENOENT || (flags & O_CREAT) != 0) open_error = error;
  return file;
}

}  // namespace

void take_over_sqlite_opens() {
  static std::once_flag once;
  std::call_once(once, [] {
    sqlite3_vfs* system = sqlite3_vfs_find("unix");
    ASSERT(system != nullptr);
    auto call = reinterpret_cast<sqlite3_syscall_ptr>(&open_and_keep_error);
    ASSERT(system->xSetSystemCall(system, "open", call) == SQLITE_OK);
  });
}

int take_sqlite_open_error() {
  return std::exchange(open_error, 0);
}

}  // namespace seqd
