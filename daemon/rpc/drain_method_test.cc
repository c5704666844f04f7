#include <map>
#include <string>
#include <vector>

#include "protocol/value_writer.h"
#include "tests/unit/service.h"

// After the project's headers: both define CHECK, and here Catch's is meant.
#include <catch2/catch.hpp>

namespace seqd {
namespace {

using Answer = std::vector<std::map<std::string, std::string>>;

constexpr char kNil = '\xc0';

std::string with_timeout(std::int64_t timeout_ms, std::string_view key = "timeout_ms") {
  protocol::Buffer options;
  protocol::append_map(options, 1);
  protocol::append_text(options, key);
  protocol::append_integer(options, timeout_ms);
  return std::string(options.data(), options.size());
}

Answer drained(const Reply& reply) {
  protocol::ValueReader reader = reply.result();
  Answer answer;
  for (std::uint32_t left = reader.read_array().value_or(0); left > 0; --left) {
    answer.push_back(read_map(reader));
  }
  CHECK(reader.at_end());
  return answer;
}

struct Drain : Service {
  explicit Drain(Reuse reuse = Reuse::never) {
    world.core.settings.by_name["orders"].reuse = reuse;
    world.core.log.any_order = true;
    REQUIRE(ask(request("next", "orders")).id() == 1);
  }
};

TEST_CASE("ADrainOfOneSequenceSaysWhatBecameOfItsRanges", "[rpc]") {
  const Reuse reuse = GENERATE(Reuse::never, Reuse::tail, Reuse::parked);
  Drain service(reuse);
  const Answer answer = drained(service.ask(request("drain", "orders")));
  REQUIRE(answer.size() == 1);
  CHECK(answer[0].at("name") == "orders");
  CHECK(answer[0].at("error") == "nil");
  CHECK(answer[0].at("in_hand") == "0");
  CHECK(answer[0].at("on_its_way") == "0");
  CHECK((answer[0].at("returned") != "array of 0") == (reuse != Reuse::never));
  CHECK((answer[0].at("gaps") != "array of 0") == (reuse == Reuse::never));
  CHECK((answer[0].at("why") == "nil") == (reuse != Reuse::never));
}

TEST_CASE("ADrainOfAllAnswersForEverySequence", "[rpc]") {
  Drain service;
  service.world.core.settings.add("other");
  REQUIRE(service.ask(request("next", "other")).id() == 1);
  const Answer answer = drained(service.ask(request("drain", 1, std::string(1, kNil))));
  REQUIRE(answer.size() == 2);
  CHECK(answer[0].at("name") == "orders");
  CHECK(answer[1].at("name") == "other");
}

TEST_CASE("ADrainOfAllWhereThereIsNothingIsAnEmptyAnswer", "[rpc]") {
  Service service;
  CHECK(drained(service.ask(request("drain", 1, std::string(1, kNil)))).empty());
}

TEST_CASE("AWrongDrainIsAnErrorAndTakesNothingOutOfHand", "[rpc]") {
  Drain service;
  const std::int64_t in_hand = service.world.core.sequence("orders").in_hand();
  for (const std::string& wrong :
       {request("drain", 0, ""), request("drain", ""), request("drain", "no such name"),
        request("drain", "orders", 2, with_timeout(-1)),
        request("drain", "orders", 2, with_timeout(300'001)),
        request("drain", "orders", 2, with_timeout(1, "timeout")),
        request("drain", "orders", 2, std::string(1, kNil)),
        request("drain", "orders", 3, with_timeout(1) + with_timeout(1))}) {
    CHECK(service.code(wrong) == ErrorCode::BAD_REQUEST);
  }
  CHECK(service.code(request("drain", "missing")) == ErrorCode::NO_SEQUENCE);
  CHECK(service.world.core.sequence("orders").in_hand() == in_hand);
}

TEST_CASE("ADrainWithoutTimeSaysWhatIsStillInHand", "[rpc]") {
  Drain service(Reuse::parked);
  const std::int64_t in_hand = service.world.core.sequence("orders").in_hand();
  const Answer answer = drained(service.ask(request("drain", "orders", 2, with_timeout(0))));
  REQUIRE(answer.size() == 1);
  CHECK(answer[0].at("in_hand") == std::to_string(in_hand));
  CHECK(service.world.core.store.return_calls.empty());
}

TEST_CASE("AClientThatIsGoneDoesNotHearOfItsDrain", "[rpc]") {
  Drain service(Reuse::parked);
  service.world.send(*service.line, request("drain", "orders"));
  service.world.turn();
  service.world.hang_up(*service.line);
  service.world.settle();
  CHECK(service.world.core.sequence("orders").totals().returned > 0);
}

}  // namespace
}  // namespace seqd
