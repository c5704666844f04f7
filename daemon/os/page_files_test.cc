#include "daemon/os/page_files.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "protocol/block_slot.h"

namespace seqd {
namespace {

using protocol::BlockSlot;
using protocol::kBlockPageBytes;
using protocol::kBlockSlots;
using Taken = std::optional<std::int64_t>;

constexpr FileIdentity kState{1, 0xabc};

// A place for pages, and what a daemon has of it; restart() is another process.
struct Pages {
  explicit Pages(const char* parent = "/dev/shm") {
    std::string pattern = std::string(parent) + "/seqd-test-XXXXXX";
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    root = pattern;
    place = root + "/pages";
    files = std::make_unique<PageFiles>(place, kState);
  }
  ~Pages() { std::filesystem::remove_all(root); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  void restart(const std::set<ClientId>& kept) {
    files = std::make_unique<PageFiles>(place, kState);
    files->keep_only(kept);
  }
  std::string path(ClientId client) const { return place + "/" + files->name(client); }
  Taken revoke(const BlockPlace& block) { return files->revoke({&block, 1}).at(0); }

  std::string root;
  std::string place;
  std::unique_ptr<PageFiles> files;
};

// The client's side: the page, mapped through the descriptor that it was given.
struct Mapped {
  Mapped(const PageFiles& files, ClientId client) {
    at = ::mmap(nullptr, kBlockPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                files.descriptor(client), 0);
    REQUIRE(at != MAP_FAILED);
  }
  ~Mapped() { ::munmap(at, kBlockPageBytes); }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;

  BlockSlot& slot(std::uint32_t number) const {
    return *reinterpret_cast<BlockSlot*>(static_cast<char*>(at) +
                                         number * protocol::kBlockSlotBytes);
  }
  void* at = nullptr;
};

// From now on membarrier(2) is refused in this process.
bool forbid_barriers() {
  const sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(code), const_cast<sock_filter*>(code)};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// What `work` gives in a process of its own.
template <typename Work>
int in_child(Work work) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(work());
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("ABlockThatEndsSaysHowManyIdsWereTaken", "[pages]") {
  Pages pages;
  REQUIRE(pages.files->open(7).to_string() == "OK");
  const Mapped mapped(*pages.files, 7);
  const BlockPlace first{7, 0, 100, 64};
  const BlockPlace last{7, kBlockSlots - 1, 101, 1'000'000};
  REQUIRE(pages.files->publish(first).ok());
  REQUIRE(pages.files->publish(last).ok());
  CHECK(mapped.slot(0).block == 100);
  CHECK(mapped.slot(0).limit == 64);
  CHECK(mapped.slot(kBlockSlots - 1).limit == 1'000'000);

  mapped.slot(0).taken = 10;
  const BlockPlace both[] = {first, last};
  CHECK(pages.files->revoke(both) == std::vector<Taken>{10, 0});
  CHECK(mapped.slot(0).limit == 0);
  CHECK(mapped.slot(kBlockSlots - 1).limit == 0);
  // Again, as after a kill between the revocation and its record.
  CHECK(pages.revoke(first) == Taken(10));
}

TEST_CASE("ABlockThatItsSlotWasNeverToldOfIsWhole", "[pages]") {
  Pages pages;
  REQUIRE(pages.files->open(7).ok());
  REQUIRE(pages.files->publish({7, 3, 100, 64}).ok());
  const Mapped mapped(*pages.files, 7);
  mapped.slot(3).taken = 5;
  CHECK(pages.revoke({7, 3, 102, 64}) == Taken(0));
}

TEST_CASE("WhatCannotBeIsNotKnown", "[pages]") {
  Pages pages;
  REQUIRE(pages.files->open(7).ok());
  const Mapped mapped(*pages.files, 7);
  const BlockPlace block{7, 0, 100, 64};
  REQUIRE(pages.files->publish(block).ok());
  SECTION("more than there were") {
    mapped.slot(0).taken = 65;
    CHECK(pages.revoke(block) == std::nullopt);
    mapped.slot(0).taken = ~std::uint64_t{0};
    CHECK(pages.revoke(block) == std::nullopt);
    mapped.slot(0).taken = 64;
    CHECK(pages.revoke(block) == Taken(64));
  }
  SECTION("a slot or a client that there is not") {
    CHECK(pages.revoke({7, kBlockSlots, 100, 64}) == std::nullopt);
    CHECK(pages.revoke({8, 0, 100, 64}) == std::nullopt);
    CHECK_FALSE(pages.files->publish({7, kBlockSlots, 100, 64}).ok());
    CHECK(pages.files->publish({8, 0, 100, 64}).code() == ErrorCode::UNAVAILABLE);
  }
}

// A number that is read while it is written may be a part of it, so who goes on writing after the
// end of its block is not believed. It takes a second CPU to write during a read.
TEST_CASE("WhatIsWrittenAllTheTimeIsNotKnown", "[pages]") {
  if (std::thread::hardware_concurrency() < 2) return;
  Pages pages;
  REQUIRE(pages.files->open(7).ok());
  const BlockPlace block{7, 0, 100, 64};
  REQUIRE(pages.files->publish(block).ok());
  const Mapped mapped(*pages.files, 7);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    std::atomic_ref<std::uint64_t> taken(mapped.slot(0).taken);
    for (std::uint64_t next = 0; !stop.load(std::memory_order_relaxed); next = (next + 1) % 64)
      taken.store(next, std::memory_order_relaxed);
  });
  bool unknown = false;
  for (int round = 0; round < 1'000'000 && !unknown; ++round)
    unknown = !pages.revoke(block).has_value();
  stop.store(true);
  writer.join();
  CHECK(unknown);
}

// Without a SIGBUS, because nothing is mapped here; and what was cut off is not taken for zeros.
TEST_CASE("AClientThatCutsItsPageLosesItsBlocks", "[pages]") {
  Pages pages;
  REQUIRE(pages.files->open(7).ok());
  const BlockPlace block{7, 2, 100, 64};
  REQUIRE(pages.files->publish(block).ok());
  const off_t size = GENERATE(0, 64, 144, 4095);
  REQUIRE(::ftruncate(pages.files->descriptor(7), size) == 0);
  CHECK(pages.revoke(block) == std::nullopt);
}

TEST_CASE("AClientThatExtendsItsPageGainsNothing", "[pages]") {
  Pages pages;
  REQUIRE(pages.files->open(7).ok());
  const BlockPlace block{7, 2, 100, 64};
  REQUIRE(pages.files->publish(block).ok());
  REQUIRE(::ftruncate(pages.files->descriptor(7), 1 << 20) == 0);
  CHECK(pages.revoke(block) == Taken(0));
}

TEST_CASE("ARestartFindsThePagesThatItIsToKeep", "[pages]") {
  Pages pages;
  for (const ClientId client : {7, 8}) {
    REQUIRE(pages.files->open(client).ok());
    REQUIRE(pages.files->publish({client, 1, 100, 64}).ok());
    const Mapped mapped(*pages.files, client);
    mapped.slot(1).taken = 9;
  }
  const PageFiles others(pages.place, {1, 0xdef});
  const std::string foreign = pages.place + "/" + others.name(9);
  REQUIRE(::close(::open(foreign.c_str(), O_CREAT | O_CLOEXEC, 0600)) == 0);

  pages.restart({7});
  CHECK(pages.revoke({7, 1, 100, 64}) == Taken(9));
  CHECK_FALSE(std::filesystem::exists(pages.path(8)));
  CHECK(std::filesystem::exists(foreign));
  // The client asks for its page again: it is the same one.
  struct stat before {};
  struct stat after {};
  REQUIRE(::stat(pages.path(7).c_str(), &before) == 0);
  REQUIRE(pages.files->open(7).ok());
  REQUIRE(::fstat(pages.files->descriptor(7), &after) == 0);
  CHECK(before.st_ino == after.st_ino);
}

// Another file under its name, an empty one even, would say that nothing was taken.
TEST_CASE("APageThatWasRemovedIsNotReplacedWhileItsBlocksAreOut", "[pages]") {
  Pages pages;
  REQUIRE(pages.files->open(7).ok());
  const BlockPlace block{7, 1, 100, 64};
  REQUIRE(pages.files->publish(block).ok());
  SECTION("by nothing") {
    REQUIRE(::unlink(pages.path(7).c_str()) == 0);
  }
  SECTION("by a link to the page of another") {
    REQUIRE(pages.files->open(8).ok());
    REQUIRE(::unlink(pages.path(7).c_str()) == 0);
    REQUIRE(::symlink(pages.path(8).c_str(), pages.path(7).c_str()) == 0);
  }
  SECTION("by a pipe") {
    REQUIRE(::unlink(pages.path(7).c_str()) == 0);
    REQUIRE(::mkfifo(pages.path(7).c_str(), 0600) == 0);
  }
  SECTION("with its whole directory") {
    std::filesystem::remove_all(pages.place);
  }
  // This process still has it.
  CHECK(pages.revoke(block) == Taken(0));
  pages.restart({7, 8});
  CHECK(pages.files->open(7).code() == ErrorCode::UNAVAILABLE);
  CHECK(pages.revoke(block) == std::nullopt);
  pages.files->remove(7);
  CHECK(pages.files->open(7).to_string() == "OK");
}

// Without the barrier a store of the client may come behind the read of what was taken.
TEST_CASE("WithoutABarrierNobodyKnowsWhatWasTaken", "[pages]") {
  Pages pages;
  REQUIRE(pages.files->open(7).ok());
  const BlockPlace block{7, 1, 100, 64};
  REQUIRE(pages.files->publish(block).ok());
  CHECK(in_child([&] {
          if (!forbid_barriers()) return 1;
          return pages.files->revoke({&block, 1}).at(0) == std::nullopt ? 0 : 2;
        }) == 0);
  CHECK(in_child([&] {
          if (!forbid_barriers()) return 1;
          PageFiles files(pages.place, kState);
          return files.open(8).code() == ErrorCode::UNAVAILABLE ? 0 : 2;
        }) == 0);
  CHECK(pages.revoke(block) == Taken(0));
}

TEST_CASE("ANewPageIsEmptyWhateverLayThere", "[pages]") {
  Pages pages;
  REQUIRE(pages.files->open(7).ok());
  REQUIRE(pages.files->publish({7, 1, 100, 64}).ok());
  pages.files = std::make_unique<PageFiles>(pages.place, kState);
  pages.files->keep_only({});
  REQUIRE(::symlink("/dev/null", pages.path(7).c_str()) == 0);
  REQUIRE(pages.files->open(7).ok());
  const Mapped mapped(*pages.files, 7);
  CHECK(mapped.slot(1).block == 0);
  struct stat found {};
  REQUIRE(::fstat(pages.files->descriptor(7), &found) == 0);
  CHECK((found.st_mode & 0777) == 0600);
  CHECK(found.st_blocks > 0);
}

TEST_CASE("PagesAreInMemoryThatIsOurs", "[pages]") {
  SECTION("not on a disk") {
    Pages pages(std::filesystem::current_path().c_str());
    const Status opened = pages.files->open(7);
    CHECK(opened.code() == ErrorCode::UNAVAILABLE);
    CHECK(opened.text().find("is not on a tmpfs") != std::string::npos);
  }
  SECTION("not where others write") {
    Pages pages;
    REQUIRE(::mkdir(pages.place.c_str(), 0700) == 0);
    REQUIRE(::chmod(pages.place.c_str(), 0777) == 0);
    CHECK(pages.files->open(7).code() == ErrorCode::UNAVAILABLE);
    REQUIRE(::chmod(pages.place.c_str(), 0700) == 0);
    CHECK(pages.files->open(7).ok());
  }
  SECTION("not behind a link") {
    Pages pages;
    REQUIRE(::symlink(pages.root.c_str(), pages.place.c_str()) == 0);
    CHECK(pages.files->open(7).code() == ErrorCode::UNAVAILABLE);
  }
  SECTION("nowhere") {
    Pages pages;
    std::filesystem::remove_all(pages.root);
    CHECK(pages.files->open(7).code() == ErrorCode::UNAVAILABLE);
  }
}

TEST_CASE("PagesLeaveDescriptorsToOthers", "[pages]") {
  Pages pages;
  CHECK(in_child([&] {
          const rlimit few{64, 64};
          if (setrlimit(RLIMIT_NOFILE, &few) != 0) return 1;
          ClientId client = 1;
          while (client < 64 && pages.files->open(client).ok()) ++client;
          if (pages.files->open(client).code() != ErrorCode::BUSY) return 2;
          if (std::filesystem::exists(pages.path(client))) return 3;
          for (int others = 0; others < 30; ++others)
            if (::dup(0) < 0) return 4;
          return client > 1 ? 0 : 5;
        }) == 0);
}

TEST_CASE("ThereAreSoManyPages", "[pages]") {
  rlimit limit{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  limit.rlim_cur = limit.rlim_max;
  REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  Pages pages;
  for (ClientId client = 1; client <= PageFiles::kMost; ++client)
    REQUIRE(pages.files->open(client).ok());
  CHECK(pages.files->open(PageFiles::kMost + 1).code() == ErrorCode::BUSY);
  CHECK(pages.files->open(1).ok());
  pages.files->remove(5);
  CHECK_FALSE(std::filesystem::exists(pages.path(5)));
  CHECK(pages.files->open(PageFiles::kMost + 1).ok());
}

}  // namespace seqd
