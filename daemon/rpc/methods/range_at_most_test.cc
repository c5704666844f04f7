// `range` with the option at_most: of so many IDs as many as can be issued now.
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/values/value_writer.h"
#include "tests/unit/service.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

// [0, number, "range", ["orders", count, {"at_most": value}]]
std::string at_most(std::uint32_t number, std::int64_t count, bool value = true) {
  protocol::Buffer out;
  protocol::append_array(out, 4);
  protocol::append_integer(out, 0);
  protocol::append_integer(out, number);
  protocol::append_text(out, "range");
  protocol::append_array(out, 3);
  protocol::append_text(out, "orders");
  protocol::append_integer(out, count);
  protocol::append_map(out, 1);
  protocol::append_text(out, "at_most");
  protocol::append_bool(out, value);
  return {out.data(), out.size()};
}

std::int64_t ids_of(const Reply& reply) {
  const std::vector<Run> runs = reply.runs();
  return std::accumulate(runs.begin(), runs.end(), std::int64_t{0},
                         [](std::int64_t sum, const Run& run) { return sum + run.count; });
}

// A sequence of which ten IDs are leased at a time.
struct Tens : Service {
  Tens() {
    SequenceSettings& orders = world.core.settings.by_name["orders"];
    orders.lease_min = orders.lease_max = 10;
    world.core.log.any_order = true;
    hello();
    REQUIRE(ask(next_request(1, "orders")).id() == 1);
  }
  void hello() {
    line = &world.connect();
    REQUIRE(world.ask(*line, hello_request(0, 7)).code == ErrorCode::OK);
  }
  const Sequence& orders() { return world.core.table->at(world.core.table->find("orders")); }
  // The store answers no lease.
  void lose_store() {
    world.core.store.leases.assign(1'000, {ScriptedStore::LeaseScript::Kind::refuse});
  }
};

TEST_CASE("ARangeOfAtMostSoManyTakesWhatIsThere", "[methods]") {
  Tens service;
  const std::int64_t there = service.orders().available();
  REQUIRE(there > 0);
  CHECK(ids_of(service.ask(at_most(2, 1'000))) == there);
  CHECK(ids_of(service.ask(at_most(3, 1))) == 1);
  CHECK(service.orders().waiters().size() == 0);
}

TEST_CASE("ARangeOfAtMostMoreThanTheLimitIsNotTooLarge", "[methods]") {
  Tens service;
  service.world.limits.methods.count = 3;
  service.world.server->apply_settings(service.world.limits);
  CHECK(ids_of(service.ask(at_most(2, 1'000))) == 3);
  CHECK(service.code(range_request(3, "orders", 4)) == ErrorCode::TOO_LARGE);
  CHECK(service.code(at_most(4, 0)) == ErrorCode::BAD_REQUEST);
}

TEST_CASE("ARepeatOfARangeHasItsIdsThoughTheLimitIsLowerNow", "[methods]") {
  Tens service;
  const bool is_at_most = GENERATE(false, true);
  const std::string range = is_at_most ? at_most(2, 5) : range_request(2, "orders", 5);
  const std::vector<Run> runs = service.ask(range).runs();
  service.world.limits.methods.count = 3;
  service.world.server->apply_settings(service.world.limits);
  service.hello();
  CHECK(service.ask(range).runs() == runs);
  CHECK(service.code(range_request(3, "orders", 5)) == ErrorCode::TOO_LARGE);
}

TEST_CASE("ARepeatOfARangeOfAtMostSoManyHasTheSameIds", "[methods]") {
  Tens service;
  const std::vector<Run> runs = service.ask(at_most(2, 1'000)).runs();
  REQUIRE_FALSE(runs.empty());
  const bool restarts = GENERATE(false, true);
  if (restarts) {
    service.world.kill();
    service.world.start();
    service.world.settle();
  }
  service.hello();
  CHECK(service.ask(at_most(2, 1'000)).runs() == runs);
  CHECK(service.code(at_most(2, 1)) == ErrorCode::BAD_REQUEST);
  CHECK(service.code(range_request(2, "orders", 1'000)) == ErrorCode::BAD_REQUEST);
}

// The pieces of several ranges are so many entries that are kept for repeats.
TEST_CASE("ARangeOfAtMostSoManyIsOfOneRangeWhereNoMoreCanBeKept", "[methods]") {
  Tens service;
  service.world.core.limits.replays.unacknowledged = 8;
  service.world.kill();
  service.world.start();
  service.world.settle();
  service.hello();
  for (std::uint32_t number = 2; number <= 7; ++number)
    REQUIRE(ids_of(service.ask(range_request(number, "orders", 1))) == 1);
  REQUIRE(service.orders().held().ranges().size() > 1);
  REQUIRE(service.orders().held().issuable() == service.orders().available());
  const std::int64_t first = service.orders().held().first_issuable();
  CHECK(ids_of(service.ask(at_most(8, 100))) == first);
}

// A request that needs no more than one ID does not show that more are missing.
TEST_CASE("ARangeOfAtMostSoManyLeavesASequenceReady", "[methods]") {
  Tens service;
  service.lose_store();
  const std::int64_t there = service.orders().available();
  CHECK(ids_of(service.ask(at_most(2, there + 50))) == there);
  CHECK(state_name(service.orders()) != "stopped");
  CHECK(service.ask(at_most(3, 50)).code == ErrorCode::UNAVAILABLE);
  CHECK(service.orders().waiters().size() == 0);
}

TEST_CASE("AnOptionThatRangeDoesNotHaveIsRefused", "[methods]") {
  Tens service;
  std::string other = at_most(2, 5);
  other.replace(other.find("at_most"), 7, "at_mist");
  CHECK(service.code(other) == ErrorCode::BAD_REQUEST);
  std::string number = at_most(3, 5);
  number.back() = '\x01';
  CHECK(service.code(number) == ErrorCode::BAD_REQUEST);
  CHECK(ids_of(service.ask(at_most(4, 5, false))) == 5);
}

}  // namespace
}  // namespace seqd
