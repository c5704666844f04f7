#include "daemon/store/sqlite/sqlite_shared_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <mutex>

namespace seqd {
namespace {

#ifndef MADV_POPULATE_WRITE
constexpr int MADV_POPULATE_WRITE = 23;  // Linux 5.14; C libraries before 2.35 do not name it
#endif

// SQLite's own functions for its files, and a copy of them whose xShmMap is ours.
const sqlite3_io_methods* g_own = nullptr;
sqlite3_io_methods g_with_room;

// Touches the pages as a write would, and fails where a write would raise SIGBUS.
int give_room(volatile void* part, int size) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(part);
  const std::uintptr_t first = begin / page * page;
  const std::size_t length = begin + static_cast<std::uintptr_t>(size) - first;
  if (madvise(reinterpret_cast<void*>(first), length, MADV_POPULATE_WRITE) == 0) return SQLITE_OK;
  return errno == EFAULT ? SQLITE_FULL : SQLITE_OK;
}

int map_with_room(sqlite3_file* file, int index, int size, int extend, volatile void** part) {
  const int code = g_own->xShmMap(file, index, size, extend, part);
  if (code != SQLITE_OK || *part == nullptr) return code;
  return give_room(*part, size);
}

}  // namespace

void give_room_to_shared_memory(sqlite3* connection) {
  sqlite3_file* file = nullptr;
  if (sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER,
                           static_cast<void*>(&file)) != SQLITE_OK) {
    return;
  }
  if (file == nullptr || file->pMethods == nullptr) return;
  static std::once_flag once;
  std::call_once(once, [file] {
    g_own = file->pMethods;
    g_with_room = *g_own;
    g_with_room.xShmMap = map_with_room;
  });
  // All have the functions of SQLite's "unix", unless somebody named another kind in the path.
  if (file->pMethods == g_own) file->pMethods = &g_with_room;
}

}  // namespace seqd
