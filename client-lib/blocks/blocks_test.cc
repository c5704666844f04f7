// Blocks through the C ABI, against a daemon of the tests that grants them on real pages.
#include "client-lib/seqd_blocks.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client-lib/blocks/block_back_off.h"
#include "client-lib/seqd_blocks.hpp"
#include "client-lib/session/monotonic.h"
#include "tests/adapters/client/client_handle.h"
#include "tests/adapters/client/connect_hook.h"
#include "tests/adapters/client/opened_blocks.h"

namespace seqd::engine {
namespace {

using namespace testing;

// What threads took; the error that one of them got.
struct Threads {
  std::vector<std::thread> running;
  std::vector<std::vector<std::int64_t>> ids;
  std::atomic<int> failed{SEQD_OK};

  void start(seqd_blocks* blocks, int threads, int count) {
    ids.resize(static_cast<std::size_t>(threads));
    for (auto& own : ids) {
      running.emplace_back([this, blocks, count, &own] {
        for (int at = 0; at < count; ++at) {
          std::int64_t id = 0;
          const int code = seqd_blocks_next(blocks, &id);
          if (code != SEQD_OK) {
            failed = code;
            return;
          }
          own.push_back(id);
        }
      });
    }
  }
  std::vector<std::int64_t> join() {
    std::vector<std::int64_t> all;
    for (std::thread& one : running) one.join();
    for (const auto& own : ids) all.insert(all.end(), own.begin(), own.end());
    REQUIRE(failed == SEQD_OK);
    return all;
  }
};

}  // namespace

TEST_CASE("IdsComeFromBlocksAndNoneIsLostAtTheEnd", "[blocks]") {
  BlockDaemon daemon;
  daemon.start();
  Opened opened(daemon);
  const auto ids = opened.take(10'000);
  CHECK(has_no_id_twice(ids));
  CHECK(std::is_sorted(ids.begin(), ids.end()));
  CHECK(of_blocks(ids) == 10'000);
  CHECK(daemon.pages() == 1);
  CHECK(daemon.largest() > 64);
  opened.close();
  daemon.stop();
  CHECK(daemon.taken() == 10'000);
  CHECK(daemon.unknown() == 0);
  CHECK(daemon.socket().wire().complaint().empty());
}

TEST_CASE("ThreadsHaveBlocksOfTheirOwn", "[blocks]") {
  BlockDaemon daemon;
  daemon.start();
  Opened opened(daemon);
  const int threads = GENERATE(2, 40);  // there are slots for 31, and two that are shared
  Threads taking;
  taking.start(opened.blocks, threads, 2'000);
  const auto ids = taking.join();
  CHECK(ids.size() == static_cast<std::size_t>(threads) * 2'000);
  CHECK(has_no_id_twice(ids));
  opened.close();
  daemon.stop();
  CHECK(daemon.taken() == of_blocks(ids));
  CHECK(of_blocks(ids) > 0);
}

TEST_CASE("ANewThreadContinuesTheBlockOfOneThatEnded", "[blocks]") {
  BlockDaemon daemon;
  daemon.start();
  Opened opened(daemon);
  std::vector<std::int64_t> ids;
  for (int threads = 0; threads < 100; ++threads) {
    Threads one;
    one.start(opened.blocks, 1, 1);
    ids.push_back(one.join().at(0));
  }
  CHECK(has_no_id_twice(ids));
  CHECK(of_blocks(ids) == 100);
  CHECK(daemon.blocks() <= 4);
}

TEST_CASE("BlocksThatTheDaemonEndsAreNotTakenFrom", "[blocks]") {
  BlockDaemon daemon;
  daemon.longest = 10'000;
  daemon.start();
  Opened opened(daemon);
  Threads taking;
  taking.start(opened.blocks, 2, 200'000);
  std::int64_t ends = 0;
  for (; ends < 200; ++ends) daemon.end_all();
  const auto ids = taking.join();
  CHECK(has_no_id_twice(ids));
  opened.close();
  daemon.stop();
  CHECK(daemon.unknown() == 0);
  CHECK(daemon.taken() >= of_blocks(ids));
  CHECK(daemon.taken() <= of_blocks(ids) + 4 * ends);
}

TEST_CASE("WithoutADaemonABlockIsUsedUpAndThenItIsWaitedFor", "[blocks]") {
  BlockDaemon daemon;
  daemon.longest = 1'000;
  // The end of the connection is not seen as the end of the client: as after a kill of the daemon.
  daemon.socket().ended = nullptr;
  daemon.start();
  Opened opened(daemon, 200);
  auto ids = opened.take(2'000);
  daemon.stop();
  std::int64_t id = 0;
  int code = SEQD_OK;
  int more = 0;
  while ((code = seqd_blocks_next(opened.blocks, &id)) == SEQD_OK) {
    ids.push_back(id);
    REQUIRE(++more <= 2'000);
  }
  CHECK(code == SEQD_E_CONNECT);
  CHECK(std::string(seqd_blocks_last_error()).find("no daemon answers") != std::string::npos);
  daemon.start();
  for (int at = 0; at < 2'000; ++at) ids.push_back(opened.next());
  CHECK(has_no_id_twice(ids));
}

TEST_CASE("BlocksContinueAfterALostConnection", "[blocks]") {
  BlockDaemon daemon;
  // Every fifth request is lost, half of them after they were carried out.
  daemon.socket().wire().fault = [](int number, const protocol::Message&) {
    if (number % 10 == 5) return WireDaemon::Fault::close_before;
    return number % 10 == 0 ? WireDaemon::Fault::close_after : WireDaemon::Fault::none;
  };
  daemon.longest = 10;
  daemon.start();
  Opened opened(daemon);
  const auto ids = opened.take(2'000);
  CHECK(has_no_id_twice(ids));
  opened.close();
  daemon.stop();
  CHECK(daemon.unknown() == 0);
  // Each lost connection ends two blocks, and one of them may be in the middle of an ID.
  CHECK(daemon.taken() >= of_blocks(ids));
  CHECK(daemon.taken() <= of_blocks(ids) + daemon.socket().wire().hellos());
}

TEST_CASE("ABlockThatIsRepeatedAfterALostPageIsNotTakenFromTheFormerPage", "[blocks]") {
  BlockDaemon daemon;
  daemon.longest = 10;
  // The page, a block, and the next one: granted, and its reply is lost.
  daemon.socket().wire().fault = [](int number, const protocol::Message&) {
    return number == 3 ? WireDaemon::Fault::close_after : WireDaemon::Fault::none;
  };
  daemon.socket().ended = [&daemon, lost = false]() mutable {
    if (std::exchange(lost, true))
      daemon.end_all();
    else
      daemon.lose_page();
  };
  daemon.start();
  std::vector<std::int64_t> ids;
  {
    Opened opened(daemon);
    ids = opened.take(30);
  }
  daemon.stop();
  CHECK(daemon.unknown() == 2);
  CHECK(of_blocks(ids) == 30);
  CHECK(daemon.taken() == 20);  // and 10 of a block of the lost page
  daemon.start();
  Opened opened(daemon);
  for (int at = 0; at < 30; ++at) ids.push_back(opened.next());
  CHECK(has_no_id_twice(ids));
}

TEST_CASE("WhereThereIsNoBlockASingleIdIsTaken", "[blocks]") {
  BlockDaemon daemon;
  daemon.refusal = GENERATE(ErrorCode::UNAVAILABLE, ErrorCode::BUSY);
  daemon.start();
  Opened opened(daemon);
  const auto ids = opened.take(10);
  CHECK(has_no_id_twice(ids));
  CHECK(of_blocks(ids) == 0);
}

// Whatever the former one refused, and however long ago.
TEST_CASE("ADaemonThatWasRestartedIsAskedForBlocksAtOnce", "[blocks]") {
  BlockDaemon daemon;
  SECTION("after it had no page") {
    daemon.page_refusal = GENERATE(ErrorCode::UNAVAILABLE, ErrorCode::BUSY);
  }
  SECTION("after it had no block") {
    daemon.refusal = GENERATE(ErrorCode::UNAVAILABLE, ErrorCode::BUSY);
  }
  daemon.start();
  Opened opened(daemon);
  auto ids = opened.take(200);
  const std::int64_t before = of_blocks(ids);
  daemon.stop();
  daemon.page_refusal.reset();
  daemon.refusal.reset();
  daemon.start();
  // One of them may be what shows that there is another connection.
  for (int at = 0; at < 10; ++at) ids.push_back(opened.next());
  CHECK(has_no_id_twice(ids));
  CHECK(of_blocks(ids) >= before + 9);
}

// A daemon that has no block now is not asked for one with each ID.
TEST_CASE("WhereThereIsNoBlockItIsAskedForLessAndLessOften", "[blocks]") {
  BlockBackOff back_off;
  std::int64_t all_ms = 0;
  for (int refusals = 0; refusals < 6; ++refusals) all_ms += back_off.next_delay_ms();
  CHECK(all_ms == 2 + 4 + 8 + 16 + 32 + 64);
  CHECK(back_off.next_delay_ms() == BlockBackOff::kLongestMs);
  CHECK(back_off.next_delay_ms() == BlockBackOff::kLongestMs);
  back_off.reset();
  CHECK(back_off.next_delay_ms() == 2);
}

TEST_CASE("ASequenceWithoutBlocksIsAnError", "[blocks]") {
  BlockDaemon daemon;
  daemon.refusal = ErrorCode::WRONG_MODE;
  daemon.start();
  Opened opened(daemon);
  CHECK(opened.code() == SEQD_E_WRONG_MODE);
  CHECK(opened.code() == SEQD_E_WRONG_MODE);
  daemon.refusal.reset();
  CHECK(of_blocks(opened.take(10)) == 10);
}

TEST_CASE("AnAnswerThatIsNoBlockIsAnError", "[blocks]") {
  BlockDaemon daemon;
  daemon.answer = GENERATE(protocol::Run{1, 65, 1},  // more than were asked for
                           protocol::Run{1, 0, 1}, protocol::Run{1, -1, 1}, protocol::Run{1, 2, 0},
                           protocol::Run{INT64_MAX, 2, 1}, protocol::Run{0, 3, INT64_MAX},
                           protocol::Run{INT64_MIN, 2, -1});
  daemon.start();
  Opened opened(daemon);
  CHECK(opened.code() == SEQD_E_PROTOCOL);
  daemon.answer.reset();
  CHECK(of_blocks(opened.take(10)) == 10);
}

TEST_CASE("AChildMayNotTakeFromItsParentsBlocks", "[blocks]") {
  BlockDaemon daemon;
  daemon.start();
  Opened opened(daemon);
  auto ids = opened.take(10);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::int64_t id = 0;
    const int code = seqd_blocks_next(opened.blocks, &id);
    seqd_blocks_close(opened.blocks);
    ::_exit(code == SEQD_E_FORKED && id == 0 ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  for (int at = 0; at < 1'000; ++at) ids.push_back(opened.next());
  CHECK(has_no_id_twice(ids));
  opened.close();
  daemon.stop();
  CHECK(daemon.taken() == 1'010);
}

TEST_CASE("AChildClosesItsParentsBlocksWhileThreadsOfTheParentWait", "[blocks]") {
  BlockDaemon daemon;  // that does not listen yet
  Opened opened(daemon);
  Threads threads;
  threads.start(opened.blocks, 4, 10);
  int status = 0;
  for (int fork = 0; fork < 20 && status == 0; ++fork) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      seqd_blocks_close(opened.blocks);
      ::_exit(0);
    }
    if (::waitpid(child, &status, 0) != child) status = -1;
  }
  daemon.start();
  CHECK(status == 0);
  CHECK(has_no_id_twice(threads.join()));
}

// A daemon that was restarted waits for its clients for a while before it ends their blocks.
TEST_CASE("ADaemonThatWasRestartedSeesAtOnceThatAHandleIsClosed", "[blocks]") {
  BlockDaemon daemon;
  daemon.socket().ended = [&daemon, killed = false]() mutable {
    if (std::exchange(killed, true)) daemon.end_all();
  };
  daemon.start();
  Opened opened(daemon);
  const auto ids = opened.take(10);
  daemon.stop();
  const bool is_back = GENERATE(true, false);
  if (is_back) daemon.start();
  opened.close();
  if (!is_back) daemon.start();
  daemon.stop();
  CHECK(daemon.taken() == (is_back ? of_blocks(ids) : 0));
  CHECK(of_blocks(ids) == 10);
}

// The child of another thread, in the middle of a connect.
TEST_CASE("AChildClosesAConnectionThatItsParentWasMaking", "[blocks][client]") {
  BlockDaemon daemon;
  daemon.start();
  Opened opened(daemon);
  const Handle handle(daemon.socket());
  const bool with_blocks = GENERATE(true, false);
  int status = -1;
  const ConnectHook hook([&](int descriptor) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (with_blocks)
        seqd_blocks_close(opened.blocks);
      else
        seqd_close(handle.client);
      ::_exit(::fcntl(descriptor, F_GETFD) < 0 ? 0 : 1);
    }
    if (::waitpid(child, &status, 0) != child) status = -2;
  });
  std::int64_t id = 0;
  CHECK((with_blocks ? opened.code() : seqd_next(handle.client, "orders", &id)) == SEQD_OK);
  CHECK(status == 0);
}

TEST_CASE("AThreadThatMustNotWaitTakesWhatIsAtHand", "[blocks]") {
  BlockDaemon daemon;  // that does not listen yet
  Opened opened(daemon);
  std::int64_t id = 0;
  CHECK(seqd_blocks_try_next(opened.blocks, &id) == SEQD_E_UNAVAILABLE);
  CHECK(std::string(seqd_blocks_last_error()) == "no ID is at hand: a block is asked for");
  daemon.start();
  auto ids = opened.take(1);  // with this the block for the next calls comes, too
  int refused = 0;
  while (ids.size() < 10'000 && refused < 1'000'000) {
    const int code = seqd_blocks_try_next(opened.blocks, &id);
    if (code == SEQD_OK)
      ids.push_back(id);
    else
      ++refused;
    REQUIRE((code == SEQD_OK || code == SEQD_E_UNAVAILABLE));
  }
  REQUIRE(ids.size() == 10'000);
  // Both ways go on with the same block.
  for (int at = 0; at < 100; ++at) ids.push_back(opened.next());
  CHECK(has_no_id_twice(ids));
  CHECK(of_blocks(ids) >= 10'099);
  opened.close();
  daemon.stop();
  CHECK(daemon.taken() == of_blocks(ids));
}

// A sequence at rest has no ID available for the first block, which says nothing of the room.
TEST_CASE("RefusalsOfTheFirstBlockDoNotMakeTheNextOnesSmall", "[blocks]") {
  BlockDaemon daemon;
  daemon.refusal = ErrorCode::UNAVAILABLE;
  daemon.start();
  Opened opened(daemon);
  std::int64_t id = 0;
  int refusals = 0;
  for (int calls = 0; refusals < 2; ++calls) {
    REQUIRE(calls < 10'000'000);
    REQUIRE(seqd_blocks_try_next(opened.blocks, &id) == SEQD_E_UNAVAILABLE);
    if (std::string(seqd_blocks_last_error()).find("no block") != std::string::npos) ++refusals;
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
  Opened opened(daemon, 1'000);
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
  Threads threads;
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

TEST_CASE("AThreadIsCancelledBehindItsCall", "[blocks]") {
  BlockDaemon daemon;            // that does not listen yet
  Opened opened(daemon, 1'000);  // longer than the pauses between attempts
  int code = SEQD_OK;
  std::thread cancelled([&] {
    ::pthread_cancel(::pthread_self());
    std::int64_t id = 0;
    code = seqd_blocks_next(opened.blocks, &id);
    ::pthread_testcancel();
    code = SEQD_OK;
  });
  cancelled.join();
  CHECK(code == SEQD_E_CONNECT);
  daemon.start();
  CHECK(of_blocks(opened.take(10)) == 10);
}

TEST_CASE("WhatCannotBeOpenedSaysWhy", "[blocks]") {
  seqd_options options = SEQD_OPTIONS_INIT;
  seqd_blocks* blocks = nullptr;
  CHECK(seqd_blocks_open(&options, "", &blocks) == SEQD_E_ARGUMENT);
  CHECK(blocks == nullptr);
  CHECK(seqd_blocks_open(&options, nullptr, &blocks) == SEQD_E_ARGUMENT);
  CHECK(seqd_blocks_open(nullptr, "orders", nullptr) == SEQD_E_ARGUMENT);
  options.flags = SEQD_ANONYMOUS;
  CHECK(seqd_blocks_open(&options, "orders", &blocks) == SEQD_E_ARGUMENT);
  CHECK(std::string(seqd_blocks_last_error()).find("identity") != std::string::npos);
  std::int64_t id = 0;
  CHECK(seqd_blocks_next(nullptr, &id) == SEQD_E_ARGUMENT);
  seqd_blocks_close(nullptr);
}

TEST_CASE("BlocksOfCpp", "[blocks]") {
  BlockDaemon daemon;
  daemon.start();
  client::Options options;
  options.socket_path = daemon.socket().path();
  client::Blocks blocks("orders", options);
  const auto id = blocks.next();
  REQUIRE(id.ok());
  client::Blocks moved(std::move(blocks));
  CHECK(*moved.next() == *id + 1);
  CHECK(blocks.next().error().code == SEQD_E_ARGUMENT);  // NOLINT(bugprone-use-after-move)
  options.flags = SEQD_ANONYMOUS;
  CHECK(client::Blocks("orders", options).next().error().code == SEQD_E_ARGUMENT);
}

}  // namespace seqd::engine
