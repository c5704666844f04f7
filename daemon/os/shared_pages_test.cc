#include "daemon/os/shared_pages.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "protocol/block_slot.h"
#include "tests/adapters/page_test.h"

namespace seqd {
namespace {

using protocol::BlockSlot;
using protocol::kBlockPageBytes;
using protocol::kBlockSlots;
using testing::in_child;
using testing::PageTest;
using Client = testing::PageClient;
using Taken = std::optional<std::int64_t>;

const UserId kUser = ::geteuid();

// From now on that call is refused in this process.
bool forbid(unsigned call) {
  const sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(code), const_cast<sock_filter*>(code)};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Keys, owners and makers can be read by all: a stranger may name the page of another program.
TEST_CASE("APageIsBelievedOnlyOfWhoRunsAsItsMaker", "[pages]") {
  PageTest test;
  REQUIRE(test.pages->open(7, kUser).ok());
  engine::PageInfo info = test.page_info(7);
  std::shared_ptr<engine::BlockPage> page;
  SECTION("a stranger") {
    info.peer = kUser + 1;
  }
  SECTION("nobody knows who") {
    info.peer.reset();
  }
  SECTION("who says that it is the maker") {
    info.peer = kUser + 1;
    info.maker = kUser + 1;
  }
  CHECK(engine::BlockPage::attach(info, page).code == SEQD_E_UNAVAILABLE);
  CHECK(page == nullptr);
  info = test.page_info(7);
  CHECK(engine::BlockPage::attach(info, page).ok());
}

}  // namespace

TEST_CASE("ABlockThatEndsSaysHowManyIdsWereTaken", "[pages]") {
  PageTest test;
  REQUIRE(test.pages->open(7, kUser).to_string() == "OK");
  const Client client(test, 7);
  const BlockPlace first{7, 0, 100, 64};
  const BlockPlace last{7, kBlockSlots - 1, 101, 1'000'000};
  REQUIRE(test.pages->publish(first).ok());
  REQUIRE(test.pages->publish(last).ok());
  CHECK(client.slot(0).block == 100);
  CHECK(client.slot(0).limit == 64);
  CHECK(client.slot(kBlockSlots - 1).limit == 1'000'000);

  client.slot(0).taken = 10;
  const BlockPlace both[] = {first, last};
  CHECK(test.pages->revoke(both) == std::vector<Taken>{10, 0});
  CHECK(client.slot(0).limit == 0);
  CHECK(client.slot(kBlockSlots - 1).limit == 0);
  // Again, as after a kill between the revocation and its record.
  CHECK(test.revoke(first) == Taken(10));
  // The next one in the slot.
  REQUIRE(test.pages->publish({7, 0, 102, 64}).ok());
  CHECK(test.revoke({7, 0, 102, 64}) == Taken(0));
}

TEST_CASE("ABlockThatWasNeverWrittenToItsSlotIsWhole", "[pages]") {
  PageTest test;
  REQUIRE(test.pages->open(7, kUser).ok());
  REQUIRE(test.pages->publish({7, 3, 100, 64}).ok());
  Client(test, 7).slot(3).taken = 5;
  CHECK(test.revoke({7, 3, 102, 64}) == Taken(0));
}

TEST_CASE("WhatCannotBeIsNotKnown", "[pages]") {
  PageTest test;
  REQUIRE(test.pages->open(7, kUser).ok());
  const Client client(test, 7);
  const BlockPlace block{7, 0, 100, 64};
  REQUIRE(test.pages->publish(block).ok());
  SECTION("more than there were") {
    client.slot(0).taken = 65;
    CHECK(test.revoke(block) == std::nullopt);
    client.slot(0).taken = ~std::uint64_t{0};
    CHECK(test.revoke(block) == std::nullopt);
    client.slot(0).taken = 64;
    CHECK(test.revoke(block) == Taken(64));
  }
  SECTION("another block than was told") {
    client.slot(0).block = 99;
    CHECK(test.revoke(block) == std::nullopt);
  }
  SECTION("a slot or a client that there is not") {
    CHECK(test.revoke({7, kBlockSlots, 100, 64}) == std::nullopt);
    CHECK(test.revoke({8, 0, 100, 64}) == std::nullopt);
    CHECK_FALSE(test.pages->publish({7, kBlockSlots, 100, 64}).ok());
    CHECK(test.pages->publish({8, 0, 100, 64}).code() == ErrorCode::UNAVAILABLE);
  }
}

// MADV_REMOVE frees the memory: zeros, which would say that nothing was taken.
TEST_CASE("APageThatItsClientEmptiedIsNotBelieved", "[pages]") {
  PageTest test;
  REQUIRE(test.pages->open(7, kUser).ok());
  const Client client(test, 7);
  const BlockPlace block{7, 2, 100, 64};
  REQUIRE(test.pages->publish(block).ok());
  client.slot(2).taken = 9;
  REQUIRE(::madvise(&client.slot(0), kBlockPageBytes, MADV_REMOVE) == 0);
  const bool killed = GENERATE(false, true);
  if (killed) test.restart({7});
  CHECK(test.revoke(block) == std::nullopt);
}

// However fast a client empties and scribbles, the daemon's calls end and its memory is there.
TEST_CASE("AHostileClientCostsItsOwnBlocksOnly", "[pages]") {
  PageTest test;
  REQUIRE(test.pages->open(7, kUser).ok());
  REQUIRE(test.pages->open(8, kUser).ok());
  const Client honest(test, 8);
  const engine::PageInfo info = test.page_info(7);
  const pid_t parent = ::getpid();
  const pid_t hostile = ::fork();
  REQUIRE(hostile >= 0);
  if (hostile == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    std::shared_ptr<engine::BlockPage> page;
    if (!engine::BlockPage::attach(info, page).ok()) ::_exit(2);
    auto* const at = reinterpret_cast<char*>(&page->slot(0));
    for (;;) {
      ::madvise(at, kBlockPageBytes, MADV_REMOVE);
      page->slot(0).taken = ~std::uint64_t{0};
      ::mprotect(at, kBlockPageBytes, PROT_READ);
      ::mprotect(at, kBlockPageBytes, PROT_READ | PROT_WRITE);
      page->slot(1).block = 1;
    }
  }
  for (std::uint32_t number = 1; number <= 20'000; ++number) {
    REQUIRE(test.pages->publish({7, 0, number, 64}).ok());
    REQUIRE(test.pages->publish({8, 0, number, 64}).ok());
    honest.slot(0).taken = number % 64;
    const BlockPlace both[] = {{7, 0, number, 64}, {8, 0, number, 64}};
    const std::vector<Taken> taken = test.pages->revoke(both);
    REQUIRE(taken[0].value_or(0) <= 64);
    REQUIRE(taken[1] == Taken(number % 64));
  }
  REQUIRE(::kill(hostile, SIGKILL) == 0);
  int status = 0;
  REQUIRE(::waitpid(hostile, &status, 0) == hostile);
  CHECK(WIFSIGNALED(status));
}

TEST_CASE("APageIsItsUsersAlone", "[pages]") {
  PageTest test;
  if (kUser != 0) return;
  REQUIRE(test.pages->open(7, 65'533).ok());
  const auto key = test.pages->address(7).key;
  const auto attaches = [&](uid_t user) {
    return in_child([&] {
      if (::setresuid(user, user, user) != 0) return 2;
      const void* const at = ::shmat(::shmget(key, 0, 0), nullptr, 0);
      return reinterpret_cast<std::intptr_t>(at) == -1 ? 0 : 1;
    });
  };
  CHECK(attaches(65'533) == 1);
  CHECK(attaches(65'532) == 0);
  // Another user with that identity.
  REQUIRE(test.pages->open(7, 65'532).ok());
  CHECK(attaches(65'533) == 0);
  CHECK(attaches(65'532) == 1);
  CHECK(test.pages->open(9, kNoUserOrGroup).code() == ErrorCode::UNAVAILABLE);
}

// Nothing is left to take, so nobody has to be stopped.
TEST_CASE("ABlockThatIsTakenToItsEndNeedsNoBarrier", "[pages]") {
  PageTest test;
  REQUIRE(test.pages->open(7, kUser).ok());
  const Client client(test, 7);
  const BlockPlace over{7, 1, 100, 64};
  const BlockPlace next{7, 2, 101, 64};
  REQUIRE(test.pages->publish(over).ok());
  REQUIRE(test.pages->publish(next).ok());
  client.slot(1).taken = 64;
  client.slot(2).taken = 63;
  CHECK(in_child([&] {
          if (!forbid(SYS_membarrier)) return 1;
          const BlockPlace both[] = {over, next};
          return test.pages->revoke(both) == std::vector<Taken>{64, std::nullopt} ? 0 : 2;
        }) == 0);
  CHECK(client.slot(1).limit == 0);
  CHECK(client.slot(2).limit == 0);
  CHECK(test.revoke(next) == Taken(63));
}

// Without the barrier a store of the client may come behind the read of what was taken.
TEST_CASE("WithoutABarrierWhatWasTakenIsUnknown", "[pages]") {
  PageTest test;
  REQUIRE(test.pages->open(7, kUser).ok());
  const BlockPlace block{7, 1, 100, 64};
  REQUIRE(test.pages->publish(block).ok());
  CHECK(in_child([&] {
          if (!forbid(SYS_membarrier)) return 1;
          return test.pages->revoke({&block, 1}).at(0) == std::nullopt ? 0 : 2;
        }) == 0);
  CHECK(test.revoke(block) == Taken(0));
}

TEST_CASE("WhereThereIsNoSharedMemoryThereAreNoPages", "[pages]") {
  PageTest test;
  SECTION("a sandbox forbids it") {
    CHECK(in_child([&] {
            if (!forbid(SYS_shmget)) return 1;
            const Status opened = test.pages->open(7, kUser);
            if (opened.code() != ErrorCode::UNAVAILABLE) return 2;
            return opened.text().find("@ipc") != std::string::npos ? 0 : 3;
          }) == 0);
  }
  // In an IPC namespace of its own.
  SECTION("others have it all") {
    if (kUser != 0) return;
    CHECK(in_child([&] {
            if (::unshare(CLONE_NEWIPC) != 0) return 1;
            if (!test.pages->open(1, kUser).ok()) return 2;
            while (::shmget(IPC_PRIVATE, 1, IPC_CREAT | 0600) >= 0) {
            }
            if (test.pages->open(2, kUser).code() != ErrorCode::BUSY) return 3;
            if (!test.pages->open(1, kUser).ok()) return 4;
            if (!test.pages->publish({1, 0, 5, 64}).ok()) return 5;
            if (test.revoke({1, 0, 5, 64}) != Taken(0)) return 6;
            test.pages->remove(1);
            return test.pages->open(2, kUser).ok() ? 0 : 7;
          }) == 0);
  }
}

TEST_CASE("ThereAreSoManyPages", "[pages]") {
  PageTest test;
  for (ClientId client = 1; client <= SharedPages::kMost; ++client)
    REQUIRE(test.pages->open(client, kUser).to_string() == "OK");
  CHECK(test.pages->open(SharedPages::kMost + 1, kUser).code() == ErrorCode::BUSY);
  CHECK(test.pages->open(1, kUser).ok());
  test.pages->remove(5);
  CHECK(test.pages->open(SharedPages::kMost + 1, kUser).ok());
  test.restart({});
  CHECK(test.pages->open(1, kUser).ok());
}

TEST_CASE("WithoutAnIndexThereIsAWarningAndNoPages", "[pages]") {
  struct Events final : EventSink {
    void raise(const Event& event) override { text = event.text; }
    std::string text;
  } events;
  PageTest test;
  const auto held =
      test.place->map(SharedPages::index_name(*test.place->identity("")), SharedPages::kIndexBytes);
  REQUIRE(held.ok());
  CHECK(SharedPages::of(*test.place, *test.place, test.random, events) == nullptr);
  CHECK(events.text.find("there are no blocks") != std::string::npos);
}

}  // namespace seqd
