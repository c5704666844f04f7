#include "client-lib/session.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "protocol/replies.h"
#include "protocol/value_writer.h"
#include "tests/adapters/wire_daemon.h"

namespace seqd::engine {
namespace {

using testing::WireDaemon;
using Fault = WireDaemon::Fault;
using Verdict = Session::Verdict;

SessionSettings with_identity() {
  SessionSettings settings;
  settings.hello.client = protocol::Identity{1, 2, 3};
  settings.hello.name = "test";
  return settings;
}

Request request_for(const std::string& name, std::int64_t count = 0) {
  Request request;
  request.name = name;
  request.deadline_ms = 1'000;
  request.connect_deadline_ms = 1'000;
  if (count > 0) {
    request.method = Request::Method::range;
    request.count = count;
  }
  return request;
}

Request call_of(const std::string& method) {
  Request request = request_for(method);
  request.method = Request::Method::call;
  request.params = std::string("\x90", 1);
  return request;
}

// A session and a daemon with nothing but bytes between them.
struct Fixture {
  WireDaemon daemon;
  Session session;
  WireDaemon::Connection connection;

  explicit Fixture(SessionSettings settings = with_identity()) : session(settings) {}

  void connect() {
    connection = WireDaemon::Connection();
    session.connected();
  }
  // Carries bytes to and fro until nothing moves. What the session made of it.
  Verdict exchange() {
    for (;;) {
      session.fill_output();
      if (session.output().empty()) return Verdict::keep;
      protocol::Buffer answers;
      const bool open = daemon.receive(connection, session.output().text(), answers);
      session.output().clear();
      const Verdict verdict = session.receive(answers.text());
      if (verdict != Verdict::keep || !open) return open ? verdict : Verdict::reconnect;
    }
  }
  // Connects, as often as it takes, until nothing is unanswered.
  void finish() {
    for (int attempts = 0; attempts < 100 && session.in_flight() > 0; ++attempts) {
      connect();
      if (exchange() != Verdict::keep) session.disconnected(0);
    }
    CHECK(session.in_flight() == 0);
  }
  std::vector<std::int64_t> ids() {
    std::vector<std::int64_t> found;
    Answer answer;
    while (session.take(answer)) {
      CHECK(answer.outcome.text == "");
      for (const seqd_run& run : answer.runs())
        for (std::int64_t i = 0; i < run.count; ++i) found.push_back(run.first + i * run.step);
    }
    return found;
  }
};

bool is_one_to(std::int64_t last, const std::vector<std::int64_t>& ids) {
  const std::set<std::int64_t> unique(ids.begin(), ids.end());
  return unique.size() == ids.size() && static_cast<std::int64_t>(ids.size()) == last &&
         *unique.begin() == 1 && *unique.rbegin() == last;
}

}  // namespace

TEST_CASE("PipelinedRequestsGetTheirAnswersByTag", "[client]") {
  Fixture f;
  int tags[3];
  for (int& tag : tags) {
    Request request = request_for("orders");
    request.tag = &tag;
    REQUIRE(f.session.submit(request) != 0);
  }
  f.connect();
  REQUIRE(f.exchange() == Verdict::keep);
  for (int i = 0; i < 3; ++i) {
    Answer answer;
    REQUIRE(f.session.take(answer));
    CHECK(answer.tag == &tags[i]);
    CHECK(answer.first.first == i + 1);
  }
  CHECK(f.daemon.complaint() == "");
}

TEST_CASE("NothingIsSentBeforeHelloIsAnswered", "[client]") {
  Fixture f;
  (void)f.session.submit(request_for("orders"));
  f.connect();
  const std::size_t hello = f.session.output().size();
  f.session.fill_output();
  CHECK(f.session.output().size() == hello);
  CHECK_FALSE(f.session.ready());
  REQUIRE(f.exchange() == Verdict::keep);
  CHECK(f.session.ready());
  CHECK(f.daemon.complaint() == "");
}

TEST_CASE("BytesCutAnywhereOnTheWayOutLoseAndDoubleNothing", "[client]") {
  // First how long the conversation is, then cut it after every byte.
  const auto talk = [](std::size_t cut) {
    Fixture f;
    for (int i = 0; i < 5; ++i) {
      (void)f.session.submit(request_for("orders"));
      (void)f.session.submit(request_for("orders", 3));
    }
    f.connect();
    std::size_t carried = 0;
    bool open = true;
    while (open && f.session.in_flight() > 0) {
      f.session.fill_output();
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
    Fixture f;
    f.daemon.run_length = 2;
    for (int i = 0; i < 5; ++i) {
      (void)f.session.submit(request_for("orders"));
      (void)f.session.submit(request_for("orders", 3));
    }
    f.connect();
    std::size_t carried = 0;
    while (carried < cut && f.session.in_flight() > 0) {
      f.session.fill_output();
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
      Fixture f;
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
  Fixture f{SessionSettings()};
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

TEST_CASE("DaemonThatForgotTheIdentityHearsTheFloorBeforeTheRepeats", "[client]") {
  Fixture f;
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

TEST_CASE("EverySixtyFourAnswersAreAcknowledgedBeforeTheNextRequest", "[client]") {
  Fixture f;
  f.connect();
  for (int i = 0; i < 200; ++i) {
    (void)f.session.submit(request_for("orders"));
    REQUIRE(f.exchange() == Verdict::keep);
  }
  // The first one right after hello, because the daemon's memory is not known then.
  CHECK(f.daemon.acknowledgements() == std::vector<std::uint32_t>{2, 66, 130, 194});
  f.session.acknowledge_all();
  REQUIRE(f.exchange() == Verdict::keep);
  CHECK(f.daemon.acknowledgements().back() == 201);
  CHECK(f.ids().size() == 200);
}

TEST_CASE("OneRequestThatWaitsHoldsTheWindowShutAndTheOthersWaitForIt", "[client]") {
  Fixture f;
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

TEST_CASE("ErrorOfOneRequestIsItsAnswerAndTheOthersGoOn", "[client]") {
  Fixture f;
  (void)f.session.submit(request_for("orders"));
  (void)f.session.submit(request_for("missing"));
  (void)f.session.submit(request_for("orders"));
  f.connect();
  REQUIRE(f.exchange() == Verdict::keep);
  Answer answer;
  REQUIRE(f.session.take(answer));
  CHECK(answer.first.first == 1);
  REQUIRE(f.session.take(answer));
  CHECK(answer.outcome.code == SEQD_E_NO_SEQUENCE);
  CHECK(answer.outcome.text == "no sequence \"missing\" is configured");
  CHECK(answer.runs().empty());
  REQUIRE(f.session.take(answer));
  CHECK(answer.first.first == 2);
}

TEST_CASE("StoppingDaemonsOtherAnswersAreTakenBeforeReconnecting", "[client]") {
  Fixture f;
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

TEST_CASE("HelloRefusedForNowMeansReconnectAndForGoodMeansBroken", "[client]") {
  Fixture f;
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

TEST_CASE("LateAnswerIsDroppedAndItsNumberAcknowledged", "[client]") {
  Fixture f;
  (void)f.session.submit(request_for("orders"));
  f.connect();
  protocol::Buffer hello;
  REQUIRE(f.daemon.receive(f.connection, f.session.output().text(), hello));
  f.session.output().clear();
  REQUIRE(f.session.receive(hello.text()) == Verdict::keep);
  f.session.fill_output();
  protocol::Buffer late;
  REQUIRE(f.daemon.receive(f.connection, f.session.output().text(), late));
  f.session.output().clear();

  CHECK(f.session.next_deadline_ms() == 1'000);
  f.session.expire(999, {SEQD_E_CONNECT, "absent"});
  CHECK_FALSE(f.session.has_answer());
  f.session.expire(1'000, {SEQD_E_CONNECT, "absent"});
  Answer answer;
  REQUIRE(f.session.take(answer));
  CHECK(answer.outcome.code == SEQD_E_TIMEOUT);

  REQUIRE(f.session.receive(late.text()) == Verdict::keep);
  CHECK_FALSE(f.session.has_answer());
  (void)f.session.submit(request_for("orders"));
  REQUIRE(f.exchange() == Verdict::keep);
  CHECK(f.ids() == std::vector<std::int64_t>{2});
  CHECK(f.daemon.acknowledgements() == std::vector<std::uint32_t>{2});
  // The same answer a second time is one that nobody waits for.
  CHECK(f.session.receive(late.text()) == Verdict::broken);
}

TEST_CASE("RequestWithoutConnectionEndsAtItsConnectDeadline", "[client]") {
  Fixture f;
  Request request = request_for("orders");
  request.connect_deadline_ms = 100;
  (void)f.session.submit(request);
  const Outcome absent = {SEQD_E_CONNECT, "absent"};
  f.session.expire(99, absent);
  CHECK_FALSE(f.session.has_answer());
  f.session.expire(100, absent);
  Answer answer;
  REQUIRE(f.session.take(answer));
  CHECK(answer.outcome.code == SEQD_E_CONNECT);
  // Never sent, so nothing is owed.
  f.connect();
  REQUIRE(f.exchange() == Verdict::keep);
  CHECK(f.daemon.requests() == 0);
}

TEST_CASE("ConnectionLostLongAfterTheStartMayStillBeMadeAgain", "[client]") {
  Fixture f;
  f.connect();
  REQUIRE(f.exchange() == Verdict::keep);
  Request request = request_for("orders");
  request.connect_deadline_ms = 100;
  (void)f.session.submit(request);
  f.session.disconnected(600);
  CHECK(f.session.next_deadline_ms() == 600);
  f.session.expire(599, {SEQD_E_CONNECT, "absent"});
  CHECK(f.session.in_flight() == 1);
  f.finish();
  CHECK(f.ids() == std::vector<std::int64_t>{1});
}

TEST_CASE("SynchronousAnswerDoesNotMixWithThoseOfPoll", "[client]") {
  Fixture f;
  (void)f.session.submit(request_for("orders"));
  Request request = request_for("orders");
  request.synchronous = true;
  const std::uint32_t number = f.session.submit(request);
  (void)f.session.submit(request_for("orders"));
  CHECK(f.session.pending() == 2);
  f.connect();
  REQUIRE(f.exchange() == Verdict::keep);
  Answer answer;
  REQUIRE(f.session.take_synchronous(number, answer));
  CHECK(answer.first.first == 2);
  CHECK_FALSE(f.session.take_synchronous(number, answer));
  CHECK(f.session.pending() == 2);
  CHECK(f.ids() == std::vector<std::int64_t>{1, 3});
}

TEST_CASE("MoreThanTheCapacityIsRefusedUntilAnswersAreCollected", "[client]") {
  Fixture f;
  for (std::size_t i = 0; i < Session::kCapacity; ++i)
    REQUIRE(f.session.submit(request_for("orders")) != 0);
  CHECK(f.session.submit(request_for("orders")) == 0);
  f.finish();
  CHECK(f.session.submit(request_for("orders")) == 0);
  Answer answer;
  REQUIRE(f.session.take(answer));
  CHECK(f.session.submit(request_for("orders")) != 0);
  CHECK(f.daemon.complaint() == "");
}

TEST_CASE("NumbersNearTheirEndAreReplacedByANewIdentityWhenNothingIsInFlight", "[client]") {
  SessionSettings settings = with_identity();
  settings.first_number = Session::kRenewFrom - 1;
  Fixture f(settings);
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
  Fixture f(settings);
  CHECK(f.session.submit(request_for("orders")) == Session::kLastNumber - 1);
  CHECK(f.session.submit(request_for("orders")) == 0);
}

TEST_CASE("UnaskedNotificationIsPassedOver", "[client]") {
  Fixture f;
  f.connect();
  REQUIRE(f.exchange() == Verdict::keep);
  protocol::Buffer bytes;
  protocol::append_ack(bytes, 5);
  CHECK(f.session.receive(bytes.text()) == Verdict::keep);
}

TEST_CASE("DaemonThatDoesNotKeepToTheProtocolBreaksTheConnection", "[client]") {
  protocol::Buffer bytes;
  SECTION("not MessagePack") {
    bytes.append_byte(0xc1);
  }
  SECTION("not an array") {
    protocol::append_integer(bytes, 7);
  }
  SECTION("a request") {
    protocol::append_call(bytes, 1, "ping");
  }
  SECTION("an answer to nobody") {
    protocol::append_id_reply(bytes, 99, 1);
  }
  SECTION("an answer to hello twice") {
    protocol::append_id_reply(bytes, Session::kHelloNumber, 1);
  }
  SECTION("an ID of zero") {
    protocol::append_id_reply(bytes, 1, 0);
  }
  SECTION("a negative ID") {
    protocol::append_id_reply(bytes, 1, -1);
  }
  SECTION("a text instead of an ID") {
    protocol::begin_result(bytes, 1);
    protocol::append_text(bytes, "1");
  }
  SECTION("nil instead of an ID") {
    protocol::begin_result(bytes, 1);
    protocol::append_nil(bytes);
  }
  SECTION("an ID instead of runs") {
    protocol::append_id_reply(bytes, 2, 1);
  }
  SECTION("too few IDs") {
    protocol::append_runs_reply(bytes, 2, std::vector<protocol::Run>{{1, 4, 1}});
  }
  SECTION("too many IDs") {
    protocol::append_runs_reply(bytes, 2, std::vector<protocol::Run>{{1, 4, 1}, {9, 2, 1}});
  }
  SECTION("no runs") {
    protocol::append_runs_reply(bytes, 2, {});
  }
  SECTION("an empty run") {
    protocol::append_runs_reply(bytes, 2, std::vector<protocol::Run>{{1, 0, 1}, {1, 5, 1}});
  }
  SECTION("a run beyond the highest ID") {
    protocol::append_runs_reply(bytes, 2, std::vector<protocol::Run>{{INT64_MAX - 3, 5, 1}});
  }
  SECTION("an array that announces more than a reply may hold") {
    bytes.append(std::string("\x94\x01\x02\xc0\xdd\xff\xff\xff\xff", 9));
  }
  SECTION("a frame that it could not read") {
    protocol::append_error_reply(bytes, 0, ErrorCode::BAD_REQUEST, "not MessagePack");
  }
  Fixture f;
  f.connect();
  REQUIRE(f.exchange() == Verdict::keep);
  (void)f.session.submit(request_for("orders"));
  (void)f.session.submit(request_for("orders", 5));
  f.session.fill_output();
  f.session.output().clear();
  CHECK(f.session.receive(bytes.text()) == Verdict::broken);
  CHECK(f.session.trouble().code == SEQD_E_PROTOCOL);
  CHECK(f.session.trouble().text.size() > 20);
}

TEST_CASE("HelloThatIsNotOursBreaksTheConnection", "[client]") {
  protocol::Buffer bytes;
  protocol::begin_result(bytes, Session::kHelloNumber);
  SECTION("no map") {
    protocol::append_integer(bytes, 1);
  }
  SECTION("another version") {
    protocol::append_map(bytes, 1);
    protocol::append_text(bytes, "protocol");
    protocol::append_integer(bytes, 2);
  }
  SECTION("no version") {
    protocol::append_map(bytes, 0);
  }
  SECTION("limits of the wrong type") {
    protocol::append_map(bytes, 1);
    protocol::append_text(bytes, "limits");
    protocol::append_integer(bytes, 1);
  }
  SECTION("a key that is no text") {
    protocol::append_map(bytes, 1);
    protocol::append_integer(bytes, 1);
    protocol::append_integer(bytes, 1);
  }
  Fixture f;
  f.connect();
  CHECK(f.session.receive(bytes.text()) == Verdict::broken);
  CHECK(f.session.trouble().code == SEQD_E_PROTOCOL);
}

TEST_CASE("CodeOfANewerDaemonIsUnknownAndKeepsItsText", "[client]") {
  Fixture f;
  f.daemon.fault = [](int, const protocol::Message&) { return Fault::garbage; };
  protocol::Buffer bytes;
  protocol::append_array(bytes, 4);
  protocol::append_integer(bytes, 1);
  protocol::append_integer(bytes, 1);
  protocol::append_array(bytes, 2);
  protocol::append_integer(bytes, 0);
  protocol::append_text(bytes, "QUOTA: enough for today");
  protocol::append_nil(bytes);
  f.daemon.garbage = std::string(bytes.text());
  (void)f.session.submit(request_for("orders"));
  f.connect();
  REQUIRE(f.exchange() == Verdict::keep);
  Answer answer;
  REQUIRE(f.session.take(answer));
  CHECK(answer.outcome.code == SEQD_E_UNKNOWN);
  CHECK(answer.outcome.text == "QUOTA: enough for today");
}

TEST_CASE("ResultOfACallIsItsBytes", "[client]") {
  Fixture f;
  (void)f.session.submit(call_of("echo"));
  f.connect();
  REQUIRE(f.exchange() == Verdict::keep);
  Answer answer;
  REQUIRE(f.session.take(answer));
  CHECK(answer.result == "\xa4pong");
}

}  // namespace seqd::engine
