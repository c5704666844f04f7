#include <optional>
#include <string>

#include "protocol/values/value_writer.h"
#include "tests/unit/service.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

std::string advance(std::string_view name, std::initializer_list<std::int64_t> numbers) {
  protocol::Buffer params;
  for (const std::int64_t number : numbers) protocol::append_integer(params, number);
  return request("advance", name, static_cast<std::uint32_t>(numbers.size() + 1),
                 {params.data(), params.size()});
}

// The parameters behind the name, packed.
std::string advance_with(std::uint32_t count, const protocol::Buffer& params) {
  return request("advance", "orders", count + 1, {params.data(), params.size()});
}

std::string everywhere(std::optional<std::int64_t> next_id, bool everywhere) {
  protocol::Buffer params;
  if (next_id) protocol::append_integer(params, *next_id);
  if (!next_id) protocol::append_nil(params);
  protocol::append_map(params, 1);
  protocol::append_text(params, "everywhere");
  protocol::append_bool(params, everywhere);
  return advance_with(2, params);
}

TEST_CASE("AdvanceForEveryHostIsAnsweredWhenThisHostHasWithdrawn", "[rpc]") {
  Service service;
  CHECK(service.ask(request("next", "orders")).id() == 1);
  CHECK(service.ask(everywhere(700, true)).id() == 700);
  CHECK(service.world.core.store.floors["orders"] == 700);
  CHECK(service.ask(request("next", "orders")).id() == 700);
  CHECK(service.world.core.store.advance_calls.size() == 1);
  // Wherever the counter is: nothing is left out, and what is available is.
  const std::int64_t end = service.ask(everywhere(std::nullopt, true)).id();
  CHECK(end > 701);
  CHECK(service.ask(request("next", "orders")).id() == end);
}

TEST_CASE("AdvanceWithTheOptionOfNoHostButTheCounterLeavesTheHand", "[rpc]") {
  Service service;
  CHECK(service.ask(request("next", "orders")).id() == 1);
  CHECK(service.ask(everywhere(700, false)).id() == 700);
  CHECK(service.world.core.store.floors.empty());
  CHECK(service.ask(request("next", "orders")).id() == 2);
}

TEST_CASE("AdvanceWithOptionsThatAreNoneIsABadRequest", "[rpc]") {
  Service service;
  protocol::Buffer no_map;
  protocol::append_integer(no_map, 5);
  protocol::append_integer(no_map, 6);
  CHECK(service.code(advance_with(2, no_map)) == ErrorCode::BAD_REQUEST);
  for (const char* const key : {"everywhere", "nowhere"}) {
    protocol::Buffer params;
    protocol::append_nil(params);
    protocol::append_map(params, 1);
    protocol::append_text(params, key);
    protocol::append_integer(params, 1);
    CHECK(service.code(advance_with(2, params)) == ErrorCode::BAD_REQUEST);
  }
  CHECK(service.world.core.store.advance_calls.empty());
}

TEST_CASE("AdvanceIsAnsweredWithTheNextIdWhenTheStoreHasAnswered", "[rpc]") {
  Service service;
  CHECK(service.ask(advance("orders", {700})).id() == 700);
  CHECK(service.world.core.store.next_id["orders"] == 700);
  CHECK(service.ask(advance("orders", {})).id() == 700);
}

TEST_CASE("AdvanceOfWhatIsNoIdOrNoSequenceIsAnErrorAndAsksNothing", "[rpc]") {
  Service service;
  for (const std::string& wrong :
       {advance("orders", {0}), advance("orders", {-1}), advance("orders", {1, 2}),
        advance("no such name", {5}), advance("", {5})}) {
    CHECK(service.code(wrong) == ErrorCode::BAD_REQUEST);
  }
  CHECK(service.code(advance("missing", {5})) == ErrorCode::NO_SEQUENCE);
  CHECK(service.world.core.store.advance_calls.empty());
}

TEST_CASE("AnErrorOfTheStoreIsTheAnswerOfAdvance", "[rpc]") {
  Service service;
  service.world.core.store.advances.push_back({ScriptedStore::AdvanceScript::Kind::failed});
  CHECK(service.code(advance("orders", {5})) == ErrorCode::UNAVAILABLE);
  CHECK(service.ask(advance("orders", {5})).id() == 5);
}

TEST_CASE("AClientThatIsGoneDoesNotHearOfItsAdvance", "[rpc]") {
  Service service;
  service.world.send(*service.line, advance("orders", {5}));
  service.world.turn();
  service.world.hang_up(*service.line);
  service.world.settle();
  CHECK(service.world.core.store.next_id["orders"] == 5);
}

}  // namespace
}  // namespace seqd
