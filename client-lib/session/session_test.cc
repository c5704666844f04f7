// What a session sends, repeats and returns. What it acknowledges is in
// session_acknowledgement_test.cc, deadlines are in session_deadline_test.cc, and what it does with
// a daemon that does not keep to the protocol in session_protocol_test.cc.
#include "client-lib/session/session.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "protocol/replies.h"
#include "tests/adapters/client/session_line.h"

namespace seqd::engine {
namespace {

using namespace testing;
using Fault = WireDaemon::Fault;
using Verdict = Session::Verdict;

TEST_CASE("PipelinedRequestsGetTheirAnswersByTag", "[client]") {
  SessionLine f;
  int tags[3];
  for (int& tag : tags) {
    Request request = request_for("orders");
    request.tag = &tag;
    const std::uint32_t number = f.session.submit(std::move(request));
    REQUIRE(number != 0);
  }
  f.connect();
  REQUIRE(f.exchange() == Verdict::keep);
  for (int i = 0; i < 3; ++i) {
    Answer answer;
    REQUIRE(f.session.answers().take(answer));
    CHECK(answer.tag == &tags[i]);
    CHECK(answer.first.first == i + 1);
  }
  CHECK(f.daemon.complaint() == "");
}

TEST_CASE("NothingIsSentBeforeHelloIsAnswered", "[client]") {
  SessionLine f;
  (void)f.session.submit(request_for("orders"));
  f.connect();
  const std::size_t hello = f.session.output().size();
  f.session.fill_output(f.now_ms);
  CHECK(f.session.output().size() == hello);
  CHECK_FALSE(f.session.ready());
  REQUIRE(f.exchange() == Verdict::keep);
  CHECK(f.session.ready());
  CHECK(f.daemon.complaint() == "");
}

TEST_CASE("BytesCutAnywhereOnTheWayOutLoseAndDoubleNothing", "[client]") {
  // First how long the conversation is, then cut it after every byte.
  const auto talk = [](std::size_t cut) {
    SessionLine f;
    for (int i = 0; i < 5; ++i) {
      (void)f.session.submit(request_for("orders"));
      (void)f.session.submit(request_for("orders", 3));
    }
    f.connect();
    std::size_t carried = 0;
    bool open = true;
    while (open && f.session.in_flight() > 0) {
      f.session.fill_output(f.now_ms);
      const std::string bytes(f.session.output().text().substr(0, cut - carried));
      open = bytes.size() == f.session.output().size();
      f.session.output().clear();
      carried += bytes.size();
      protocol::Buffer answers;
      REQUIRE(f.daemon.receive(f.connection, bytes, answers));
      // A connection that was cut may still have delivered its answers, or not.
      if (open || cut % 2 == 0) REQUIRE(f.session.receive(answers.text()) == Verdict::keep);
    }
    f.session.disconnected(0);
    f.finish();
    CHECK(is_one_to(20, f.ids()));
    CHECK(f.daemon.issued("orders") == 20);
    CHECK(f.daemon.complaint() == "");
    return carried;
  };
  const std::size_t whole = talk(1'000'000);
  for (std::size_t cut = 0; cut < whole; ++cut) {
    INFO("cut after " << cut);
    talk(cut);
  }
}

TEST_CASE("BytesCutAnywhereOnTheWayInLoseAndDoubleNothing", "[client]") {
  const auto talk = [](std::size_t cut, std::size_t piece) {
    SessionLine f;
    f.daemon.run_length = 2;
    for (int i = 0; i < 5; ++i) {
      (void)f.session.submit(request_for("orders"));
      (void)f.session.submit(request_for("orders", 3));
    }
    f.connect();
    std::size_t carried = 0;
    while (carried < cut && f.session.in_flight() > 0) {
      f.session.fill_output(f.now_ms);
      protocol::Buffer answers;
      REQUIRE(f.daemon.receive(f.connection, f.session.output().text(), answers));
      f.session.output().clear();
      while (!answers.empty() && carried < cut) {
        const std::size_t size = std::min({piece, answers.size(), cut - carried});
        REQUIRE(f.session.receive(answers.text().substr(0, size)) == Verdict::keep);
        answers.consume(size);
        carried += size;
      }
    }
    f.session.disconnected(0);
    f.finish();
    CHECK(is_one_to(20, f.ids()));
    CHECK(f.daemon.issued("orders") == 20);
    CHECK(f.daemon.complaint() == "");
    return carried;
  };
  const std::size_t whole = talk(1'000'000, 1'000'000);
  CHECK(talk(1'000'000, 1) == whole);
  for (std::size_t cut = 0; cut < whole; ++cut) {
    INFO("cut after " << cut);
    talk(cut, 1'000'000);
    talk(cut, 3);
  }
}

TEST_CASE("ConnectionClosedAtEveryRequestLosesAndDoublesNothing", "[client]") {
  for (const Fault fault : {Fault::close_before, Fault::close_after, Fault::stopping}) {
    for (int at = 1; at <= 12; ++at) {
      INFO("fault " << static_cast<int>(fault) << " at request " << at);
      SessionLine f;
      f.daemon.fault = [=](int number, const protocol::Message&) {
        return number == at ? fault : Fault::none;
      };
      for (int i = 0; i < 12; ++i) (void)f.session.submit(request_for("orders"));
      f.finish();
      CHECK(is_one_to(12, f.ids()));
      CHECK(f.daemon.issued("orders") == 12);
      CHECK(f.daemon.complaint() == "");
    }
  }
}

TEST_CASE("AnonymousRequestsAreRepeatedWithoutHelloIdentityAndWithoutAcks", "[client]") {
  SessionLine f{SessionSettings()};
  f.daemon.fault = [](int number, const protocol::Message&) {
    return number == 2 ? Fault::close_after : Fault::none;
  };
  for (int i = 0; i < 200; ++i) (void)f.session.submit(request_for("orders"));
  f.finish();
  CHECK(f.ids().size() == 200);
  CHECK(f.daemon.acknowledgements().empty());
  CHECK(f.daemon.identities_seen() == std::set<std::string>{""});
  // Two were issued before the connection closed, and their answers were lost with it or not.
  CHECK(f.daemon.issued("orders") >= 200);
}

TEST_CASE("DaemonThatForgotTheIdentityReceivesTheFloorBeforeTheRepeats", "[client]") {
  SessionLine f;
  f.daemon.unacknowledged_limit = 1'024;
  for (int i = 0; i < 3'000; ++i) (void)f.session.submit(request_for("orders"));
  f.finish();
  CHECK(f.ids().size() == 3'000);
  f.session.disconnected(0);
  f.daemon.forget_identities();
  (void)f.session.submit(request_for("orders"));
  f.finish();
  CHECK(f.ids() == std::vector<std::int64_t>{3'001});
  CHECK(f.daemon.complaint() == "");
  CHECK(f.daemon.acknowledgements().back() == 3'001);
}

TEST_CASE("ErrorOfOneRequestIsItsReplyAndTheOthersContinue", "[client]") {
  SessionLine f;
  (void)f.session.submit(request_for("orders"));
  (void)f.session.submit(request_for("missing"));
  (void)f.session.submit(request_for("orders"));
  f.connect();
  REQUIRE(f.exchange() == Verdict::keep);
  Answer answer;
  REQUIRE(f.session.answers().take(answer));
  CHECK(answer.first.first == 1);
  REQUIRE(f.session.answers().take(answer));
  CHECK(answer.outcome.code == SEQD_E_NO_SEQUENCE);
  CHECK(answer.outcome.text == "no sequence \"missing\" is configured");
  CHECK(answer.runs().empty());
  REQUIRE(f.session.answers().take(answer));
  CHECK(answer.first.first == 2);
}

TEST_CASE("StoppingDaemonsOtherAnswersAreTakenBeforeReconnecting", "[client]") {
  SessionLine f;
  f.daemon.fault = [](int number, const protocol::Message&) {
    return number == 1 ? Fault::stopping : Fault::none;
  };
  for (int i = 0; i < 3; ++i) (void)f.session.submit(request_for("orders"));
  f.connect();
  CHECK(f.exchange() == Verdict::reconnect);
  CHECK(f.session.trouble().code == SEQD_E_STOPPING);
  CHECK(f.session.in_flight() == 1);
  f.session.disconnected(0);
  f.finish();
  CHECK(is_one_to(3, f.ids()));
}

TEST_CASE("HelloRefusedTemporarilyMeansReconnectAndPermanentlyMeansBroken", "[client]") {
  SessionLine f;
  f.daemon.hello_fault = [](int number) { return number == 1 ? Fault::stopping : Fault::garbage; };
  protocol::Buffer refusal;
  protocol::append_error_reply(refusal, Session::kHelloNumber, ErrorCode::BAD_REQUEST, "no");
  f.daemon.garbage = std::string(refusal.text());
  (void)f.session.submit(request_for("orders"));
  f.connect();
  CHECK(f.exchange() == Verdict::reconnect);
  f.connect();
  CHECK(f.exchange() == Verdict::broken);
  CHECK(f.session.trouble().code == SEQD_E_BAD_REQUEST);
}

TEST_CASE("SynchronousAnswerDoesNotMixWithThoseOfPoll", "[client]") {
  SessionLine f;
  (void)f.session.submit(request_for("orders"));
  Request request = request_for("orders");
  request.synchronous = true;
  const std::uint32_t number = f.session.submit(std::move(request));
  (void)f.session.submit(request_for("orders"));
  CHECK(f.session.pending() == 2);
  f.connect();
  REQUIRE(f.exchange() == Verdict::keep);
  Answer answer;
  REQUIRE(f.session.synchronous().take(number, answer));
  CHECK(answer.first.first == 2);
  CHECK_FALSE(f.session.synchronous().take(number, answer));
  CHECK(f.session.pending() == 2);
  CHECK(f.ids() == std::vector<std::int64_t>{1, 3});
}

TEST_CASE("MoreThanTheCapacityIsRefusedUntilAnswersAreCollected", "[client]") {
  SessionLine f;
  for (std::size_t i = 0; i < Session::kCapacity; ++i)
    REQUIRE(f.session.submit(request_for("orders")) != 0);
  CHECK(f.session.submit(request_for("orders")) == 0);
  f.finish();
  CHECK(f.session.submit(request_for("orders")) == 0);
  Answer answer;
  REQUIRE(f.session.answers().take(answer));
  CHECK(f.session.submit(request_for("orders")) != 0);
  CHECK(f.daemon.complaint() == "");
}

TEST_CASE("NumbersNearTheirEndAreReplacedByANewIdentityWhenNothingIsInFlight", "[client]") {
  SessionSettings settings = with_identity();
  settings.first_number = Session::kRenewFrom - 1;
  SessionLine f(settings);
  CHECK_FALSE(f.session.wants_identity());
  (void)f.session.submit(request_for("orders"));
  CHECK_FALSE(f.session.wants_identity());
  f.finish();
  CHECK(f.session.wants_identity());
  f.session.disconnected(0);
  f.session.renew(protocol::Identity{9});
  CHECK_FALSE(f.session.wants_identity());
  CHECK(f.session.submit(request_for("orders")) == 1);
  f.finish();
  CHECK(is_one_to(2, f.ids()));
  CHECK(f.daemon.identities_seen().size() == 2);
}

TEST_CASE("NumbersAtTheirEndAreNotUsed", "[client]") {
  SessionSettings settings = with_identity();
  settings.first_number = Session::kLastNumber - 1;
  SessionLine f(settings);
  CHECK(f.session.submit(request_for("orders")) == Session::kLastNumber - 1);
  CHECK(f.session.submit(request_for("orders")) == 0);
}

}  // namespace
}  // namespace seqd::engine
