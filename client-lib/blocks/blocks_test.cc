// Blocks through the C ABI, against a daemon of the tests that grants them on real pages.
#include "client-lib/seqd_blocks.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "client-lib/blocks/block_back_off.h"
#include "client-lib/seqd_blocks.hpp"
#include "tests/adapters/client/block_threads.h"
#include "tests/adapters/client/opened_blocks.h"

namespace seqd::engine {
namespace {

using namespace testing;

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
  BlockThreads taking;
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
    BlockThreads one;
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
  BlockThreads taking;
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
  Opened opened(daemon, 3'000);
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
