// Registers in DynamoDB whose answers are lost, and transactions that are cancelled. The rule under
// test: nothing is guessed, and asking again tells.
#include <string>
#include <vector>

#include "daemon/store/dynamo/wire/dynamo_batch.h"
#include "tests/adapters/dynamo/dynamo_registers.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;
using Ended = RegisterOutcome::Kind;
using Fault = HttpFault::Kind;

// What comes back of a write that was applied, or may have been.
HttpFault lost_answer() {
  return GENERATE(
      fault(Fault::lose_reply), fault(Fault::lose_request), fault(Fault::cut_reply),
      HttpFault{Fault::say_applied, 200, "{"}, HttpFault{Fault::say_applied, 400, "<html></html>"},
      HttpFault{Fault::say_applied, 500, dynamo_error("InternalServerError", "try again")},
      HttpFault{Fault::say_applied, 503, dynamo_error("ServiceUnavailable", "try again")},
      HttpFault{Fault::say_applied, 400, dynamo_error("TransactionInProgressException", "")});
}

TEST_CASE("DynamoRegister: an add without an answer is unknown, and asking again tells",
          "[dynamo][register]") {
  DynamoRegisters world;
  TestRegister& invoices = world.invoices;
  world.add({"a"});
  world.faults.proxy.plan(kTransact, {lost_answer()});
  const RegisterOutcome outcome = invoices.write({invoices.add(2, "b"), invoices.add(3, "c")});
  require_ended(outcome, Ended::unknown, 0);
  REQUIRE(outcome.error.text().size() > 20);
  REQUIRE(invoices.assign("b") == 2);
  REQUIRE(invoices.assign("c") == 3);
  REQUIRE(invoices.keys() == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("DynamoRegister: a change without an answer is unknown, and is there or is not",
          "[dynamo][register]") {
  const Fault kind = GENERATE(Fault::lose_reply, Fault::lose_request);
  DynamoRegisters world;
  TestRegister& invoices = world.invoices;
  world.add({"a", "b", "c"});
  require_ended(invoices.write({invoices.cancel(3, "c", true)}), Ended::all, 1);
  for (const RegisterChange& change : {invoices.cancel(1, "a"), invoices.confirm(2, "b"),
                                       invoices.refill(3, "d", 1), invoices.close(4)}) {
    world.faults.proxy.plan(kTransact, {fault(kind)});
    require_ended(invoices.write({change}), Ended::unknown, 0);
  }
  const RegisterReading reading = invoices.read({"d"}, {1, 2});
  const bool applied = kind == Fault::lose_reply;
  REQUIRE((reading.of_numbers.at(0)->state == NumberState::voided) == applied);
  REQUIRE((reading.of_numbers.at(1)->state == NumberState::confirmed) == applied);
  REQUIRE(reading.of_keys.at(0).has_value() == applied);
  REQUIRE(reading.closed == applied);
  REQUIRE(reading.highest == 3);
}

TEST_CASE("DynamoRegister: what was done before a lost answer is known", "[dynamo][register]") {
  DynamoRegisters world;
  TestRegister& invoices = world.invoices;
  world.faults.proxy.plan(kTransact, {fault(Fault::none), fault(Fault::lose_reply)});
  require_ended(invoices.write({invoices.add(1, "a"), invoices.confirm(1, "a")}), Ended::unknown,
                1);
  REQUIRE(invoices.read({"a"}).of_keys.at(0)->state == NumberState::confirmed);
}

TEST_CASE("DynamoRegister: a transaction that arrives twice is one", "[dynamo][register]") {
  DynamoRegisters world;
  TestRegister& invoices = world.invoices;
  world.faults.proxy.plan(kTransact, {fault(Fault::twice)});
  world.add({"a", "b"});
  world.faults.proxy.plan(kTransact, {fault(Fault::twice)});
  require_ended(invoices.write({invoices.cancel(1, "a", true)}), Ended::all, 1);
  REQUIRE(invoices.read({}, {1}).of_numbers.at(0)->former.size() == 1);
}

TEST_CASE("DynamoRegister: a write that arrives late changes nothing any more",
          "[dynamo][register]") {
  DynamoRegisters world;
  TestRegister& invoices = world.invoices;
  world.add({"a", "b"});
  require_ended(invoices.write({invoices.cancel(2, "b", true)}), Ended::all, 1);
  const auto hasty = world.faults.open(4'000);
  TestRegister late(*hasty);
  const RegisterChange change = GENERATE_COPY(invoices.add(3, "c"), invoices.refill(2, "c", 1),
                                              invoices.cancel(1, "a", true));
  world.faults.proxy.plan(kTransact, {fault(Fault::hold_request)});
  require_ended(late.write({change}), Ended::unknown, 0);
  // It is done again, and what was done is taken back.
  require_ended(invoices.write({change}), Ended::all, 1);
  const auto number = change.number;
  if (change.key == "c") {
    require_ended(invoices.write({invoices.cancel(number, "c", true)}), Ended::all, 1);
  } else {
    require_ended(invoices.write({invoices.refill(1, "d", 1)}), Ended::all, 1);
  }
  const NumberRecord before = invoices.read({}, {number}).of_numbers.at(0).value();
  world.faults.proxy.release();
  REQUIRE(invoices.read({}, {number}).of_numbers.at(0).value() == before);
  REQUIRE_FALSE(invoices.read({"c"}).of_keys.at(0));
}

TEST_CASE("DynamoRegister: of a transaction that was cancelled, what stands before the reason fits",
          "[dynamo][register]") {
  DynamoRegisters world;
  TestRegister& invoices = world.invoices;
  world.add({"a"});
  // The period, then number and key of each.
  const std::string none = "None";
  const std::vector<RegisterChange> changes = {invoices.add(2, "b"), invoices.add(3, "c")};
  bool first_fits = true;
  SECTION("a condition of the second") {
    world.faults.proxy.plan(kTransact,
                            {cancelled({none, none, none, none, "ConditionalCheckFailed"})});
    require_ended(invoices.write(changes), Ended::changed, 1);
  }
  SECTION("the second can never be written") {
    world.faults.proxy.plan(kTransact, {cancelled({none, none, none, "ValidationError", none})});
    world.require_not_applied(changes, Ended::refused, ErrorCode::STORE_REFUSED, "400 KB", 1);
  }
  SECTION("the second is throttled") {
    world.faults.proxy.plan(kTransact, {cancelled({none, none, none, none, "ThrottlingError"})});
    world.require_not_applied(changes, Ended::failed, ErrorCode::UNAVAILABLE, "cancelled", 1);
  }
  SECTION("a condition of both, and other reasons beside it") {
    first_fits = false;
    world.faults.proxy.plan(kTransact,
                            {cancelled({none, "ThrottlingError", "ConditionalCheckFailed", none,
                                        "ConditionalCheckFailed"})});
    require_ended(invoices.write(changes), Ended::changed, 0);
  }
  REQUIRE(invoices.read({"b"}).of_keys.at(0).has_value() == first_fits);
  REQUIRE(invoices.assign("c") == (first_fits ? 3 : 2));
}

TEST_CASE("DynamoRegister: what the service cancels for itself has failed and is not applied",
          "[dynamo][register]") {
  DynamoRegisters world;
  TestRegister& invoices = world.invoices;
  world.add({"a"});
  const std::vector<std::string> codes =
      GENERATE(std::vector<std::string>{"ThrottlingError", "None", "None"},
               std::vector<std::string>{"ProvisionedThroughputExceeded", "None", "None"},
               std::vector<std::string>{"SomethingNew", "TransactionConflict", "None"},
               std::vector<std::string>{"None", "None", "None"}, std::vector<std::string>{"None"},
               std::vector<std::string>{"ConditionalCheckFailed"}, std::vector<std::string>{});
  const int before = world.faults.proxy.seen(kTransact);
  world.faults.proxy.plan(kTransact, {cancelled(codes)});
  world.require_not_applied({invoices.add(2, "b")}, Ended::failed, ErrorCode::UNAVAILABLE,
                            "cancelled");
  REQUIRE(world.faults.proxy.seen(kTransact) == before + 1);
  REQUIRE(invoices.keys() == std::vector<std::string>{"a"});
}

TEST_CASE("DynamoRegister: a transaction that meets another one is sent again, but not for ever",
          "[dynamo][register]") {
  DynamoRegisters world;
  TestRegister& invoices = world.invoices;
  const auto conflicts = [](int count) {
    return std::vector<HttpFault>(static_cast<std::size_t>(count),
                                  cancelled({"TransactionConflict", "None", "None", "None"}));
  };
  const int before = world.faults.proxy.seen(kTransact);
  world.faults.proxy.plan(kTransact, conflicts(kMostConflicts + 1));
  world.require_not_applied({invoices.add(1, "a")}, Ended::failed, ErrorCode::UNAVAILABLE,
                            "cancelled");
  REQUIRE(world.faults.proxy.seen(kTransact) == before + kMostConflicts + 1);
  world.faults.proxy.plan(kTransact, conflicts(kMostConflicts));
  world.add({"a"});
  const HttpFault conflict = cancelled({"TransactionConflict"});
  world.faults.proxy.plan(kReadTogether, {conflict, conflict});
  REQUIRE(invoices.read({"a"}).of_keys.at(0)->number == 1);
  world.faults.proxy.plan(kReadTogether, std::vector<HttpFault>(kMostConflicts + 1, conflict));
  REQUIRE(world.read_error({"a"}) == ErrorCode::UNAVAILABLE);
}

TEST_CASE("DynamoRegister: what is refused as a whole has failed, and says why",
          "[dynamo][register]") {
  struct Row {
    const char* type;
    ErrorCode code;
  };
  const Row row =
      GENERATE(values<Row>({{"ProvisionedThroughputExceededException", ErrorCode::UNAVAILABLE},
                            {"ThrottlingException", ErrorCode::UNAVAILABLE},
                            {"RequestLimitExceeded", ErrorCode::UNAVAILABLE},
                            {"ResourceNotFoundException", ErrorCode::STORE_REFUSED},
                            {"UnknownOperationException", ErrorCode::STORE_REFUSED},
                            {"ValidationException", ErrorCode::STORE_REFUSED}}));
  DynamoRegisters world;
  TestRegister& invoices = world.invoices;
  world.add({"a"});
  const HttpFault refusal = says(400, dynamo_error(row.type, "said so"));
  world.faults.proxy.plan(kTransact, {refusal});
  world.require_not_applied({invoices.add(2, "b")}, Ended::failed, row.code, row.type);
  world.faults.proxy.plan(kReadTogether, {refusal, refusal});
  REQUIRE(world.read_error({"a"}) == row.code);
  REQUIRE(world.list_error() == row.code);
  // Also what a cancel has to read before it.
  world.faults.proxy.plan(kReadTogether, {refusal});
  world.require_not_applied({invoices.cancel(1, "a")}, Ended::failed, row.code, row.type);
  REQUIRE(invoices.keys() == std::vector<std::string>{"a"});
}

TEST_CASE("DynamoRegister: an answer that does not say of each item whether it is there is none",
          "[dynamo][register]") {
  DynamoRegisters world;
  world.add({"a"});
  const HttpFault answer = GENERATE(says(200, "{}"), says(200, R"({"Responses": []})"),
                                    says(200, R"({"Responses": [{}, {}]})"),
                                    says(200, R"({"Responses": {}})"), fault(Fault::lose_reply));
  world.faults.proxy.plan(kReadTogether, {answer});
  REQUIRE(world.read_error({"a"}) == ErrorCode::UNAVAILABLE);
}

// Of a host that has a heartbeat.
struct BeatingRegisters : DynamoRegisters {
  BeatingRegisters() {
    const Token instance = random_token();
    REQUIRE(store->claim({.instance = instance, .epoch = 0, .nonce = random_token()}).ok());
    const auto beat = store->beat({instance, 0, true});
    REQUIRE((beat.ok() && beat->beat == 1));
    invoices.place.instance = instance;
    invoices.place.heartbeat = 1;
  }
};

TEST_CASE("DynamoRegister: a comparison of ages that fails behind a write leaves it unknown",
          "[dynamo][register]") {
  BeatingRegisters world;
  TestRegister& invoices = world.invoices;
  require_ended(invoices.write({invoices.add(1, "a")}), Ended::all, 1);
  world.faults.proxy.plan("GetItem", {fault(Fault::none), says(503, "")});
  require_ended(invoices.write({invoices.add(2, "b")}), Ended::unknown, 0);
  world.faults.proxy.plan("GetItem", {says(503, "")});
  world.require_not_applied({invoices.add(3, "c")}, Ended::failed, ErrorCode::UNAVAILABLE, "503");
  REQUIRE(invoices.keys() == std::vector<std::string>{"a", "b"});
  // Behind a read: its first is the period.
  world.faults.proxy.plan("GetItem", {fault(Fault::none), says(503, "")});
  REQUIRE(world.read_error({"a"}) == ErrorCode::UNAVAILABLE);
}

TEST_CASE("DynamoRegister: an older copy that is put in place during a write answers nothing",
          "[dynamo][register]") {
  BeatingRegisters world;
  TestRegister& invoices = world.invoices;
  const std::string older = R"({"Item": {"instance": {"S": "x"}, "seqd_beat": {"N": "0"}}})";
  world.faults.proxy.plan("GetItem", {fault(Fault::none), says(200, older)});
  world.require_not_applied({invoices.add(1, "a")}, Ended::unknown, ErrorCode::SEQ_REGRESSED, "");
  world.faults.proxy.plan("GetItem", {fault(Fault::none), says(200, older)});
  REQUIRE(world.read_error({"a"}) == ErrorCode::SEQ_REGRESSED);
  world.faults.proxy.plan("GetItem", {fault(Fault::none), says(200, older)});
  REQUIRE(world.list_error() == ErrorCode::SEQ_REGRESSED);
}

TEST_CASE("DynamoRegister: a global table keeps no register", "[dynamo][register]") {
  DynamoRegisters world;
  TestRegister& invoices = world.invoices;
  const HttpFault global = says(200, R"({"Table": {"TableName": "counters", "TableStatus": "ACTIVE",
      "GlobalTableVersion": "2019.11.21", "Replicas": [{"RegionName": "eu-west-1"}]}})");
  SECTION("as it is described") {
    world.faults.proxy.plan("DescribeTable", {global, global, global});
    world.require_not_applied({invoices.add(1, "a")}, Ended::failed, ErrorCode::STORE_REFUSED,
                              "eu-west-1");
    REQUIRE(world.read_error({"a"}) == ErrorCode::STORE_REFUSED);
    REQUIRE(world.list_error() == ErrorCode::STORE_REFUSED);
  }
  SECTION("by an item of one of 2017") {
    world.add({"a"});
    const std::string item =
        GENERATE(DynamoRegisters::period_item(), DynamoRegisters::key_item("a"));
    world.change_by_hand(item, "aws:rep:updatetime", R"({"N": "1"})");
    REQUIRE(world.read_error({"a"}) == ErrorCode::STORE_REFUSED);
    world.require_not_applied({invoices.add(2, "b")}, Ended::failed, ErrorCode::STORE_REFUSED,
                              "2017.11.29");
  }
}

}  // namespace
}  // namespace seqd
