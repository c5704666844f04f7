// Who has a page of blocks, and what a start with another configuration takes from him.
#include <string>

#include "protocol/values/value_writer.h"
#include "tests/unit/service.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

std::string block_request(std::uint32_t msgid, std::int64_t slot, std::int64_t count) {
  protocol::Buffer out;
  protocol::append_array(out, 4);
  protocol::append_integer(out, 0);
  protocol::append_integer(out, msgid);
  protocol::append_text(out, "block");
  protocol::append_array(out, 3);
  protocol::append_text(out, "orders");
  protocol::append_integer(out, slot);
  protocol::append_integer(out, count);
  return std::string(out.data(), out.size());
}

// A client of a daemon with blocks of "orders".
struct Pages : Service {
  Pages() {
    SequenceSettings& settings = world.core.settings.by_name.at("orders");
    settings.blocks = true;
    settings.lease_min = 100;
    world.core.log.any_order = true;
    REQUIRE(world.ask(world.connect(), next_request(1, "orders")).id() == 1);
    come();
  }
  void come() {
    line = &world.connect();
    REQUIRE(ask(hello_request(0, 1)).code == ErrorCode::OK);
  }
};

TEST_CASE("WithoutASequenceWithBlocksThereAreNoPages", "[blocks]") {
  Pages f;
  ServerLimits limits;
  limits.methods.blocks = false;
  f.world.server->apply_settings(limits);
  CHECK(f.ask(plain_request(1, "page")).code == ErrorCode::WRONG_MODE);
  CHECK(f.world.core.pages.pages.empty());
  f.world.server->apply_settings({});
  CHECK(f.ask(plain_request(2, "page")).code == ErrorCode::OK);
}

TEST_CASE("AClientThatIsDeniedSinceTheStartContinuesNoBlock", "[blocks]") {
  Pages f;
  REQUIRE(f.ask(block_request(1, 0, 10)).code == ErrorCode::OK);
  const ClientId client = f.line->session->client;
  f.world.core.pages.slot(client, 0).taken = 4;
  f.world.kill();
  f.world.core.settings.by_name.at("orders").access.deny.compiled.users = {1'000};
  f.world.start();
  f.world.settle();
  f.come();
  CHECK(f.world.core.pages.slot(client, 0).limit == 0);
  CHECK(f.world.core.sequence("orders").out() == 0);
  CHECK(f.world.core.sequence("orders").totals().issued == 5);
}

// The daemon does not know after a start who had the page: it may still be attached.
TEST_CASE("AnotherUserWithTheSameIdentityGetsAPageOfItsOwnAfterAStart", "[blocks]") {
  Pages f;
  REQUIRE(f.ask(block_request(1, 0, 10)).code == ErrorCode::OK);
  const ClientId client = f.line->session->client;
  f.world.core.pages.slot(client, 0).taken = 4;
  f.world.kill();
  f.world.start();
  f.world.settle();
  const auto page = f.world.core.pages.pages.at(client);
  f.line = &f.world.connect(2'000, {}, 77);
  REQUIRE(f.ask(hello_request(0, 1)).code == ErrorCode::OK);
  REQUIRE(f.line->session->client == client);
  CHECK(page->at(0).limit == 0);
  CHECK(f.world.core.sequence("orders").out() == 0);
  CHECK(f.world.core.sequence("orders").totals().issued == 5);
  REQUIRE(f.ask(plain_request(2, "page")).code == ErrorCode::OK);
  CHECK(f.world.core.pages.pages.at(client) != page);
}

}  // namespace
}  // namespace seqd
