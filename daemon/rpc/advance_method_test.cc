#include <string>

#include "protocol/value_writer.h"
#include "tests/unit/service.h"

// After the project's headers: both define CHECK, and here Catch's is meant.
#include <catch2/catch.hpp>

namespace seqd {
namespace {

std::string advance(std::string_view name, std::initializer_list<std::int64_t> numbers) {
  protocol::Buffer params;
  for (const std::int64_t number : numbers) protocol::append_integer(params, number);
  return request("advance", name, static_cast<std::uint32_t>(numbers.size() + 1),
                 {params.data(), params.size()});
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
