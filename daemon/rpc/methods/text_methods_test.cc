#include <string>

#include "daemon/core/text/id_format.h"
#include "protocol/values/value_writer.h"
#include "tests/unit/service.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace std::string_literals;

// VirtualTime begins at 2023-11-14 22:13:21.
constexpr std::int64_t kDayMs = 86'400'000;

struct TextService : Service {
  TextService() {
    set("orders", "A{date:%y%m%d}-{number:4}{check:luhn}");
    // What was configured reaches a sequence that is there already only by a reload.
    world.core.table->apply_settings(world.core.limits);
  }
  void set(const std::string& name, const std::string& form) {
    SequenceSettings& settings = world.core.settings.add(name);
    settings.text.format = form;
    settings.text.compiled =
        std::make_shared<IdFormat>(read_template(form).value(), nullptr, nullptr);
  }
  Line& hello(std::uint8_t who) {
    Line& connected = world.connect();
    REQUIRE(world.ask(connected, hello_request(0, who)).code == ErrorCode::OK);
    return connected;
  }
};

std::string next_text(std::uint32_t msgid, std::string_view name) {
  std::string bytes = request("next_text", name);
  bytes[2] = static_cast<char>(msgid);
  return bytes;
}

std::string parse(std::string_view name, std::string_view text) {
  protocol::Buffer params;
  protocol::append_text(params, text);
  return request("parse", name, 2, {params.data(), params.size()});
}

std::string text_of(const Reply& reply) {
  INFO(reply.text);
  REQUIRE(reply.code == ErrorCode::OK);
  return std::string(reply.result().read_text().value());
}

TEST_CASE("NextTextIsTheIdAsItsFormatSays", "[text_methods]") {
  TextService service;
  CHECK(text_of(service.ask(next_text(1, "orders"))) == "A231114-00018");
  CHECK(text_of(service.ask(next_text(2, "orders"))) == "A231114-00026");
  CHECK(service.ask(next_request(3, "orders")).id() == 3);
  service.world.core.time.advance(kDayMs);
  CHECK(text_of(service.ask(next_text(4, "orders"))) == "A231115-00049");
}

TEST_CASE("NextTextThatHasToWaitTellsTheTimeOfItsIssue", "[text_methods]") {
  TextService service;
  service.set("clock", "{date:%H%M%S}-{number}");
  service.world.send(*service.line, next_text(1, "clock"));
  service.world.turn();
  REQUIRE(service.line->replies().empty());
  service.world.core.time.advance(2'000);
  service.world.settle();
  const std::vector<Reply> replies = service.line->replies();
  REQUIRE(replies.size() == 1);
  CHECK(text_of(replies[0]) == "221323-1");
}

TEST_CASE("RepeatedTextIsTheSameTextOnAnotherDayAndAfterAKill", "[text_methods]") {
  TextService service;
  Line& line = service.hello(7);
  const std::string first = text_of(service.world.ask(line, next_text(1, "orders")));
  service.world.core.time.advance(kDayMs);
  const std::string second = text_of(service.world.ask(line, next_text(2, "orders")));
  REQUIRE(first == "A231114-00018");
  REQUIRE(second == "A231115-00023");
  service.world.core.time.advance(kDayMs);
  CHECK(text_of(service.world.ask(line, next_text(1, "orders"))) == first);
  service.world.kill();
  service.world.core.time.advance(kDayMs);
  service.world.start();
  service.world.settle();
  Line& again = service.hello(7);
  CHECK(text_of(service.world.ask(again, next_text(2, "orders"))) == second);
  CHECK(text_of(service.world.ask(again, next_text(1, "orders"))) == first);
  CHECK(text_of(service.world.ask(again, next_text(3, "orders"))) == "A231117-00037");
}

TEST_CASE("RepeatByAnotherMethodIsABadRequest", "[text_methods]") {
  TextService service;
  Line& line = service.hello(7);
  service.world.ask(line, next_text(1, "orders"));
  service.world.ask(line, next_request(2, "orders"));
  for (const std::string& other : {next_request(1, "orders"), range_request(1, "orders", 1),
                                   next_text(2, "orders"), next_text(1, "bills")})
    CHECK(service.world.ask(line, other).code != ErrorCode::OK);
  CHECK(text_of(service.world.ask(line, next_text(1, "orders"))) == "A231114-00018");
}

TEST_CASE("TextsOfOneSecondAreOneEntryOfTheLog", "[text_methods]") {
  TextService service;
  Line& line = service.hello(7);
  service.world.ask(line, next_text(1, "orders"));
  std::string pipeline;
  for (std::uint32_t msgid = 2; msgid <= 6; ++msgid) pipeline += next_text(msgid, "orders");
  REQUIRE(service.world.call(line, pipeline).size() == 5);
  CHECK(service.world.core.table->replays().retained(line.session->client) == 1);
  service.world.core.time.advance(1'000);
  service.world.ask(line, next_text(7, "orders"));
  service.world.ask(line, next_request(8, "orders"));
  CHECK(service.world.core.table->replays().retained(line.session->client) == 3);
}

TEST_CASE("NextTextTakesTheOptionsOfNext", "[text_methods]") {
  TextService service;
  const std::string no_wait = "\x81\xaatimeout_ms\x00"s;
  CHECK(service.code(request("next_text", "orders", 2, no_wait)) == ErrorCode::UNAVAILABLE);
  for (const std::string& bad :
       {request("next_text", 0, ""), request("next_text", 1, "\x05"),
        request("next_text", "orders", 2, "\x81\xa3usd\x01"), request("next_text", "no such"),
        request("next_text", "orders", 3, "\x80\x80")})
    CHECK(service.code(bad) == ErrorCode::BAD_REQUEST);
  CHECK(service.code(request("next_text", "missing")) == ErrorCode::NO_SEQUENCE);
}

TEST_CASE("NotifiedNextTextIssuesNothing", "[text_methods]") {
  TextService service;
  service.world.call(*service.line, "\x93\x02\xa9next_text\x91\xa6orders"s);
  CHECK(text_of(service.ask(next_text(1, "orders"))) == "A231114-00018");
}

TEST_CASE("ParseGivesNumberPeriodAndCheck", "[text_methods]") {
  TextService service;
  const auto parsed = map_of(service.ask(parse("orders", "A231114-00018")));
  const std::map<std::string, std::string> expected = {
      {"number", "1"},      {"period", "2023-11-14"}, {"date.year", "2023"},
      {"date.month", "11"}, {"date.day", "14"},       {"check", "luhn"}};
  CHECK(parsed == expected);
  service.set("plain", "{number}");
  CHECK(map_of(service.ask(parse("plain", "77"))) ==
        std::map<std::string, std::string>{{"number", "77"}, {"period", "nil"}, {"check", "nil"}});
  // Nothing came into being by that.
  CHECK(service.world.core.table->find("plain") == 0);
}

TEST_CASE("ParseOfWhatIsNoTextOfTheSequenceIsAnErrorWithItsPlace", "[text_methods]") {
  TextService service;
  const Reply reply = service.ask(parse("orders", "A231114-00019"));
  CHECK(reply.code == ErrorCode::BAD_TEXT);
  CHECK(reply.text ==
        "position 13: the check digits (luhn) do not match: some character of the text is wrong");
  CHECK(service.code(parse("orders", std::string(3'000, 'A'))) == ErrorCode::BAD_TEXT);
  CHECK(service.code(parse("missing", "1")) == ErrorCode::NO_SEQUENCE);
  for (const std::string& bad :
       {request("parse", 0, ""), request("parse", "orders"), request("parse", "orders", 2, "\x01"),
        parse("no such", "1"), request("parse", "orders", 3, "\xa1x\xa1y")})
    CHECK(service.code(bad) == ErrorCode::BAD_REQUEST);
}

TEST_CASE("FormatThatAReloadBroughtIsUsedAtOnceAndNotForRepeats", "[text_methods]") {
  TextService service;
  Line& line = service.hello(7);
  CHECK(text_of(service.world.ask(line, next_text(1, "orders"))) == "A231114-00018");
  service.set("orders", "{number:3}/{date:%Y}");
  service.world.core.table->apply_settings(service.world.core.limits);
  CHECK(text_of(service.world.ask(line, next_text(2, "orders"))) == "002/2023");
  const Reply repeat = service.world.ask(line, next_text(1, "orders"));
  CHECK(repeat.code == ErrorCode::SEQ_CHANGED);
  CHECK(repeat.text.ends_with("; the number of the ID is 1"));
  CHECK(service.code(parse("orders", "A231114-00018")) == ErrorCode::BAD_TEXT);
}

TEST_CASE("SequenceWithoutAFormatIssuesNoText", "[text_methods]") {
  TextService service;
  service.world.core.settings.add("bare").text.compiled = nullptr;
  CHECK(service.code(next_text(1, "bare")) == ErrorCode::CONFIG);
  CHECK(service.code(parse("bare", "1")) == ErrorCode::NO_SEQUENCE);
  CHECK(service.ask(next_request(1, "bare")).id() == 1);
}

}  // namespace
}  // namespace seqd
