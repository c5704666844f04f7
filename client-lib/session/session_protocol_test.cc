// What a session takes of a daemon, and what it does not.
#include <string>
#include <vector>

#include "client-lib/session/session.h"
#include "protocol/replies.h"
#include "protocol/values/value_writer.h"
#include "tests/adapters/client/session_line.h"

namespace seqd::engine {
namespace {

using namespace std::string_literals;
using namespace testing;
using Fault = WireDaemon::Fault;
using Verdict = Session::Verdict;

TEST_CASE("UnaskedNotificationIsPassedOver", "[client]") {
  SessionLine f;
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
  SECTION("an ID above the highest") {
    protocol::begin_result(bytes, 1);
    bytes.append("\xcf\x80\x00\x00\x00\x00\x00\x00\x00"s);
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
  SessionLine f;
  f.connect();
  REQUIRE(f.exchange() == Verdict::keep);
  (void)f.session.submit(request_for("orders"));
  (void)f.session.submit(request_for("orders", 5));
  f.session.fill_output(f.now_ms);
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
  SessionLine f;
  f.connect();
  CHECK(f.session.receive(bytes.text()) == Verdict::broken);
  CHECK(f.session.trouble().code == SEQD_E_PROTOCOL);
}

TEST_CASE("CodeOfANewerDaemonIsUnknownAndKeepsItsText", "[client]") {
  SessionLine f;
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
  REQUIRE(f.session.answers().take(answer));
  CHECK(answer.outcome.code == SEQD_E_UNKNOWN);
  CHECK(answer.outcome.text == "QUOTA: enough for today");
}

// A document with that value.
Request insert_of(std::string_view value, const std::string& unique = "") {
  Request request = request_for("people");
  request.method = Request::Method::insert;
  request.body = std::make_unique<Request::Body>();
  protocol::Buffer document;
  protocol::append_map(document, 1);
  protocol::append_text(document, "a");
  document.append(value);
  request.body->params = document.text();
  request.body->unique = unique;
  return request;
}

std::string text_of(std::size_t size) {
  protocol::Buffer bytes;
  protocol::append_text(bytes, std::string(size, 'x'));
  return std::string(bytes.text());
}

// The daemon would close the connection of all.
TEST_CASE("RequestAboveALimitOfTheDaemonIsNotSent", "[client]") {
  SessionLine f;
  f.daemon.limits = {1'024, 4};
  int code = SEQD_OK;
  SECTION("frame") {
    (void)f.session.submit(insert_of(text_of(2'000)));
    code = SEQD_E_TOO_LARGE;
  }
  SECTION("depth") {
    (void)f.session.submit(insert_of("\x91\x91\xc0"));
    code = SEQD_E_BAD_REQUEST;
  }
  SECTION("of any method") {
    Request request = call_of("list");
    request.body->params = "\x91" + text_of(2'000);
    (void)f.session.submit(std::move(request));
    code = SEQD_E_TOO_LARGE;
  }
  (void)f.session.submit(insert_of("\x91\xc0"));
  (void)f.session.submit(request_for("orders"));
  f.connect();
  REQUIRE(f.exchange() == Verdict::keep);
  Answer answer;
  REQUIRE(f.session.answers().take(answer));
  CHECK(answer.outcome.code == code);
  CHECK(answer.outcome.text.find("limit") != std::string::npos);
  CHECK(f.ids() == std::vector<std::int64_t>{1, 1});
  CHECK(f.daemon.requests() == 2);
  CHECK(f.daemon.complaint() == "");
}

TEST_CASE("RepeatAboveALimitOfTheNextDaemonIsNotSent", "[client]") {
  SessionLine f;
  f.daemon.fault = [](int, const protocol::Message&) { return Fault::ignore; };
  (void)f.session.submit(insert_of(text_of(2'000), "a"));
  f.connect();
  REQUIRE(f.exchange() == Verdict::keep);
  REQUIRE(f.daemon.requests() == 1);
  f.session.disconnected(0);
  f.daemon.limits.frame = 1'024;
  f.connect();
  REQUIRE(f.exchange() == Verdict::keep);
  Answer answer;
  REQUIRE(f.session.answers().take(answer));
  CHECK(answer.outcome.code == SEQD_E_OUTCOME_UNKNOWN);
  CHECK(f.daemon.requests() == 1);
  CHECK(f.session.in_flight() == 0);
}

TEST_CASE("ResultOfACallIsItsBytes", "[client]") {
  SessionLine f;
  (void)f.session.submit(call_of("echo"));
  f.connect();
  REQUIRE(f.exchange() == Verdict::keep);
  Answer answer;
  REQUIRE(f.session.answers().take(answer));
  CHECK(answer.result() == "\xa4pong");
}

}  // namespace
}  // namespace seqd::engine
