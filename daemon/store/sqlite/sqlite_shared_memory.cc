// The foreign API here is the table of system calls that SQLite lets its user replace.
#include "daemon/store/sqlite/sqlite_shared_memory.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/mman.h>

#include <cerrno>
#include <mutex>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

// A file system or a filter of system calls that knows no fallocate() leaves the part as it is.
bool has_no_room(int error) {
  return error == ENOSPC || error == EDQUOT || error == EFBIG || error == EIO;
}

// What mmap does, but that the part has its blocks before. SQLite maps nothing else of a file: the
// database itself is read and written. The descriptor is SQLite's; a second one would give up
// SQLite's locks when it is closed.
void* map_with_room(void* address, std::size_t size, int protection, int flags, int file,
                    off_t offset) {
  if (file >= 0 && (protection & PROT_WRITE) != 0) {
    int failed = 0;
    do {
      failed = fallocate(file, 0, offset, static_cast<off_t>(size)) == 0 ? 0 : errno;
    } while (failed == EINTR);
    if (has_no_room(failed)) return MAP_FAILED;
  }
  return mmap(address, size, protection, flags, file, offset);
}

}  // namespace

void give_room_to_sqlite_memory() {
  static std::once_flag once;
  std::call_once(once, [] {
    sqlite3_vfs* system = sqlite3_vfs_find("unix");
    ASSERT(system != nullptr);
    auto call = reinterpret_cast<sqlite3_syscall_ptr>(&map_with_room);
    ASSERT(system->xSetSystemCall(system, "mmap", call) == SQLITE_OK);
  });
}

}  // namespace seqd
