// peek, list, status and ping.
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
                                                                 {"out", "0"},
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
  REQUIRE(seen.size() == 21);
  CHECK(seen.at("out") == "0");
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

}  // namespace
}  // namespace seqd
