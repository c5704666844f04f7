// Files whose locks another process holds: the wait is bounded, and the error says who it is.
#include "daemon/store/sqlite/sqlite_locks.h"

#include <fcntl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <string>

#include "daemon/store/history/history_database.h"
#include "daemon/store/sqlite/sqlite_store.h"
#include "tests/adapters/in_time.h"
#include "tests/adapters/store_fixtures.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using testing::ScratchDirectory;

// A process that holds an exclusive lock on some bytes of a file until it is ended.
class Holder {
 public:
  Holder(const std::string& path, off_t begin, off_t size) {
    std::array<int, 2> ready{};
    REQUIRE(pipe(ready.data()) == 0);
    process_ = fork();
    if (process_ == 0) hold(path.c_str(), begin, size, ready[1]);
    char byte = 0;
    REQUIRE(read(ready[0], &byte, 1) == 1);
    close(ready[0]);
    close(ready[1]);
    REQUIRE(byte == 'y');
  }
  ~Holder() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  std::string name() const { return "process " + std::to_string(process_) + " ("; }

 private:
  [[noreturn]] static void hold(const char* path, off_t begin, off_t size, int ready) {
    const int file = open(path, O_RDWR | O_CLOEXEC);
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = begin;
    lock.l_len = size;
    const bool held = file >= 0 && fcntl(file, F_SETLK, &lock) == 0;
    const bool told = write(ready, held ? "y" : "n", 1) == 1;
    if (!held || !told) _exit(1);
    while (true) pause();
  }
  pid_t process_ = 0;
};

// SQLite's places of locks: in the file, and in the shared memory of its write-ahead log.
constexpr off_t kPending = 0x40000000;
constexpr off_t kFileLocks = 512;
constexpr off_t kReaders = 123;
constexpr off_t kReaderLocks = 5;

TEST_CASE("SqliteLocks: a start is refused in bounds by a lock of the log that is never given",
          "[sqlite]") {
  const ScratchDirectory directory;
  const std::string path = directory.path("store.sqlite");
  // Open, so that the log and its shared memory are there.
  auto store = SqliteStore::open({.path = path, .busy_timeout_ms = 50});
  REQUIRE(store.ok());
  const LeaseRequest request = testing::lease_request("orders", 10);
  REQUIRE((*store)->lease(request).begin == 1);
  {
    const Holder holder(path + "-shm", kReaders, kReaderLocks);
    const auto began = std::chrono::steady_clock::now();
    const Status status = SqliteStore::open({.path = path, .busy_timeout_ms = 50}).status();
    INFO(status.to_string());
    REQUIRE(status.code() == ErrorCode::UNAVAILABLE);
    REQUIRE(status.text().find(holder.name()) != std::string::npos);
    // Ten seconds are SQLite's own patience.
    REQUIRE_IN_TIME(std::chrono::steady_clock::now() - began < std::chrono::seconds(9));
  }
  REQUIRE((*store)->lease(testing::lease_request("orders", 10)).begin == 11);
}

TEST_CASE("SqliteLocks: a start is refused by a lock of the file, and says who holds it",
          "[sqlite]") {
  const ScratchDirectory directory;
  const std::string path = directory.path("store.sqlite");
  REQUIRE(SqliteStore::open({.path = path}).ok());
  const Holder holder(path, kPending, kFileLocks);
  const Status status = SqliteStore::open({.path = path, .busy_timeout_ms = 50}).status();
  INFO(status.to_string());
  REQUIRE(status.code() == ErrorCode::UNAVAILABLE);
  REQUIRE(status.text().find(holder.name()) != std::string::npos);
}

TEST_CASE("SqliteLocks: a history that is locked is not set aside, and says who holds it",
          "[sqlite]") {
  const ScratchDirectory directory;
  const std::string path = directory.path("history.db");
  HistoryDatabase database(path);
  REQUIRE(database.open().ok());
  database.close();
  const Holder holder(path, kPending, kFileLocks);
  const Status status = database.open();
  INFO(status.to_string());
  REQUIRE(status.text().find(holder.name()) != std::string::npos);
  REQUIRE(database.take_warnings().empty());
}

TEST_CASE("SqliteLocks: our own locks and those of other files are nobody's", "[sqlite]") {
  const ScratchDirectory directory;
  const std::string path = directory.path("store.sqlite");
  auto store = SqliteStore::open({.path = path});
  auto other = SqliteStore::open({.path = directory.path("other.sqlite")});
  REQUIRE(store.ok());
  REQUIRE(other.ok());
  const Holder holder(directory.path("other.sqlite-shm"), kReaders, kReaderLocks);
  REQUIRE(sqlite_lock_holders(path).empty());
  REQUIRE(sqlite_lock_holders(directory.path("missing")).empty());
}

}  // namespace
}  // namespace seqd
