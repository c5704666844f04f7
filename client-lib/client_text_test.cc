// IDs as text over the C ABI and the C++ header: taken, repeated, pipelined, parsed, and what is no
// text.
#include <map>
#include <string>
#include <vector>

#include "client-lib/seqd.hpp"
#include "tests/adapters/client/client_handle.h"

namespace seqd::engine {
namespace {

using namespace std::string_literals;
using namespace testing;
using Fault = WireDaemon::Fault;

client::Client connect(const SocketDaemon& daemon) {
  client::Options options;
  options.socket_path = daemon.path();
  return client::Client(options);
}

// {"number": 7, "period": "2026-11-21", "check": "luhn"}, with something newer between.
const std::string kParsed =
    "\x84\xa6number\x07\xa3new\x91\x01\xa6period\xaa"
    "2026-11-21\xa5"
    "check\xa4luhn"s;

}  // namespace

TEST_CASE("NextTextGivesTheTextOfAnId", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  Handle handle(daemon);
  const char* text = nullptr;
  REQUIRE(seqd_next_text(handle.client, "orders", &text) == SEQD_OK);
  CHECK(std::string(text) == "T-1");
  CHECK(handle.next() == 2);
  REQUIRE(seqd_next_text(handle.client, "missing", &text) == SEQD_E_NO_SEQUENCE);
  CHECK(text == nullptr);
  client::Client client = connect(daemon);
  seqd_close(std::exchange(handle.client, nullptr));
  CHECK(*client.next_text("orders") == "T-3");
  CHECK(client.next_text("missing").error().code == SEQD_E_NO_SEQUENCE);
}

TEST_CASE("TextWhoseReplyWasLostIsTheSameText", "[client]") {
  SocketDaemon daemon;
  daemon.wire().fault = [](int number, const protocol::Message&) {
    return number == 2 ? Fault::close_after : Fault::none;
  };
  daemon.start();
  {
    client::Client client = connect(daemon);
    CHECK(*client.next_text("orders") == "T-1");
    CHECK(*client.next_text("orders") == "T-2");
    CHECK(*client.next_text("orders") == "T-3");
  }
  daemon.stop();
  CHECK(daemon.wire().repeats() == 1);
  CHECK(daemon.wire().complaint() == "");
}

TEST_CASE("PipelinedTextsComeWithTheirTags", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  client::Client client = connect(daemon);
  std::map<void*, std::string> texts;
  int tags[3] = {};
  REQUIRE(client.submit_next_text("orders", &tags[0]).code == SEQD_OK);
  REQUIRE(client.submit_next("orders", &tags[1]).code == SEQD_OK);
  REQUIRE(client.submit_next_text("missing", &tags[2]).code == SEQD_OK);
  std::size_t answered = 0;
  while (client.pending() > 0) {
    const auto replies = client.poll(std::chrono::seconds(10));
    REQUIRE(replies.ok());
    for (const client::Reply& reply : *replies) {
      ++answered;
      texts[reply.tag] = !reply.ok()             ? reply.error.text
                         : reply.tag == &tags[0] ? reply.text()
                                                 : std::to_string(reply.id());
    }
  }
  REQUIRE(answered == 3);
  CHECK(texts[&tags[0]] == "T-1");
  CHECK(texts[&tags[1]] == "2");
  CHECK(texts[&tags[2]] == "no sequence \"missing\" is configured");
}

TEST_CASE("ParseGivesWhatTheTextMeans", "[client]") {
  SocketDaemon daemon;
  daemon.wire().results["parse"] = kParsed;
  daemon.start();
  client::Client client = connect(daemon);
  const auto parsed = client.parse("orders", "T-7");
  REQUIRE(parsed.ok());
  CHECK(parsed->number == 7);
  CHECK(parsed->period == "2026-11-21");
  CHECK(parsed->check == "luhn");
}

TEST_CASE("ParseOfWhatHasNoPeriodAndNoCheckGivesEmptyTexts", "[client]") {
  SocketDaemon daemon;
  daemon.wire().results["parse"] =
      "\x83\xa6number\x07\xa6period\xc0\xa5"
      "check\xc0"s;
  daemon.start();
  Handle handle(daemon);
  seqd_parsed parsed = SEQD_PARSED_INIT;
  REQUIRE(seqd_parse(handle.client, "orders", "7", &parsed) == SEQD_OK);
  CHECK(parsed.number == 7);
  CHECK(std::string(parsed.period).empty());
  CHECK(std::string(parsed.check).empty());
}

TEST_CASE("TextCallsRefuseWhatNoDaemonCanMean", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  Handle handle(daemon);
  const char* text = nullptr;
  seqd_parsed parsed = SEQD_PARSED_INIT;
  CHECK(seqd_next_text(handle.client, "orders", nullptr) == SEQD_E_ARGUMENT);
  CHECK(seqd_next_text(handle.client, "", &text) == SEQD_E_ARGUMENT);
  CHECK(seqd_next_text(nullptr, "orders", &text) == SEQD_E_ARGUMENT);
  CHECK(seqd_parse(handle.client, "orders", nullptr, &parsed) == SEQD_E_ARGUMENT);
  CHECK(seqd_parse(handle.client, "orders", "7", nullptr) == SEQD_E_ARGUMENT);
  CHECK(seqd_parse(handle.client, "", "7", &parsed) == SEQD_E_ARGUMENT);
  CHECK(seqd_parse(handle.client, "orders", std::string(1'025, '7').c_str(), &parsed) ==
        SEQD_E_ARGUMENT);
  parsed.size = 8;
  CHECK(seqd_parse(handle.client, "orders", "7", &parsed) == SEQD_E_ARGUMENT);
}

TEST_CASE("AnswerThatIsNoTextIsNotBelieved", "[client]") {
  const std::string head = "\x94\x01\x01\xc0"s;
  for (const std::string& result : {"\x05"s, "\xc0"s, "\xa0"s,
                                    "\xa2"
                                    "a\0"s,
                                    "\xa2"
                                    "a\n"s,
                                    "\xa1\xff"s, "\xda\x04\x01" + std::string(1'025, 'a'),
                                    "\x91\xa1"
                                    "a"s}) {
    SocketDaemon daemon;
    daemon.wire().fault = [](int, const protocol::Message&) { return Fault::garbage; };
    daemon.wire().garbage = head + result;
    daemon.start();
    Handle handle(daemon);
    const char* text = nullptr;
    CHECK(seqd_next_text(handle.client, "orders", &text) == SEQD_E_PROTOCOL);
    CHECK(text == nullptr);
  }
}

TEST_CASE("AnswerThatIsNoMeaningIsNotBelieved", "[client]") {
  for (const std::string& result : {"\x05"s, "\x80"s, "\x81\xa6number\x00"s, "\x81\xa6number\xff"s,
                                    "\x81\xa6number\xa1"
                                    "7"s,
                                    "\x82\xa6number\x07\xa6period\x05"s,
                                    "\x82\xa6number\x07\xa5"
                                    "check\xa1\n"s}) {
    SocketDaemon daemon;
    daemon.wire().results["parse"] = result;
    daemon.start();
    client::Client client = connect(daemon);
    CHECK(client.parse("orders", "7").error().code == SEQD_E_PROTOCOL);
  }
}

}  // namespace seqd::engine
