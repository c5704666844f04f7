// hello and reload.
#include <optional>

#include "protocol/requests.h"
#include "tests/unit/service.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

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

}  // namespace
}  // namespace seqd
