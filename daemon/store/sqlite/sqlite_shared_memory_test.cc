// What becomes of a lease whose commit is in the write-ahead log while the shared memory beside it
// finds no room. That a full disk is no SIGBUS: tests/integration/faults/test_disks.py.
#include "daemon/store/sqlite/sqlite_shared_memory.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <iterator>
#include <string>
#include <thread>

#include "daemon/store/sqlite/sqlite_store.h"
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

// Opens the file in a thread in which fallocate() fails, as by the filter of a container.
Status open_without_fallocate(const std::string& file, int error) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fallocate, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  bool filtered = false;
  Status status;
  std::thread([&] {
    const sock_fprog program = {.len = std::size(filter), .filter = filter};
    filtered = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
               prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
    if (filtered) status = SqliteStore::open({.path = file}).status();
  }).join();
  REQUIRE(filtered);
  return status;
}

}  // namespace

TEST_CASE("SqliteStore: a filter of system calls that forbids fallocate is no full disk",
          "[sqlite]") {
  SqliteFixture fixture;
  const Status status = open_without_fallocate(fixture.file(), GENERATE(EPERM, ENOSYS, EOPNOTSUPP));
  INFO(status.to_string());
  REQUIRE(status.ok());
}

TEST_CASE("SqliteStore: without room no shared memory is mapped", "[sqlite]") {
  SqliteFixture fixture;
  const Status status =
      open_without_fallocate(fixture.file(), GENERATE(ENOSPC, EDQUOT, EFBIG, EIO));
  REQUIRE(status.code() == ErrorCode::UNAVAILABLE);
}

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
