#include <string>

#include "protocol/values/value_writer.h"
#include "tests/unit/service.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

std::string with(std::string_view key, std::string_view value) {
  protocol::Buffer options;
  protocol::append_map(options, 1);
  protocol::append_text(options, key);
  protocol::append_text(options, value);
  return request("config", 1, {options.data(), options.size()});
}

TEST_CASE("ConfigAnswersAPageAsItIsGiven", "[methods]") {
  Service service;
  service.world.control.next_config =
      ConfigPage{"/etc/seqd/seqd.toml",
                 {{"daemon",
                   {{"socket", "\"/run/seqd.sock\"", "default", 0, false},
                    {"admins", "[\"@ops\"]", "file", 4, true}}},
                  {"sequence.\"orders\"", {}}},
                 "orders"};
  const Reply reply = service.ask(with("after", "bills"));
  CHECK(service.world.control.asked_config.after == "bills");
  CHECK(service.world.control.asked_config.sequence.empty());
  protocol::ValueReader reader = reply.result();
  REQUIRE(reader.read_map() == 5U);
  CHECK(reader.read_text() == "file");
  CHECK(reader.read_text() == "/etc/seqd/seqd.toml");
  CHECK(reader.read_text() == "reloads");
  CHECK(reader.read_integer() == 0);
  CHECK(reader.read_text() == "tables");
  REQUIRE(reader.read_array() == 2U);
  REQUIRE(reader.read_map() == 2U);
  CHECK(reader.read_text() == "table");
  CHECK(reader.read_text() == "daemon");
  CHECK(reader.read_text() == "options");
  REQUIRE(reader.read_array() == 2U);
  using Texts = std::map<std::string, std::string>;
  CHECK(read_map(reader) == Texts{{"key", "socket"},
                                  {"value", "\"/run/seqd.sock\""},
                                  {"from", "default"},
                                  {"line", "nil"},
                                  {"waits", "false"}});
  CHECK(read_map(reader) == Texts{{"key", "admins"},
                                  {"value", "[\"@ops\"]"},
                                  {"from", "file"},
                                  {"line", "4"},
                                  {"waits", "true"}});
  REQUIRE(reader.read_map() == 2U);
  REQUIRE(reader.skip());
  CHECK(reader.read_text() == "sequence.\"orders\"");
  REQUIRE(reader.skip());
  CHECK(reader.read_array() == 0U);
  CHECK(reader.read_text() == "more");
  CHECK(reader.read_bool() == true);
  CHECK(reader.read_text() == "after");
  CHECK(reader.read_text() == "orders");
  CHECK(reader.at_end());
}

TEST_CASE("ConfigCountsTheReloads", "[methods]") {
  Service service;
  service.world.server->apply_settings({});
  const auto answer = map_of(service.ask(plain_request(1, "config")));
  CHECK(answer.at("reloads") == "1");
  CHECK(answer.at("file") == "nil");
  CHECK(answer.at("more") == "false");
  CHECK(answer.at("after") == "nil");
}

TEST_CASE("ConfigOfASequenceOrAnErrorThatSaysWhy", "[methods]") {
  Service service;
  CHECK(service.code(with("sequence", "daily@2026-11-26")) == ErrorCode::OK);
  CHECK(service.world.control.asked_config.sequence == "daily@2026-11-26");
  service.world.control.next_config = Status(ErrorCode::NO_SEQUENCE, "none");
  CHECK(service.code(with("sequence", "orders")) == ErrorCode::NO_SEQUENCE);
  CHECK(service.code(with("sequence", "or ders")) == ErrorCode::BAD_REQUEST);
  CHECK(service.code(with("sequence", "")) == ErrorCode::BAD_REQUEST);
  CHECK(service.code(with("sequence", std::string(129, 'a'))) == ErrorCode::TOO_LARGE);
  CHECK(service.code(with("other", "orders")) == ErrorCode::BAD_REQUEST);
  for (const char* wrong : {"\x01",
                            "\x81\xa5"
                            "after\x01",
                            "\x82\xa5"
                            "after\xa0\xa5"
                            "after\xa0"})
    CHECK(service.code(request("config", 1, wrong)) == ErrorCode::BAD_REQUEST);
  CHECK(service.code(request("config", 2, "\x80\x80")) == ErrorCode::BAD_REQUEST);
}

}  // namespace
}  // namespace seqd
