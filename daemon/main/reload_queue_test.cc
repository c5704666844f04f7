#include "daemon/main/reload_queue.h"

#include <catch2/catch.hpp>
#include <vector>

#include "tests/unit/virtual_time.h"

namespace seqd {
namespace {

struct Queue {
  VirtualTime time;
  int reloads = 0;
  Result<ReloadReport> next = ReloadReport{};
  std::vector<ErrorCode> answers;
  bool hangs = false;
  ReloadQueue::Done end;  // of the reload that is under way, where it hangs
  ReloadQueue queue{time, time, [this](ReloadQueue::Done done) {
                      ++reloads;
                      if (hangs)
                        end = std::move(done);
                      else
                        done(next);
                    }};
  Status ask(UserId user = 1'000) {
    return queue.ask(user, [this](const Result<ReloadReport>& report) {
      answers.push_back(report.status().code());
    });
  }
};

TEST_CASE("TheFirstReloadIsDoneAtOnce", "[reload_queue]") {
  Queue queue;
  REQUIRE(queue.ask().ok());
  CHECK(queue.reloads == 0);
  queue.time.advance(0);
  CHECK(queue.reloads == 1);
  CHECK(queue.answers.size() == 1);
}

TEST_CASE("AThousandRequestsAreTwoReloads", "[reload_queue]") {
  Queue queue;
  REQUIRE(queue.ask().ok());
  queue.time.advance(0);
  for (UserId at = 0; at < 1'000; ++at) {
    REQUIRE(queue.ask(at).ok());
    queue.time.advance(0);
  }
  CHECK(queue.reloads == 1);
  CHECK(queue.answers.size() == 1);
  queue.time.advance(ReloadQueue::kPauseMs - 1);
  CHECK(queue.reloads == 1);
  queue.time.advance(1);
  CHECK(queue.reloads == 2);
  CHECK(queue.answers.size() == 1'001);
  queue.time.advance(10 * ReloadQueue::kPauseMs);
  CHECK(queue.reloads == 2);
  REQUIRE(queue.ask().ok());
  queue.time.advance(0);
  CHECK(queue.reloads == 3);
}

TEST_CASE("OneUserDoesNotFillTheQueueOfReloads", "[reload_queue]") {
  Queue queue;
  REQUIRE(queue.ask().ok());
  queue.time.advance(0);
  std::int64_t mine = 0;
  while (queue.ask().ok() && mine < 10'000) ++mine;
  CHECK(mine == ReloadQueue::kMostWaiting / 2);
  CHECK(queue.ask().code() == ErrorCode::BUSY);
  CHECK(queue.ask(0).ok());
  CHECK(queue.ask(2'000).ok());
  queue.time.advance(ReloadQueue::kPauseMs);
  CHECK(queue.ask().ok());
}

// What was asked for before the end is not done while the daemon stops.
TEST_CASE("NothingIsReloadedWhileTheDaemonStops", "[reload_queue]") {
  Queue queue;
  REQUIRE(queue.ask().ok());
  queue.time.advance(0);
  REQUIRE(queue.ask().ok());
  queue.queue.stop({ErrorCode::STOPPING, "the daemon is stopping"});
  CHECK(queue.answers == std::vector<ErrorCode>{ErrorCode::OK, ErrorCode::STOPPING});
  CHECK(queue.ask().code() == ErrorCode::STOPPING);
  queue.time.advance(10 * ReloadQueue::kPauseMs);
  CHECK(queue.reloads == 1);
  CHECK(queue.time.pending() == 0);
}

TEST_CASE("OneReloadAtATime", "[reload_queue]") {
  Queue queue;
  queue.hangs = true;
  REQUIRE(queue.ask().ok());
  queue.time.advance(0);
  REQUIRE(queue.ask(2'000).ok());
  queue.time.advance(100 * ReloadQueue::kPauseMs);
  CHECK(queue.reloads == 1);
  CHECK(queue.answers.empty());
  queue.end(queue.next);
  CHECK(queue.answers.size() == 1);
  queue.time.advance(ReloadQueue::kPauseMs - 1);
  CHECK(queue.reloads == 1);
  queue.time.advance(1);
  CHECK(queue.reloads == 2);
  queue.end(queue.next);
  CHECK(queue.answers.size() == 2);
  queue.time.advance(10 * ReloadQueue::kPauseMs);
  CHECK(queue.reloads == 2);
}

// Those whom a reload that hangs is for count among those who wait.
TEST_CASE("WhileAReloadHangsTheQueueHasItsBound", "[reload_queue]") {
  Queue queue;
  queue.hangs = true;
  REQUIRE(queue.ask(1).ok());
  queue.time.advance(0);
  for (UserId at = 2; at <= ReloadQueue::kMostWaiting; ++at) REQUIRE(queue.ask(at).ok());
  CHECK(queue.ask(5'000).code() == ErrorCode::BUSY);
  queue.end(queue.next);
  CHECK(queue.ask(5'000).ok());
}

TEST_CASE("AReloadThatHangsWhileTheDaemonStopsIsAnsweredOnce", "[reload_queue]") {
  Queue queue;
  queue.hangs = true;
  REQUIRE(queue.ask().ok());
  queue.time.advance(0);
  REQUIRE(queue.ask().ok());
  queue.queue.stop({ErrorCode::STOPPING, "the daemon is stopping"});
  CHECK(queue.answers == std::vector<ErrorCode>{ErrorCode::STOPPING, ErrorCode::STOPPING});
  queue.end(queue.next);
  queue.time.advance(10 * ReloadQueue::kPauseMs);
  CHECK(queue.answers.size() == 2);
  CHECK(queue.reloads == 1);
  CHECK(queue.time.pending() == 0);
}

TEST_CASE("AllHearWhyTheReloadFailed", "[reload_queue]") {
  Queue queue;
  queue.next = Status(ErrorCode::CONFIG, "wrong");
  REQUIRE(queue.ask().ok());
  REQUIRE(queue.ask().ok());
  queue.time.advance(0);
  CHECK(queue.answers == std::vector<ErrorCode>{ErrorCode::CONFIG, ErrorCode::CONFIG});
}

TEST_CASE("TooManyRequestsForAReloadAreBusy", "[reload_queue]") {
  Queue queue;
  for (UserId at = 0; at < ReloadQueue::kMostWaiting; ++at) REQUIRE(queue.ask(at).ok());
  CHECK(queue.ask().code() == ErrorCode::BUSY);
  queue.time.advance(0);
  CHECK(queue.reloads == 1);
  CHECK(queue.answers.size() == ReloadQueue::kMostWaiting);
}

TEST_CASE("AQueueThatEndsSendsNoReply", "[reload_queue]") {
  VirtualTime time;
  int answers = 0;
  {
    ReloadQueue queue(time, time, [](const ReloadQueue::Done& done) { done(ReloadReport{}); });
    REQUIRE(queue.ask(1'000, [&](const Result<ReloadReport>&) { ++answers; }).ok());
  }
  time.advance(10'000);
  CHECK(answers == 0);
}

}  // namespace
}  // namespace seqd
