// Blocks of threads that must not wait: seqd_blocks_try_next.
#include <catch2/catch.hpp>
#include <future>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "client-lib/seqd_blocks.h"
#include "client-lib/session/monotonic.h"
#include "tests/adapters/client/block_threads.h"
#include "tests/adapters/client/opened_blocks.h"
#include "tests/adapters/in_time.h"

namespace seqd::engine {
namespace {

using namespace testing;

}  // namespace

TEST_CASE("AThreadThatMustNotWaitTakesWhatIsAtHand", "[blocks]") {
  BlockDaemon daemon;  // that does not listen yet
  Opened opened(daemon);
  std::int64_t id = 0;
  CHECK(seqd_blocks_try_next(opened.blocks, &id) == SEQD_E_UNAVAILABLE);
  CHECK(std::string(seqd_blocks_last_error()) == "no ID is available yet: a block was requested");
  daemon.start();
  auto ids = opened.take(1);  // with this the block for the next calls comes, too
  const std::int64_t late_ms = monotonic_ms() + 300'000;
  while (ids.size() < 10'000) {
    const int code = seqd_blocks_try_next(opened.blocks, &id);
    REQUIRE((code == SEQD_OK || code == SEQD_E_UNAVAILABLE));
    if (code == SEQD_OK) {
      ids.push_back(id);
      continue;
    }
    REQUIRE_IN_TIME(monotonic_ms() < late_ms);
    std::this_thread::yield();
  }
  // Both ways go on with the same block.
  for (int at = 0; at < 100; ++at) ids.push_back(opened.next());
  CHECK(has_no_id_twice(ids));
  CHECK(of_blocks(ids) >= 10'099);
  opened.close();
  daemon.stop();
  CHECK(daemon.taken() == of_blocks(ids));
}

TEST_CASE("ARefusalIsSaidUntilABlockIsRequestedAgain", "[blocks]") {
  BlockDaemon daemon;
  daemon.refusal = ErrorCode::BUSY;
  daemon.start();
  Opened opened(daemon);
  std::int64_t id = 0;
  std::set<std::string> texts;
  int refused = 0;
  for (int calls = 0; daemon.asked() < 8; ++calls) {
    REQUIRE(calls < 10'000'000);
    REQUIRE(seqd_blocks_try_next(opened.blocks, &id) == SEQD_E_UNAVAILABLE);
    texts.insert(seqd_blocks_last_error());
    refused += std::string(seqd_blocks_last_error()) == "no block" ? 1 : 0;
  }
  // Not only when it came: also in the pause behind it.
  CHECK(refused > daemon.asked());
  CHECK(texts ==
        std::set<std::string>{"no ID is available yet: a block was requested", "no block"});
}

// A sequence at rest has no ID available for the first block, which says nothing of the room.
TEST_CASE("RefusalsOfTheFirstBlockDoNotMakeTheNextOnesSmall", "[blocks]") {
  BlockDaemon daemon;
  daemon.refusal = ErrorCode::UNAVAILABLE;
  daemon.start();
  Opened opened(daemon);
  std::int64_t id = 0;
  // The third request is behind the second refusal.
  for (int calls = 0; daemon.asked() < 3; ++calls) {
    REQUIRE(calls < 10'000'000);
    REQUIRE(seqd_blocks_try_next(opened.blocks, &id) == SEQD_E_UNAVAILABLE);
  }
  daemon.refusal.reset();
  std::vector<std::int64_t> ids;
  for (int calls = 0; of_blocks(ids) == 0; ++calls) {
    REQUIRE(calls < 10'000'000);
    if (seqd_blocks_try_next(opened.blocks, &id) == SEQD_OK) ids.push_back(id);
  }
  for (int at = 0; at < 60; ++at) ids.push_back(opened.next());
  CHECK(of_blocks(ids) == 61);
  CHECK(daemon.blocks() <= 2);
}

TEST_CASE("AnIdThatCameLateIsNotLostToACallThatMustNotWait", "[blocks]") {
  BlockDaemon daemon;
  daemon.refusal = ErrorCode::UNAVAILABLE;
  std::promise<void> goes_on;
  // The page, a block, and the single ID instead, which has a later deadline than its call.
  daemon.socket().wire().fault = [&](int number, const protocol::Message&) {
    const std::int64_t later_ms = monotonic_ms() + 50;
    while (number == 2 && monotonic_ms() < later_ms) std::this_thread::yield();
    if (number == 3) goes_on.get_future().wait();
    return WireDaemon::Fault::none;
  };
  daemon.start();
  Opened opened(daemon, 5'000);
  CHECK(opened.code() == SEQD_E_TIMEOUT);
  goes_on.set_value();
  daemon.stop();  // after its reply
  std::int64_t id = 0;
  CHECK(seqd_blocks_try_next(opened.blocks, &id) == SEQD_OK);
  CHECK(id == 1);
}

TEST_CASE("ThreadsThatMustNotWaitShareTheSlotsThatAreLeft", "[blocks]") {
  BlockDaemon daemon;
  daemon.start();
  Opened opened(daemon);
  BlockThreads threads;
  threads.ids.resize(40);
  for (auto& own : threads.ids) {
    threads.running.emplace_back([&threads, &own, blocks = opened.blocks] {
      while (own.size() < 500) {
        std::int64_t id = 0;
        const int code = seqd_blocks_try_next(blocks, &id);
        if (code == SEQD_OK)
          own.push_back(id);
        else if (code != SEQD_E_UNAVAILABLE)
          threads.failed = code;
        if (threads.failed != SEQD_OK) return;
      }
    });
  }
  const auto ids = threads.join();
  CHECK(ids.size() == 20'000);
  CHECK(has_no_id_twice(ids));
  CHECK(of_blocks(ids) == 20'000);
}

}  // namespace seqd::engine
