// What becomes of a request whose answer, or whose connection, comes too late.
#include <cstdint>
#include <utility>
#include <vector>

#include "client-lib/session/session.h"
#include "tests/adapters/client/session_line.h"

namespace seqd::engine {
namespace {

using namespace testing;
using Fault = WireDaemon::Fault;
using Verdict = Session::Verdict;

TEST_CASE("LateAnswerIsDroppedAndItsNumberAcknowledged", "[client]") {
  SessionLine f;
  (void)f.session.submit(request_for("orders"));
  f.connect();
  protocol::Buffer hello;
  REQUIRE(f.daemon.receive(f.connection, f.session.output().text(), hello));
  f.session.output().clear();
  REQUIRE(f.session.receive(hello.text()) == Verdict::keep);
  f.session.fill_output(f.now_ms);
  protocol::Buffer late;
  REQUIRE(f.daemon.receive(f.connection, f.session.output().text(), late));
  f.session.output().clear();

  CHECK(f.session.next_deadline_ms() == 1'000);
  f.session.expire(999, {SEQD_E_CONNECT, "absent"});
  CHECK_FALSE(f.session.answers().count() > 0);
  f.session.expire(1'000, {SEQD_E_CONNECT, "absent"});
  Answer answer;
  REQUIRE(f.session.answers().take(answer));
  CHECK(answer.outcome.code == SEQD_E_TIMEOUT);

  REQUIRE(f.session.receive(late.text()) == Verdict::keep);
  CHECK_FALSE(f.session.answers().count() > 0);
  (void)f.session.submit(request_for("orders"));
  REQUIRE(f.exchange() == Verdict::keep);
  CHECK(f.ids() == std::vector<std::int64_t>{2});
  CHECK(f.daemon.acknowledgements() == std::vector<std::uint32_t>{2});
  // The same answer a second time is one that nobody waits for.
  CHECK(f.session.receive(late.text()) == Verdict::broken);
}

TEST_CASE("RequestWithoutConnectionEndsAtItsConnectDeadline", "[client]") {
  SessionLine f;
  Request request = request_for("orders");
  request.connect_deadline_ms = 100;
  (void)f.session.submit(std::move(request));
  const Outcome absent = {SEQD_E_CONNECT, "absent"};
  f.session.expire(99, absent);
  CHECK_FALSE(f.session.answers().count() > 0);
  f.session.expire(100, absent);
  Answer answer;
  REQUIRE(f.session.answers().take(answer));
  CHECK(answer.outcome.code == SEQD_E_CONNECT);
  // Never sent, so nothing is owed.
  f.connect();
  REQUIRE(f.exchange() == Verdict::keep);
  CHECK(f.daemon.requests() == 0);
}

TEST_CASE("DaemonThatListensAndIsSlowToStartIsWaitedForUntilTheDeadline", "[client]") {
  SessionLine f;
  Request request = request_for("orders");
  request.connect_deadline_ms = 100;
  (void)f.session.submit(std::move(request));
  f.connect();  // and no answer to hello yet
  CHECK(f.session.next_deadline_ms() == 1'000);
  f.session.expire(999, {SEQD_E_CONNECT, "silent"});
  CHECK_FALSE(f.session.answers().count() > 0);
  f.session.expire(1'000, {SEQD_E_CONNECT, "silent"});
  Answer answer;
  REQUIRE(f.session.answers().take(answer));
  CHECK(answer.outcome.code == SEQD_E_CONNECT);
}

TEST_CASE("ConnectionLostLongAfterTheStartMayStillBeMadeAgain", "[client]") {
  SessionLine f;
  f.connect();
  REQUIRE(f.exchange() == Verdict::keep);
  Request request = request_for("orders");
  request.connect_deadline_ms = 100;
  (void)f.session.submit(std::move(request));
  f.session.disconnected(600);
  CHECK(f.session.next_deadline_ms() == 600);
  f.session.expire(599, {SEQD_E_CONNECT, "absent"});
  CHECK(f.session.in_flight() == 1);
  f.finish();
  CHECK(f.ids() == std::vector<std::int64_t>{1});
}

TEST_CASE("RepeatedRequestSaysTheTimeThatIsLeft", "[client]") {
  SessionSettings settings = with_identity();
  settings.limits_wait = true;
  SessionLine f(settings);
  std::vector<std::int64_t> waits;
  f.daemon.fault = [&](int number, const protocol::Message& message) {
    auto params = message.params;
    if (params.skip() && params.skip() && message.param_count == 3)
      REQUIRE(params.read_map() == 1U);
    if (message.param_count == 2) {
      params = message.params;
      REQUIRE((params.skip() && params.read_map() == 1U));
    }
    REQUIRE(params.skip());
    waits.push_back(params.read_integer().value_or(-1));
    return number <= 8 ? Fault::close_before : Fault::none;
  };
  (void)f.session.submit(request_for("orders"));  // their deadline is 1,000
  (void)f.session.submit(request_for("orders", 3));
  for (const std::int64_t now : {0, 200, 600, 991, 999, 1'000, 1'001, 1'002}) {
    f.now_ms = now;
    f.connect();
    REQUIRE(f.exchange() == Verdict::reconnect);
    f.session.disconnected(0);
  }
  CHECK(waits == std::vector<std::int64_t>{900, 720, 360, 8, 0, 0, 0, 0});
}

}  // namespace
}  // namespace seqd::engine
