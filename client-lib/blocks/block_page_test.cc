// The page of blocks that a daemon names: what is none is not attached, and another one is taken
// up.
#include "client-lib/blocks/block_page.h"

#include <sys/ipc.h>
#include <sys/shm.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "protocol/block_slot.h"
#include "tests/adapters/client/opened_blocks.h"

namespace seqd::engine {
namespace {

using namespace testing;

// Memory of System V that another program of this user made.
struct Others {
  explicit Others(std::size_t size) {
    while (id < 0) id = ::shmget(key = static_cast<key_t>(random() >> 1), size, kNew);
    at = static_cast<char*>(::shmat(id, nullptr, 0));
  }
  ~Others() {
    ::shmdt(at);
    ::shmctl(id, IPC_RMID, nullptr);
  }
  Others(const Others&) = delete;
  Others& operator=(const Others&) = delete;
  bool is_untouched() const {
    return std::all_of(at, at + protocol::kBlockPageBytes, [](char byte) { return byte == 0; });
  }

  static constexpr int kNew = IPC_CREAT | IPC_EXCL | 0600;
  std::random_device random;
  key_t key = 0;
  int id = -1;
  char* at = nullptr;
};

}  // namespace

TEST_CASE("AnotherPageIsTakenUp", "[blocks]") {
  BlockDaemon daemon;
  daemon.start();
  Opened opened(daemon);
  std::vector<std::int64_t> ids;
  for (int pages = 0; pages < 20; ++pages) {
    for (int at = 0; at < 100; ++at) ids.push_back(opened.next());
    daemon.replace_page();
  }
  CHECK(has_no_id_twice(ids));
  CHECK(of_blocks(ids) > 1'000);
  opened.close();
  daemon.stop();
  CHECK(daemon.taken() == of_blocks(ids));
  CHECK(daemon.unknown() == 0);
}

TEST_CASE("APageThatIsNoneIsNotAttached", "[blocks]") {
  BlockDaemon daemon;
  const Others longer(protocol::kBlockPageBytes + 1);
  const Others given(protocol::kBlockPageBytes);
  SECTION("memory of another size") {
    daemon.page_key = longer.key;
  }
  SECTION("memory that is gone, or of another IPC namespace") {
    daemon.page_key = (longer.key ^ given.key) | 1;
  }
  SECTION("memory of another maker") {
    daemon.page_key = given.key;
    daemon.page_maker = ::geteuid() + 1;
  }
  SECTION("memory that is another user's now") {
    shmid_ds facts = {};
    facts.shm_perm.uid = ::geteuid() + 1;
    facts.shm_perm.mode = 0600;
    REQUIRE(::shmctl(given.id, IPC_SET, &facts) == 0);
    daemon.page_key = given.key;
  }
  SECTION("a number that is no key") {
    daemon.page_key = GENERATE(std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 31, INT64_MIN);
  }
  SECTION("slots of another size") {
    daemon.page_slot_bytes = 32;
  }
  SECTION("no slots") {
    daemon.page_slots = 0;
  }
  SECTION("more slots than the memory has") {
    daemon.page_slots = 65;
  }
  SECTION("more slots than anybody has") {
    daemon.page_slots = std::int64_t{1} << 60;
  }
  daemon.start();
  Opened opened(daemon);
  const auto ids = opened.take(20);
  CHECK(has_no_id_twice(ids));
  CHECK(of_blocks(ids) == 0);
  CHECK(daemon.pages() == 1);  // it is not asked for again on this connection
  CHECK(given.is_untouched());
  CHECK(longer.is_untouched());
  CHECK(std::string(seqd_blocks_last_error()).find("page for blocks") != std::string::npos);
  opened.close();
  daemon.stop();
  CHECK(daemon.taken() == 0);
}

TEST_CASE("ADaemonWithoutPagesIsAskedForIds", "[blocks]") {
  BlockDaemon daemon;
  daemon.page_refusal = ErrorCode::UNAVAILABLE;
  daemon.start();
  Opened opened(daemon);
  const auto ids = opened.take(20);
  CHECK(has_no_id_twice(ids));
  CHECK(of_blocks(ids) == 0);
}

}  // namespace seqd::engine
