#include <map>
#include <string>
#include <vector>

#include "protocol/values/value_writer.h"
#include "tests/unit/service.h"

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
  CHECK(answer[0].at("available") == "0");
  CHECK(answer[0].at("returning") == "0");
  CHECK((answer[0].at("returned") != "array of 0") == (reuse != Reuse::never));
  CHECK((answer[0].at("gaps") != "array of 0") == (reuse == Reuse::never));
  CHECK((answer[0].at("why") == "nil") == (reuse != Reuse::never));
}

TEST_CASE("ADrainRemovesTheSequenceOnDemandAndItsNextRequestMakesIt", "[rpc]") {
  Drain service;
  protocol::Buffer options;
  protocol::append_map(options, 1);
  protocol::append_text(options, "remove");
  protocol::append_bool(options, true);
  const std::string remove(options.data(), options.size());
  CHECK(service.ask(request("drain", 2, std::string(1, kNil) + remove)).code ==
        ErrorCode::BAD_REQUEST);
  // The connection remembers the sequence once it has found it, for one request again and again.
  REQUIRE(service.ask(request("next", "orders")).id() == 2);
  REQUIRE(service.ask(request("next", "orders")).id() == 3);
  Line& other = service.world.connect();
  service.world.send(other, request("drain", "orders", 2, remove));
  service.world.settle();
  CHECK(other.replies().empty());
  service.world.core.time.advance(10);
  service.world.settle();
  const std::vector<Reply> replies = other.replies();
  REQUIRE(replies.size() == 1);
  const Answer answer = drained(replies.front());
  CHECK((answer[0].at("removed") == "true" && answer[0].at("error") == "nil"));
  CHECK(service.world.core.table->find("orders") == 0);
  // The same request as the one before it on its connection.
  CHECK(service.ask(request("next", "orders")).id() == 11);
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
  const std::int64_t available = service.world.core.sequence("orders").available();
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
  CHECK(service.world.core.sequence("orders").available() == available);
}

// seqctl drain asks for --yes by what list says.
TEST_CASE("ListTellsThatADrainLosesTheIdsOfAnotherDatabase", "[rpc]") {
  Drain service(Reuse::parked);
  const auto reuse = [&service](Line& line) {
    return drained(service.world.ask(line, plain_request(1, "list")))[0].at("reuse");
  };
  CHECK(reuse(*service.line) == "parked");
  service.world.kill();
  service.world.core.store.where = "elsewhere";
  service.world.core.store.identity = Token{2};
  service.world.start();
  service.world.settle();
  Line& line = service.world.connect();
  CHECK(reuse(line) == "never");
  service.world.send(line, request("drain", "orders"));
  service.world.core.advance(1);
  service.world.settle();
  const std::vector<Reply> replies = line.replies();
  REQUIRE(replies.size() == 1);
  const Answer answer = drained(replies[0]);
  CHECK(answer[0].at("returned") == "array of 0");
  CHECK(answer[0].at("gaps") == "array of 1");
}

TEST_CASE("ADrainWithoutTimeSaysWhatIsStillAvailable", "[rpc]") {
  Drain service(Reuse::parked);
  const std::int64_t available = service.world.core.sequence("orders").available();
  const Answer answer = drained(service.ask(request("drain", "orders", 2, with_timeout(0))));
  REQUIRE(answer.size() == 1);
  CHECK(answer[0].at("available") == std::to_string(available));
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

// Each of them held a report of every sequence.
TEST_CASE("OneDrainOfAllSequencesAtATime", "[rpc]") {
  Drain service(Reuse::parked);
  const std::string all = request("drain", 1, std::string(1, kNil));
  for (int at = 0; at < 100; ++at) service.world.send(*service.line, all);
  service.world.turn();
  std::vector<Reply> replies = service.line->replies();
  REQUIRE(replies.size() == 99);
  for (const Reply& reply : replies) CHECK(reply.code == ErrorCode::BUSY);
  service.world.settle();
  replies = service.line->replies();
  REQUIRE(replies.size() == 1);
  CHECK(drained(replies[0])[0].at("available") == "0");
  CHECK(service.code(all) == ErrorCode::OK);
}

// One user cannot keep the others from it, and a place is always left for root.
TEST_CASE("DrainsOfAllSequencesOfSeveralAdministrators", "[rpc]") {
  Drain service(Reuse::parked);
  service.world.control.listed = UserList{true, {}, {}};
  const std::string all = request("drain", 1, std::string(1, kNil));
  const auto ask = [&](UserId user) {
    Line& line = service.world.connect(user);
    service.world.send(line, all);
    return &line;
  };
  std::vector<Line*> admitted;
  for (const UserId user : {1U, 2U, 3U, 0U}) admitted.push_back(ask(user));
  std::vector<Line*> refused;
  for (const UserId user : {1U, 3U, 4U, 0U}) refused.push_back(ask(user));
  service.world.turn();
  for (Line* line : admitted) CHECK(line->replies().empty());
  for (Line* line : refused) {
    const std::vector<Reply> replies = line->replies();
    REQUIRE(replies.size() == 1);
    CHECK(replies[0].code == ErrorCode::BUSY);
  }
  service.world.settle();
  for (Line* line : admitted) CHECK(line->replies().size() == 1);
  CHECK(service.world.ask(service.world.connect(4), all).code == ErrorCode::OK);
}

TEST_CASE("SoManyMayWaitForTheDrainOfASequence", "[rpc]") {
  Drain service(Reuse::parked);
  for (int at = 0; at < 100; ++at) service.world.send(*service.line, request("drain", "orders"));
  service.world.turn();
  const std::vector<Reply> replies = service.line->replies();
  REQUIRE(replies.size() == 36);
  for (const Reply& reply : replies) CHECK(reply.code == ErrorCode::BUSY);
  service.world.settle();
  CHECK(service.line->replies().size() == 64);
}

}  // namespace
}  // namespace seqd
