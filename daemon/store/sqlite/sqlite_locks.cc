// The foreign APIs here are SQLite's and the kernel's list of locks.
#include "daemon/store/sqlite/sqlite_locks.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <fstream>
#include <mutex>
#include <set>
#include <sstream>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

// The busy handler never pauses longer at once; only the tries for the write-ahead log do, in the
// last 41 of their 100, which would take eight seconds.
constexpr int kLongestPauseUs = 100'000;
constexpr std::size_t kMostNamed = 3;

int pause_in_bounds(sqlite3_vfs*, int microseconds) {
  if (microseconds <= kLongestPauseUs) usleep(static_cast<useconds_t>(microseconds));
  return microseconds;
}

// As /proc/locks writes it, which is the device and inode of the file.
std::string place_of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  return fmt::format("{:02x}:{:02x}:{}", major(status.st_dev), minor(status.st_dev), status.st_ino);
}

std::string named(int process) {
  std::ifstream file(fmt::format("/proc/{}/comm", process));
  std::string name;
  std::getline(file, name);
  return fmt::format("process {} ({})", process, name.empty() ? "name unknown" : name);
}

}  // namespace

void bound_sqlite_waits() {
  static std::once_flag once;
  std::call_once(once, [] {
    static sqlite3_vfs patient = *sqlite3_vfs_find(nullptr);
    patient.zName = "seqd-bounded-waits";
    patient.pNext = nullptr;
    patient.xSleep = pause_in_bounds;
    ASSERT(sqlite3_vfs_register(&patient, 1) == SQLITE_OK);
  });
}

std::string sqlite_lock_holders(const std::string& path) {
  const std::string places[] = {place_of(path), place_of(path + "-shm")};
  std::set<int> writers;
  std::set<int> readers;
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    // 1: POSIX  ADVISORY  WRITE 4711 fd:01:1234 120 120; one that waits has an arrow after its
    // number.
    std::istringstream words(line);
    std::string number;
    std::string kind;
    std::string binding;
    std::string access;
    std::string place;
    int process = 0;
    if (!(words >> number >> kind >> binding >> access >> process >> place)) continue;
    if (process <= 0 || process == getpid()) continue;
    if (place == places[0] || place == places[1])
      (access == "WRITE" ? writers : readers).insert(process);
  }
  const std::set<int>& found = writers.empty() ? readers : writers;
  std::string text;
  std::size_t count = 0;
  for (const int process : found) {
    if (++count > kMostNamed) return text + " and others";
    text += (text.empty() ? "" : ", ") + named(process);
  }
  return text;
}

}  // namespace seqd
