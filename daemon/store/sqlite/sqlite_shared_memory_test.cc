// What becomes of a lease whose commit is in the write-ahead log while the shared memory beside it
// finds no room. That a full disk is no SIGBUS: tests/integration/test_disks.py.
#include "daemon/store/sqlite/sqlite_shared_memory.h"

#include <sqlite3.h>
#include <sys/mman.h>

#include <cerrno>

#include "tests/adapters/store_fixtures.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using testing::lease_request;
using testing::SqliteFixture;

void* map_nothing(void*, std::size_t, int, int, int, off_t) {
  errno = ENOSPC;
  return MAP_FAILED;
}

// While it lives, no further part of any shared memory can be mapped.
class NoRoom {
 public:
  NoRoom() {
    system_->xSetSystemCall(system_, "mmap", reinterpret_cast<sqlite3_syscall_ptr>(&map_nothing));
  }
  ~NoRoom() { system_->xSetSystemCall(system_, "mmap", own_); }
  NoRoom(const NoRoom&) = delete;
  NoRoom& operator=(const NoRoom&) = delete;

 private:
  sqlite3_vfs* system_ = sqlite3_vfs_find("unix");
  sqlite3_syscall_ptr own_ = system_->xGetSystemCall(system_, "mmap");
};

}  // namespace

TEST_CASE("SqliteStore: a commit without room for shared memory is looked up", "[sqlite]") {
  SqliteFixture fixture;
  auto store = fixture.open();
  REQUIRE(store->lease(lease_request("orders", 1)).kind == LeaseOutcome::Kind::granted);
  // Somebody reads, so the log is not begun again: from frame 4,063 on it needs a second part.
  sqlite3* reader = nullptr;
  REQUIRE(sqlite3_open(fixture.file().c_str(), &reader) == SQLITE_OK);
  REQUIRE(sqlite3_exec(reader, "BEGIN; SELECT * FROM sequence", nullptr, nullptr, nullptr) ==
          SQLITE_OK);
  LeaseRequest request;
  LeaseOutcome outcome;
  std::int64_t last = 1;
  {
    const NoRoom none;
    do {
      if (outcome.kind == LeaseOutcome::Kind::granted) last = outcome.end - 1;
      request = lease_request("orders", 1);
      outcome = store->lease(request);
    } while (outcome.kind == LeaseOutcome::Kind::granted && last < 5000);
    INFO(outcome.error.to_string());
    REQUIRE(outcome.kind == LeaseOutcome::Kind::unknown);
    REQUIRE(outcome.error.code() == ErrorCode::UNAVAILABLE);
    REQUIRE(outcome.error.text().find("disk is full") != std::string::npos);
    REQUIRE(store->resolve(request).kind == Resolution::Kind::failed);
  }
  const Resolution found = store->resolve(request);
  REQUIRE(found.kind != Resolution::Kind::failed);
  const LeaseOutcome next = store->lease(lease_request("orders", 1));
  REQUIRE(next.kind == LeaseOutcome::Kind::granted);
  REQUIRE(next.begin == last + (found.kind == Resolution::Kind::granted ? 2 : 1));
  sqlite3_close(reader);
}

}  // namespace seqd
