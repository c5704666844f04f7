#include "daemon/rpc/methods.h"

#include <map>
#include <string>
#include <vector>

#include "protocol/requests.h"
#include "protocol/values/value_writer.h"
#include "tests/unit/service.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace std::string_literals;
using Runs = std::vector<Run>;

// --- next and range

TEST_CASE("NextGivesOneIdAfterTheOther", "[methods]") {
  Service service;
  for (std::int64_t id = 1; id <= 30; ++id)
    REQUIRE(service.ask(next_request(5, "orders")).id() == id);
}

// A request that is sent again is known by its bytes; what comes between it and the first must not
// change whose IDs it gets.
TEST_CASE("TheSameRequestAgainIsForTheSameSequence", "[methods]") {
  Service service;
  service.world.core.settings.add("bills");
  const auto orders = [&service] { return service.ask(next_request(5, "orders")).id(); };
  REQUIRE(orders() == 1);
  REQUIRE(orders() == 2);
  // Its name with a header of three bytes: parsed on the other path.
  REQUIRE(service.ask(request("next", 1, "\xda\x00\x05"s + "bills")).id() == 1);
  REQUIRE(orders() == 3);
  REQUIRE(service.ask(next_request(5, "bills")).id() == 2);
  REQUIRE(orders() == 4);
  REQUIRE(service.ask(peek_request(6, "bills")).code == ErrorCode::OK);
  REQUIRE(orders() == 5);
  for (int time = 0; time < 3; ++time) {
    REQUIRE(service.ask(next_request(5, "nosuch")).code == ErrorCode::NO_SEQUENCE);
    REQUIRE(service.ask(range_request(5, "nosuch", 2)).code == ErrorCode::NO_SEQUENCE);
    REQUIRE(service.ask(range_request(5, "nosuch", 2)).code == ErrorCode::NO_SEQUENCE);
  }
  REQUIRE(orders() == 6);
  REQUIRE(service.ask(range_request(5, "orders", 3)).runs() == Runs{{7, 3, 1}});
  REQUIRE(service.ask(range_request(5, "orders", 3)).runs() == Runs{{10, 3, 1}});
  REQUIRE(service.ask(range_request(5, "orders", 4)).runs() == Runs{{13, 4, 1}});
}

TEST_CASE("RangeGivesRunsWhoseCountsAddUp", "[methods]") {
  Service service;
  REQUIRE(service.ask(range_request(1, "orders", 25)).runs() == Runs{{1, 25, 1}});
  REQUIRE(service.ask(range_request(2, "orders", 1)).runs() == Runs{{26, 1, 1}});
}

TEST_CASE("WrongParametersAreBadRequestsAndTheConnectionGoesOn", "[methods]") {
  Service service;
  const std::string orders = "\xa6orders";
  const std::string cases[] = {
      request("next", 0, ""),
      request("next", 1, "\x05"),
      request("next", 1, "\xc0"),
      request("next", 2, orders + "\x05"),
      request("next", 2, orders + "\xc0"),
      request("next", 3, orders + "\x80\x80"),
      request("next", 2, orders + "\x81\xa1x\x05"),
      request("next", 2, orders + "\x81\x05\x05"),
      request("next", 2, orders + "\x81\xaatimeout_ms\xff"),
      request("next", 2, orders + "\x81\xaatimeout_ms\xa1x"),
      request("next", 2, orders + "\x81\xaatimeout_ms\xce\x00\x36\xee\x81"s),
      request("range", 0, ""),
      request("range", 1, orders),
      request("range", 2, orders + "\xa1x"),
      request("range", 2, orders + "\x00"s),
      request("range", 2, orders + "\xff"),
      request("range", 2, orders + "\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00"s),
      request("range", 2, orders + "\xcf\xff\xff\xff\xff\xff\xff\xff\xff"),
      request("range", 3, orders + "\x05\x05"),
      request("range", 4, orders + "\x05\x80\x80"),
      request("peek", 0, ""),
      request("peek", 1, "\x05"),
      request("peek", 2, orders + "\x05"),
      request("hello", 1, "\x05"),
      request("hello", 2, "\x80\x80"),
      request("hello", 1, "\x81\xa5other\xa1x"),
      request("hello", 1,
              "\x81\xa6"s
              "client\xa3"s
              "abc"),
      request("hello", 1,
              "\x81\xa6"s
              "client\x05"s),
      request("hello", 1,
              "\x81\xa6"s
              "client\xd9\x20"s +
                  std::string(32, 'g')),
      request("ack", 1, "\x05"),
      request("ack", 0, ""),
      next_request(1, ""),
      next_request(1, "a b"),
      next_request(1, "a\n"),
      next_request(1, "\xc3\xa4"),
  };
  for (const std::string& bytes : cases) {
    CAPTURE(bytes);
    REQUIRE(service.code(bytes) == ErrorCode::BAD_REQUEST);
    REQUIRE(service.line->session != nullptr);
  }
  REQUIRE(service.ask(next_request(1, "orders")).id() == 1);
}

TEST_CASE("TimeoutAtItsLimitIsAccepted", "[methods]") {
  Service service;
  REQUIRE(service.ask(next_request(1, "orders", 3'600'000)).id() == 1);
  REQUIRE(service.ask(next_request(1, "orders", 0)).id() == 2);
}

TEST_CASE("TimeoutZeroDoesNotWait", "[methods]") {
  Service service;
  service.world.send(*service.line, next_request(1, "orders", 0));
  service.world.turn();
  REQUIRE(service.line->replies().front().code == ErrorCode::UNAVAILABLE);
}

TEST_CASE("TimeoutOfTheRequestIsKept", "[methods]") {
  Service service;
  service.world.send(*service.line,
                     next_request(1, "orders", 50) + range_request(2, "orders", 5, 80));
  service.world.turn();
  service.world.core.time.advance(50);
  service.world.turn();
  REQUIRE(service.line->replies().size() == 1);
  service.world.core.time.advance(30);
  service.world.turn();
  REQUIRE(service.line->replies().front().msgid == 2);
  REQUIRE(service.line->session->waiting == 0);
}

TEST_CASE("NameAtItsLimitIsTakenAndAboveIsTooLarge", "[methods]") {
  ServerLimits limits;
  limits.methods.name = 10;
  Service service(limits);
  service.world.core.settings.add(std::string(10, 'x'));
  for (const bool slow : {false, true}) {
    const auto timeout = slow ? std::optional<std::int64_t>(5'000) : std::nullopt;
    REQUIRE(service.code(next_request(1, std::string(10, 'x'), timeout)) == ErrorCode::OK);
    REQUIRE(service.code(next_request(1, std::string(11, 'x'), timeout)) == ErrorCode::TOO_LARGE);
    REQUIRE(service.code(next_request(1, std::string(200, 'x'), timeout)) == ErrorCode::TOO_LARGE);
    REQUIRE(service.code(next_request(1, std::string(300, 'x'), timeout)) == ErrorCode::TOO_LARGE);
  }
  REQUIRE(service.code(peek_request(1, std::string(11, 'x'))) == ErrorCode::TOO_LARGE);
}

TEST_CASE("CountAtItsLimitIsTakenAndAboveIsTooLarge", "[methods]") {
  ServerLimits limits;
  limits.methods.count = 100;
  Service service(limits);
  for (const bool slow : {false, true}) {
    const auto timeout = slow ? std::optional<std::int64_t>(5'000) : std::nullopt;
    REQUIRE(service.code(range_request(1, "orders", 99, timeout)) == ErrorCode::OK);
    REQUIRE(service.code(range_request(1, "orders", 100, timeout)) == ErrorCode::OK);
    REQUIRE(service.code(range_request(1, "orders", 101, timeout)) == ErrorCode::TOO_LARGE);
    REQUIRE(service.code(range_request(1, "orders", INT64_MAX, timeout)) == ErrorCode::TOO_LARGE);
    REQUIRE(service.code(range_request(1, "orders", 0, timeout)) == ErrorCode::BAD_REQUEST);
  }
}

TEST_CASE("UnknownSequenceIsNoSequenceOnBothPaths", "[methods]") {
  Service service;
  REQUIRE(service.code(next_request(1, "others")) == ErrorCode::NO_SEQUENCE);
  REQUIRE(service.code(next_request(1, "others", 5)) == ErrorCode::NO_SEQUENCE);
  REQUIRE(service.code(range_request(1, "others", 5)) == ErrorCode::NO_SEQUENCE);
}

TEST_CASE("AlternatingNamesAreNotMixedUp", "[methods]") {
  Service service;
  service.world.core.settings.add("bills");
  for (std::int64_t id = 1; id <= 5; ++id) {
    REQUIRE(service.ask(next_request(1, "orders")).id() == id);
    REQUIRE(service.ask(next_request(1, "bills")).id() == id);
  }
}

// Every encoding of the same request has the same answer, on the fast path and on the slow one.
TEST_CASE("EveryEncodingOfARequestHasTheSameAnswer", "[methods]") {
  const std::string arrays[] = {"\x94", "\xdc\x00\x04"s, "\xdd\x00\x00\x00\x04"s};
  const std::string zeros[] = {"\x00"s, "\xcc\x00"s, "\xd0\x00"s,
                               "\xd3\x00\x00\x00\x00\x00\x00\x00\x00"s};
  const std::string sevens[] = {"\x07",
                                "\xcc\x07",
                                "\xcd\x00\x07"s,
                                "\xce\x00\x00\x00\x07"s,
                                "\xcf\x00\x00\x00\x00\x00\x00\x00\x07"s,
                                "\xd0\x07",
                                "\xd1\x00\x07"s,
                                "\xd2\x00\x00\x00\x07"s,
                                "\xd3\x00\x00\x00\x00\x00\x00\x00\x07"s};
  const std::string methods[] = {"\xa5range",
                                 "\xd9\x05range",
                                 "\xda\x00\x05range"s,
                                 "\xdb\x00\x00\x00\x05range"s,
                                 "\xc4\x05range"s,
                                 "\xc5\x00\x05range"s,
                                 "\xc6\x00\x00\x00\x05range"s};
  const std::string names[] = {"\xa6orders",
                               "\xd9\x06orders",
                               "\xda\x00\x06orders"s,
                               "\xdb\x00\x00\x00\x06orders"s,
                               "\xc4\x06orders"s,
                               "\xc5\x00\x06orders"s,
                               "\xc6\x00\x00\x00\x06orders"s};
  const std::string params[] = {"\x92", "\xdc\x00\x02"s, "\xdd\x00\x00\x00\x02"s};
  Service service;
  std::int64_t first = 1;
  for (const std::string& array : arrays) {
    for (const std::string& zero : zeros) {
      for (std::size_t at = 0; at < 63; ++at) {
        const std::string bytes = array + zero + sevens[at % 9] + methods[at % 7] + params[at % 3] +
                                  names[(at / 7) % 7] + sevens[(at / 3) % 9];
        CAPTURE(bytes);
        const Reply reply = service.ask(bytes);
        REQUIRE(reply.msgid == 7);
        REQUIRE(reply.runs() == Runs{{first, 7, 1}});
        first += 7;
      }
    }
  }
}

// --- views

TEST_CASE("PeekIssuesAndLeasesNothing", "[methods]") {
  Service service;
  auto seen = map_of(service.ask(peek_request(1, "orders")));
  REQUIRE(seen ==
          std::map<std::string, std::string>{{"next", "nil"}, {"available", "0"}, {"last", "nil"}});
  REQUIRE(service.world.core.store.lease_calls.empty());
  REQUIRE(service.world.core.table->find("orders") == 0);
  service.ask(next_request(1, "orders"));
  seen = map_of(service.ask(peek_request(1, "orders")));
  REQUIRE(seen ==
          std::map<std::string, std::string>{{"next", "2"}, {"available", "9"}, {"last", "1"}});
  REQUIRE(service.world.core.store.lease_calls.size() == 1);
}

TEST_CASE("ListTellsOfEverySequence", "[methods]") {
  Service service;
  service.ask(next_request(1, "orders"));
  protocol::ValueReader reader = service.ask(plain_request(1, "list")).result();
  const Reply reply = service.ask(plain_request(1, "list"));
  reader = reply.result();
  REQUIRE(reader.read_array() == 1U);
  REQUIRE(read_map(reader) == std::map<std::string, std::string>{{"name", "orders"},
                                                                 {"store", "default"},
                                                                 {"reuse", "never"},
                                                                 {"available", "9"},
                                                                 {"next", "2"},
                                                                 {"issued", "1"},
                                                                 {"waiting", "0"},
                                                                 {"state", "ready"},
                                                                 {"error", "nil"},
                                                                 {"left", "9007199254740981"},
                                                                 {"days_left", "nil"},
                                                                 {"runway_ms", "nil"}});
  REQUIRE(reader.at_end());
}

std::string page_request(std::string_view after, std::int64_t limit) {
  protocol::Buffer options;
  protocol::append_map(options, 2);
  protocol::append_text(options, "after");
  protocol::append_text(options, after);
  protocol::append_text(options, "limit");
  protocol::append_integer(options, limit);
  return request("list", 1, {options.data(), options.size()});
}

std::vector<std::string> names_of(const Reply& reply) {
  protocol::ValueReader reader = reply.result();
  std::vector<std::string> names;
  for (std::uint32_t left = reader.read_array().value_or(0); left > 0; --left)
    names.push_back(read_map(reader).at("name"));
  CHECK(reader.at_end());
  return names;
}

// Of 75,000 sequences the reply would be above the 16 MiB that a client takes.
TEST_CASE("ListComesInPages", "[methods]") {
  using Names = std::vector<std::string>;
  Service service;
  for (const char* name : {"d", "b", "e", "a", "c"}) {
    service.world.core.settings.add(name);
    service.ask(next_request(1, name));
  }
  CHECK(names_of(service.ask(page_request("", 2))) == Names{"a", "b"});
  CHECK(names_of(service.ask(page_request("b", 2))) == Names{"c", "d"});
  CHECK(names_of(service.ask(page_request("bb", 1'000))) == Names{"c", "d", "e"});
  CHECK(names_of(service.ask(page_request("e", 2))).empty());
  for (const std::int64_t limit : {std::int64_t{0}, std::int64_t{1'001}, std::int64_t{-1}})
    CHECK(service.code(page_request("", limit)) == ErrorCode::BAD_REQUEST);
  for (const char* wrong : {"\x81\xa5"
                            "after\x01",
                            "\x81\xa5"
                            "other\x01",
                            "\x01"})
    CHECK(service.code(request("list", 1, wrong)) == ErrorCode::BAD_REQUEST);
  service.world.core.limits.sequences = 2'000;
  service.world.core.table->apply_settings(service.world.core.limits);
  for (int at = 0; at < 1'200; ++at) {
    const std::string name = "n" + std::to_string(at);
    service.world.core.settings.add(name);
    REQUIRE(service.world.core.table->open(name).ok());
  }
  service.world.turn();
  CHECK(names_of(service.ask(plain_request(1, "list"))).size() == 1'000);
}

std::string list_of(const std::vector<std::string>& names) {
  protocol::Buffer params;
  for (const std::string& name : names) protocol::append_text(params, name);
  return request("list", static_cast<std::uint32_t>(names.size()), {params.data(), params.size()});
}

TEST_CASE("ListOfNamesHasARowForEachInTheirOrder", "[methods]") {
  Service service;
  service.world.core.settings.add("bills");
  service.ask(next_request(1, "orders"));
  service.ask(next_request(2, "bills"));
  const Reply reply = service.ask(list_of({"orders", "nosuch", "bills", "orders"}));
  protocol::ValueReader reader = reply.result();
  REQUIRE(reader.read_array() == 4U);
  CHECK(read_map(reader).at("name") == "orders");
  CHECK(reader.read_nil());
  const auto bills = read_map(reader);
  CHECK(bills.at("name") == "bills");
  CHECK(bills.at("issued") == "1");
  CHECK(read_map(reader).at("name") == "orders");
  CHECK(reader.at_end());
  CHECK(service.world.core.table->find("nosuch") == 0);  // it only looked
}

TEST_CASE("ListOfNamesThatAreNoneIsRefused", "[methods]") {
  Service service;
  CHECK(service.code(list_of({"a b"})) == ErrorCode::BAD_REQUEST);
  CHECK(service.code(list_of({"orders", std::string(129, 'a')})) == ErrorCode::TOO_LARGE);
  CHECK(service.code(request("list", "orders", 2, "\x05")) == ErrorCode::BAD_REQUEST);
  CHECK(service.code(request("list", "orders", 2, "\x80")) == ErrorCode::BAD_REQUEST);
  CHECK(service.code(list_of(std::vector<std::string>(1'000, "orders"))) == ErrorCode::OK);
  CHECK(service.code(list_of(std::vector<std::string>(1'001, "orders"))) == ErrorCode::BAD_REQUEST);
}

TEST_CASE("AClientsNameIsKeptWithoutControlCharacters", "[methods]") {
  Service service;
  protocol::Buffer bytes;
  protocol::append_hello(bytes, 1,
                         {std::nullopt,
                          "a\x1b[2J\xc2\x9b"
                          "31m\x9b\u00e9"});
  REQUIRE(service.code({bytes.data(), bytes.size()}) == ErrorCode::OK);
  CHECK(service.line->session->client_name == "a?[2J??31m?\u00e9");
}

// A message of DynamoDB is cut within a character, for example.
TEST_CASE("WhatAStoreSaidIsPlainTextInStatus", "[methods]") {
  Service service;
  service.world.control.now.stores = {
      {"default", "mongodb", "down", "said \x1b[2J\xc3\xa9\n\xc3", "session"}};
  const std::string frame = service.ask(plain_request(1, "status")).frame;
  CHECK(frame.find("said ?[2J\xc3\xa9??") != std::string::npos);
  CHECK(frame.find('\x1b') == std::string::npos);
}

TEST_CASE("StatusHasAllItsFields", "[methods]") {
  Service service;
  service.world.control.now.stores = {{"default", "sqlite", "ready", "", "session"}};
  service.ask(next_request(1, "orders"));
  const auto seen = map_of(service.ask(plain_request(1, "status")));
  REQUIRE(seen.size() == 20);
  REQUIRE(seen.at("version") == "0.1.0");
  REQUIRE(seen.at("pid") == "77");
  REQUIRE(seen.at("state_how") == "fresh");
  REQUIRE(seen.at("connections") == "1");
  REQUIRE(seen.at("requests") == "2");
  REQUIRE(seen.at("issued") == "1");
  REQUIRE(seen.at("sequences") == "1");
  REQUIRE(seen.at("waiting") == "0");
  REQUIRE(seen.at("ending") == "array of 0");
  REQUIRE(seen.at("stores") == "array of 1");
  REQUIRE(seen.at("log.position") == "1");
  REQUIRE(seen.at("log.syncs") == "2");
  REQUIRE(seen.at("log.rotations") == "3");
  REQUIRE(seen.at("runway_ms") == "nil");  // nobody has looked at a rate
  REQUIRE(seen.at("runway_sequence") == "nil");
  REQUIRE(seen.at("gaps") == "0");
  REQUIRE(seen.contains("leases"));
  REQUIRE(seen.contains("errors"));
}

TEST_CASE("StatusNamesTheSequencesThatEndSoon", "[methods]") {
  Service service;
  service.world.core.settings.add("few").max_value = 100;
  service.ask(range_request(1, "few", 95));
  const Reply reply = service.ask(plain_request(1, "status"));
  CHECK(map_of(reply).at("ending") == "array of 1");
  CHECK(reply.frame.find("few") != std::string::npos);
  const Reply list = service.ask(plain_request(1, "list"));
  protocol::ValueReader reader = list.result();
  REQUIRE(reader.read_array() == 1U);
  CHECK(read_map(reader).at("left") == "0");  // all that there is was leased
}

// What status says of the end is found without a walk past all sequences.
TEST_CASE("StatusNamesTheSequencesThatEndSoonByTheirRateAndAfterARestart", "[methods]") {
  Service service;
  service.world.core.settings.add("few").max_value = 100;
  service.world.core.settings.add("fast").max_value = 100'000;
  service.world.core.settings.by_name["fast"].lease_max = 100;
  service.ask(range_request(1, "few", 95));
  for (int at = 0; at < 10; ++at) service.ask(range_request(1, "fast", 100));
  const auto ending = [&] { return map_of(service.ask(plain_request(1, "status"))).at("ending"); };
  CHECK(ending() == "array of 1");
  // A minute after its first lease its rate is known; a year later the same rate is low.
  service.world.core.advance(60'000);
  CHECK(ending() == "array of 2");
  service.world.core.advance(std::int64_t{10} * 365 * 86'400'000);
  CHECK(ending() == "array of 1");
  service.world.kill();
  service.world.start();
  service.world.settle();
  service.line = &service.world.connect();
  CHECK(ending() == "array of 1");
}

TEST_CASE("PingIgnoresItsParameters", "[methods]") {
  Service service;
  const Reply reply = service.ask(request("ping", 2, "\xc0\x81\x01\x02"));
  REQUIRE(reply.result().read_text() == "pong");
}

TEST_CASE("ReloadReportsOrSaysWhatIsWrong", "[methods]") {
  Service service;
  service.world.control.next_reload = ReloadReport{{"limits.max_count"}, {"daemon.socket"}};
  const Reply reply = service.ask(plain_request(1, "reload"));
  protocol::ValueReader reader = reply.result();
  REQUIRE(reader.read_map() == 2U);
  REQUIRE(reader.read_text() == "applied");
  REQUIRE(reader.read_array() == 1U);
  REQUIRE(reader.read_text() == "limits.max_count");
  REQUIRE(reader.read_text() == "restart_needed");
  service.world.control.next_reload = Status(ErrorCode::CONFIG, "line 3");
  const Reply wrong = service.ask(plain_request(1, "reload"));
  REQUIRE(wrong.code == ErrorCode::CONFIG);
  REQUIRE(wrong.text == "line 3");
}

TEST_CASE("ErrorsOfTheCoreReachTheWire", "[methods]") {
  using Kind = ScriptedStore::LeaseScript::Kind;
  for (const ErrorCode code : {ErrorCode::EXHAUSTED, ErrorCode::SEQ_TYPE, ErrorCode::SEQ_MEANING,
                               ErrorCode::SEQ_REGRESSED, ErrorCode::STORE_REFUSED}) {
    Service service;
    service.world.core.store.leases = {{Kind::refuse, {code, "because"}, 0, 0}};
    REQUIRE(service.code(next_request(1, "orders")) == code);
  }
  Service busy;
  busy.world.core.settings.add("few").max_waiters = 1;
  busy.world.send(*busy.line, next_request(1, "few") + next_request(2, "few"));
  busy.world.turn();
  REQUIRE(busy.line->replies().front().code == ErrorCode::BUSY);
  Service stopping;
  stopping.world.core.table->begin_stop({ErrorCode::STOPPING, "bye"});
  REQUIRE(stopping.code(next_request(1, "orders")) == ErrorCode::STOPPING);
}

}  // namespace
}  // namespace seqd
