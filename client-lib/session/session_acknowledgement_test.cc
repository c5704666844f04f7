// When a session acknowledges the answers it has, and that it keeps to the window of the daemon.
#include <cstdint>
#include <string>
#include <vector>

#include "client-lib/session/session.h"
#include "protocol/replies.h"
#include "tests/adapters/client/session_line.h"

namespace seqd::engine {
namespace {

using namespace testing;
using Fault = WireDaemon::Fault;
using Verdict = Session::Verdict;

TEST_CASE("EveryEightAnswersAreAcknowledgedBeforeTheNextRequest", "[client]") {
  SessionLine f;
  f.connect();
  for (int i = 0; i < 30; ++i) {
    (void)f.session.submit(request_for("orders"));
    REQUIRE(f.exchange() == Verdict::keep);
  }
  // The first one right after hello, because the daemon's memory is not known then.
  CHECK(f.daemon.acknowledgements() == std::vector<std::uint32_t>{2, 10, 18, 26});
  f.session.acknowledge_all();
  REQUIRE(f.exchange() == Verdict::keep);
  CHECK(f.daemon.acknowledgements().back() == 31);
  CHECK(f.ids().size() == 30);
}

TEST_CASE("PipelinedAnswersAreAcknowledgedTogether", "[client]") {
  SessionLine f;
  f.connect();
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 100; ++i) (void)f.session.submit(request_for("orders"));
    REQUIRE(f.exchange() == Verdict::keep);
  }
  CHECK(f.daemon.acknowledgements() == std::vector<std::uint32_t>{101, 201, 301});
  CHECK(f.ids().size() == 300);
}

// Otherwise the daemon keeps them as long as the application has no further request.
TEST_CASE("ABurstIsAcknowledgedWhenNothingFollowsIt", "[client]") {
  SessionLine f;
  for (int i = 0; i < 9; ++i) (void)f.session.submit(request_for("orders"));
  f.connect();
  REQUIRE(f.exchange() == Verdict::keep);
  CHECK(f.daemon.acknowledgements() == std::vector<std::uint32_t>{10});
  f.session.fill_output(f.now_ms);
  CHECK(f.session.output().empty());
  // Eight wait for the next request, so that requests made one at a time cost no packet more.
  for (int i = 0; i < 8; ++i) (void)f.session.submit(request_for("orders"));
  REQUIRE(f.exchange() == Verdict::keep);
  CHECK(f.daemon.acknowledgements() == std::vector<std::uint32_t>{10});
}

TEST_CASE("BurstsThatFollowEachOtherAreAcknowledgedWithTheNextOne", "[client]") {
  SessionLine f;
  f.connect();
  const auto burst = [&f](int count) {
    for (int i = 0; i < count; ++i) (void)f.session.submit(request_for("orders"));
    REQUIRE(f.exchange() == Verdict::keep);
    f.session.fill_output(f.now_ms);
    return f.session.output().empty() ? f.daemon.acknowledgements() : std::vector<std::uint32_t>();
  };
  using Floors = std::vector<std::uint32_t>;
  CHECK(burst(16) == Floors{17});  // whether another one follows is not known
  CHECK(burst(16) == Floors{17});
  CHECK(burst(16) == Floors{17, 33});
  CHECK(burst(17) == Floors{17, 33, 49, 66});  // too many to be left
  f.now_ms += 2;
  CHECK(burst(16) == Floors{17, 33, 49, 66, 82});
}

TEST_CASE("AnswersAboveOneThatIsMissingAreNotAcknowledged", "[client]") {
  SessionLine f;
  f.daemon.fault = [](int number, const protocol::Message&) {
    return number == 20 ? Fault::ignore : Fault::none;
  };
  for (int i = 0; i < 100; ++i) (void)f.session.submit(request_for("orders"));
  f.connect();
  REQUIRE(f.exchange() == Verdict::keep);
  CHECK(f.daemon.acknowledgements() == std::vector<std::uint32_t>{20});
}

// What all clients of a user have not acknowledged is what a BUSY may be about.
TEST_CASE("ABusyAnswerIsFollowedByAnAcknowledgement", "[client]") {
  SessionLine f;
  f.daemon.fault = [](int number, const protocol::Message&) {
    return number == 4 ? Fault::busy : Fault::none;
  };
  f.connect();
  for (int i = 0; i < 5; ++i) {
    (void)f.session.submit(request_for("orders"));
    REQUIRE(f.exchange() == Verdict::keep);
  }
  CHECK(f.daemon.acknowledgements() == std::vector<std::uint32_t>{2, 5});
}

// The requests of seqd_submit_next, many of which are written at once.
void submit_next(SessionLine& line, int count) {
  for (int i = 0; i < count; ++i)
    (void)line.session.submit_next("orders", {nullptr, 1'000, 1'000, false});
}

TEST_CASE("RequestsThatAreWrittenTogetherKeepToTheWindowAndTheAcknowledgements", "[client]") {
  for (const std::int64_t limit : {1, 2, 16, 63, 100, 1'024, 65'536}) {
    SessionLine f;
    f.daemon.unacknowledged_limit = limit;
    f.daemon.fault = [limit](int number, const protocol::Message&) {
      // One of the first is answered on the next connection.
      return number == limit % 300 + 1 ? Fault::close_after : Fault::none;
    };
    submit_next(f, 500);
    f.finish();
    for (int bursts = 0; bursts < 20; ++bursts) {
      submit_next(f, 300);
      REQUIRE(f.exchange() == Verdict::keep);
    }
    CHECK(is_one_to(6'500, f.ids()));
    CHECK(f.daemon.complaint() == "");
    CHECK(f.daemon.repeats() >= 1);
  }
}

TEST_CASE("WhatIsWrittenTogetherFillsOneBufferAndNoMore", "[client]") {
  SessionLine f;
  f.connect();
  REQUIRE(f.exchange() == Verdict::keep);
  submit_next(f, 10'000);
  f.session.fill_output(f.now_ms);
  CHECK(f.session.output().size() >= 64 * 1'024);
  CHECK(f.session.output().size() < 65 * 1'024);
  CHECK(f.session.any_unsent());
  REQUIRE(f.exchange() == Verdict::keep);
  CHECK(is_one_to(10'000, f.ids()));
}

// Nothing else is between what a socket has left of a buffer, and the next requests.
TEST_CASE("AnAcknowledgementThatFillsTheBufferIsFollowedByOneRequest", "[client]") {
  for (std::size_t left = 64 * 1'024 - 16; left < 64 * 1'024; ++left) {
    SessionLine f;
    f.daemon.fault = [](int, const protocol::Message&) { return Fault::ignore; };
    f.connect();
    submit_next(f, 600);
    REQUIRE(f.exchange() == Verdict::keep);
    protocol::Buffer answers;
    for (std::uint32_t number = 1; number <= 9; ++number)
      protocol::append_id_reply(answers, number, number);
    REQUIRE(f.session.receive(answers.text()) == Verdict::keep);
    f.session.output().append(std::string(left, 'x'));
    submit_next(f, 10'000);
    f.session.fill_output(f.now_ms);
    CHECK(f.session.output().size() >= 64 * 1'024);
    CHECK(f.session.output().size() < 65 * 1'024);
  }
}

TEST_CASE("SmallWindowOfTheDaemonIsAcknowledgedBeforeItCloses", "[client]") {
  for (const std::int64_t limit : {1, 2, 16, 63, 100}) {
    SessionLine f;
    f.daemon.unacknowledged_limit = limit;
    f.connect();
    for (int i = 0; i < 200; ++i) {
      (void)f.session.submit(request_for("orders"));
      REQUIRE(f.exchange() == Verdict::keep);
    }
    CHECK(is_one_to(200, f.ids()));
    CHECK(f.daemon.complaint() == "");
  }
}

TEST_CASE("OneRequestThatWaitsHoldsTheWindowShutAndTheOthersWaitForIt", "[client]") {
  SessionLine f;
  f.daemon.unacknowledged_limit = 1'024;
  f.daemon.fault = [](int number, const protocol::Message&) {
    return number == 1 ? Fault::ignore : Fault::none;
  };
  for (int i = 0; i < 3'000; ++i) (void)f.session.submit(request_for("orders"));
  f.connect();
  REQUIRE(f.exchange() == Verdict::keep);
  CHECK(f.session.in_flight() == 3'000 - 1'023);
  CHECK(f.daemon.complaint() == "");
  f.session.disconnected(0);
  f.finish();
  CHECK(is_one_to(3'000, f.ids()));
  CHECK(f.daemon.complaint() == "");
}

}  // namespace
}  // namespace seqd::engine
