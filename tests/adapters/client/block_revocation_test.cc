// The race that blocks stand on: a process takes IDs as fast as it can while the daemon's side ends
// its blocks. Both sides are the real ones: BlockTaker on an attached page, SharedPages.
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <new>

#include "client-lib/blocks/block_page.h"
#include "client-lib/blocks/block_taker.h"
#include "tests/adapters/in_time.h"
#include "tests/adapters/page_test.h"

namespace seqd {
namespace {

using testing::PageTest;
using Clock = std::chrono::steady_clock;

constexpr ClientId kClient = 7;
constexpr std::int64_t kCount = std::int64_t{1} << 40;  // never used up

// What the two processes tell each other, apart from the page.
struct Board {
  alignas(64) std::atomic<std::uint32_t> told{0};   // the block that may be taken from
  alignas(64) std::atomic<std::uint32_t> begun{0};  // the taker takes from it
  std::atomic<std::uint32_t> ended{0};              // the taker has seen the end of it
  std::atomic<std::uint64_t> used{0};               // IDs of it that the taker used
  alignas(64) std::atomic<bool> stop{false};
};

Board& shared_board() {
  void* const at =
      ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(at != MAP_FAILED);
  return *new (at) Board;
}

[[noreturn]] void take_blocks(Board& board, const engine::BlockPage& page) {
  if (::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) != 0) _exit(1);
  engine::BlockTaker taker;
  for (std::uint32_t done = 0;;) {
    const std::uint32_t told = board.told.load(std::memory_order_acquire);
    if (board.stop.load(std::memory_order_relaxed)) _exit(0);
    if (told == done) {
      ::sched_yield();
      continue;
    }
    // The IDs are 0, 1, 2 ...: the last one used says how many were.
    taker.begin(page.slot(0), {0, 1, kCount}, kCount);
    std::uint64_t used = 0;
    std::int64_t id = 0;
    board.begun.store(told, std::memory_order_release);
    while (taker.take(id)) used = static_cast<std::uint64_t>(id) + 1;
    board.used.store(used, std::memory_order_relaxed);
    done = told;
    board.ended.store(done, std::memory_order_release);
  }
}

// Waits for the taker to come to that block.
bool is_at(const std::atomic<std::uint32_t>& mark, std::uint32_t number) {
  const auto end = Clock::now() + std::chrono::seconds(60);
  while (mark.load(std::memory_order_acquire) != number) {
    if (Clock::now() > end) return false;
    ::sched_yield();
  }
  return true;
}

// As many as asked for; on a machine that has no CPU left, as many as come in the time.
int rounds() {
  const char* const given = std::getenv("REVOCATIONS");
  return given == nullptr ? 2'000 : std::atoi(given);
}

}  // namespace

TEST_CASE("NoIdIsTakenThatTheEndOfItsBlockDidNotCount", "[blocks][revocation]") {
  PageTest test;
  REQUIRE(test.pages->open(kClient, ::geteuid()).to_string() == "OK");
  std::shared_ptr<engine::BlockPage> page;
  REQUIRE(engine::BlockPage::attach(test.page_info(kClient), page).ok());
  Board& board = shared_board();
  const pid_t taker = ::fork();
  REQUIRE(taker >= 0);
  if (taker == 0) take_blocks(board, *page);

  std::uint64_t lost = 0;
  std::uint64_t all = 0;
  std::uint32_t wrong = 0;
  std::uint32_t unknown = 0;
  const auto longest = Clock::now() + std::chrono::seconds(rounds() / 50);
  for (int round = 1; round <= rounds() && Clock::now() < longest; ++round) {
    const auto number = static_cast<std::uint32_t>(round);
    const BlockPlace block{kClient, 0, number, kCount};
    REQUIRE(test.pages->publish(block).ok());
    board.told.store(number, std::memory_order_release);
    REQUIRE_IN_TIME(is_at(board.begun, number));
    // Ended at once, in the middle of the first IDs, or later.
    for (int spins = round % 64 * 50; spins > 0; --spins)
      std::atomic_signal_fence(std::memory_order_seq_cst);
    const std::optional<std::int64_t> taken = test.pages->revoke({&block, 1}).at(0);
    REQUIRE_IN_TIME(is_at(board.ended, number));
    const std::uint64_t used = board.used.load(std::memory_order_relaxed);
    all += used;
    if (!taken) {
      ++unknown;
      continue;
    }
    const auto counted = static_cast<std::uint64_t>(*taken);
    if (used > counted || counted > used + 1) ++wrong;
    if (counted > used) ++lost;
  }
  board.stop.store(true);
  int status = 0;
  REQUIRE(::waitpid(taker, &status, 0) == taker);
  test.pages->remove(kClient);
  INFO(all << " IDs, " << lost << " counted and not used");
  CHECK(status == 0);
  CHECK(wrong == 0);
  CHECK(unknown == 0);
  CHECK(all > 0);
}

}  // namespace seqd
