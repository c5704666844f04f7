#include <string>

#include "protocol/requests.h"
#include "protocol/values/value_writer.h"
#include "tests/unit/service.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using Kind = InsertOutcome::Kind;

// {"name": VALUE}
std::string document(const std::string& value) {
  protocol::Buffer out;
  protocol::append_map(out, 1);
  protocol::append_text(out, "name");
  protocol::append_text(out, value);
  return std::string(out.data(), out.size());
}

struct Wanted {
  std::string connection;  // empty: not said
  std::uint32_t msgid = 1;
  std::string unique = {};  // the same
};

std::string insert(std::string_view name, const std::string& value, const Wanted& wanted = {}) {
  protocol::Buffer out;
  protocol::append_insert(
      out, wanted.msgid, name, document(value),
      {.timeout_ms = std::nullopt, .connection = wanted.connection, .unique = wanted.unique});
  return std::string(out.data(), out.size());
}

struct Inserting : Service {
  Inserting() {
    SequenceSettings& users = world.core.settings.add("users");
    users.mode = SequenceMode::insert;
    users.binding.collection = "users";
  }
  std::string connection(Line& of, std::uint8_t identity) {
    return map_of(world.ask(of, hello_request(9, identity)))["connection"];
  }
};

TEST_CASE("InsertIsAnsweredWithTheIdWhenTheStoreHasTheDocument", "[rpc]") {
  Inserting service;
  CHECK(service.ask(insert("users", "Ada")).id() == 1);
  CHECK(service.ask(insert("users", "Bob")).id() == 2);
  CHECK(service.world.inserts.documents ==
        std::vector<std::string>{document("Ada"), document("Bob")});
}

TEST_CASE("ADocumentThatIsRefusedAndAnUnknownOutcomeAreErrorsWithTheirText", "[rpc]") {
  Inserting service;
  service.world.inserts.scripts = {
      {Kind::refused, Status(ErrorCode::DOCUMENT_REFUSED, "E11000 email_1 (code 11000)")},
      {Kind::unknown, Status(ErrorCode::OUTCOME_UNKNOWN, "may be _id 1")}};
  const Reply refused = service.ask(insert("users", "Ada"));
  CHECK(refused.code == ErrorCode::DOCUMENT_REFUSED);
  CHECK(refused.text == "E11000 email_1 (code 11000)");
  CHECK(service.code(insert("users", "Ada")) == ErrorCode::OUTCOME_UNKNOWN);
}

TEST_CASE("ARepeatOnAnotherConnectionIsNotInsertedTwiceButRefused", "[rpc]") {
  Inserting service;
  const std::string first = service.connection(*service.line, 3);
  const std::string request = insert("users", "Ada", {first, 5});
  CHECK(service.ask(request).id() == 1);
  Line& again = service.world.connect();
  const std::string second = service.connection(again, 3);
  CHECK(second != first);
  const Reply repeat = service.world.ask(again, request);
  CHECK(repeat.code == ErrorCode::OUTCOME_UNKNOWN);
  CHECK(service.world.ask(again, insert("users", "Bob", {second, 6})).id() == 2);
  CHECK(service.world.inserts.documents.size() == 2);
}

TEST_CASE("AfterAKillARepeatIsRefusedByTheNextDaemonToo", "[rpc]") {
  Inserting service;
  const std::string request = insert("users", "Ada", {service.connection(*service.line, 3), 5});
  CHECK(service.ask(request).id() == 1);
  service.world.kill();
  service.world.start();
  service.world.settle();
  Line& again = service.world.connect();
  static_cast<void>(service.connection(again, 3));
  CHECK(service.world.ask(again, request).code == ErrorCode::OUTCOME_UNKNOWN);
  CHECK(service.world.inserts.documents.size() == 1);
}

TEST_CASE("AClientWithAnIdentitySaysItsConnectionAndItsInsertsRise", "[rpc]") {
  Inserting service;
  const std::string here = service.connection(*service.line, 3);
  CHECK(service.code(insert("users", "Ada", {"", 5})) == ErrorCode::BAD_REQUEST);
  CHECK(service.ask(insert("users", "Ada", {here, 5})).id() == 1);
  CHECK(service.code(insert("users", "Ada", {here, 5})) == ErrorCode::BAD_REQUEST);
  CHECK(service.code(insert("users", "Ada", {here, 4})) == ErrorCode::BAD_REQUEST);
  CHECK(service.world.inserts.documents.size() == 1);
}

TEST_CASE("ASequenceThatInsertsIssuesAndLeasesNothing", "[rpc]") {
  Inserting service;
  CHECK(service.ask(insert("users", "Ada")).id() == 1);
  for (const char* method : {"next", "next_text", "advance", "drain", "audit", "gaps"})
    CHECK(service.code(request(method, "users")) == ErrorCode::WRONG_MODE);
  CHECK(service.code(range_request(1, "users", 5)) == ErrorCode::WRONG_MODE);
  protocol::Buffer id;
  protocol::append_integer(id, 1);
  CHECK(service.code(request("explain", "users", 2, {id.data(), id.size()})) ==
        ErrorCode::WRONG_MODE);
  CHECK(service.world.core.store.lease_calls.empty());
  CHECK(service.world.core.table->find("users") == 0);
}

TEST_CASE("PeekListAndStatusShowASequenceThatInserts", "[rpc]") {
  Inserting service;
  CHECK(service.ask(insert("users", "Ada")).id() == 1);
  auto peek = map_of(service.ask(peek_request(1, "users")));
  CHECK((peek["next"] == "nil" && peek["available"] == "0" && peek["last"] == "1"));
  auto status = map_of(service.ask(plain_request(1, "status")));
  CHECK((status["issued"] == "1" && status["sequences"] == "1" && status["waiting"] == "0"));
  for (const std::string& asked : {plain_request(1, "list"), request("list", "users")}) {
    const Reply list = service.ask(asked);
    protocol::ValueReader rows = list.result();
    REQUIRE(rows.read_array() == 1U);
    auto row = read_map(rows);
    CHECK((row["name"] == "users" && row["state"] == "ready" && row["error"] == "nil"));
    CHECK((row["issued"] == "1" && row["waiting"] == "0"));
  }
}

TEST_CASE("WhatIsNoInsertIsAnErrorThatSaysWhy", "[rpc]") {
  Inserting service;
  CHECK(service.code(request("insert", "users")) == ErrorCode::BAD_REQUEST);
  CHECK(service.code(request("insert", "users", 2, "\x01")) == ErrorCode::DOCUMENT_REFUSED);
  CHECK(service.code(request("insert", "us ers", 2, document("Ada"))) == ErrorCode::BAD_REQUEST);
  CHECK(service.code(request("insert", "users", 3, document("Ada") + document("Ada"))) ==
        ErrorCode::BAD_REQUEST);
  CHECK(service.code(request("insert", "users", 3, document("Ada") + "\x01")) ==
        ErrorCode::BAD_REQUEST);
  CHECK(service.code(insert("orders", "Ada")) == ErrorCode::WRONG_MODE);
  CHECK(service.ask(next_request(1, "orders")).code == ErrorCode::OK);
  CHECK(service.code(insert("orders", "Ada")) == ErrorCode::WRONG_MODE);
  CHECK(service.code(insert("users", "Ada", {"of somebody else", 1})) ==
        ErrorCode::OUTCOME_UNKNOWN);
  CHECK(service.world.inserts.documents.empty());
}

TEST_CASE("AnInsertWithAUniqueFieldMayBeRepeatedOnAnotherConnection", "[rpc]") {
  Inserting service;
  const std::string first = service.connection(*service.line, 3);
  CHECK(service.ask(insert("users", "Ada", {first, 1, "name"})).id() == 1);
  REQUIRE(service.world.inserts.batches.size() == 1);
  CHECK(service.world.inserts.batches[0].items[0].unique == "name");
  Line& second = service.world.connect();
  CHECK(service.connection(second, 3) != first);
  // The same request on the next connection: the store decides.
  CHECK(service.world.ask(second, insert("users", "Ada", {first, 1, "name"})).code ==
        ErrorCode::OK);
  CHECK(service.world.ask(second, insert("users", "Ada", {first, 1})).code ==
        ErrorCode::OUTCOME_UNKNOWN);
  CHECK(service.world.inserts.batches.size() == 2);
}

TEST_CASE("AUniqueFieldThatNoFilterCouldNameIsRefused", "[rpc]") {
  Inserting service;
  const std::vector<std::string> names = {
      "_id", "a.b", "$a", std::string("a\0b", 3), "\xff", std::string(129, 'a')};
  for (const std::string& field : names)
    CHECK(service.code(insert("users", "Ada", {"", 1, field})) == ErrorCode::BAD_REQUEST);
  CHECK(service.code(insert("users", "Ada", {"", 1, std::string(128, 'a')})) == ErrorCode::OK);
}

TEST_CASE("AClientThatIsGoneDoesNotHearOfItsInsert", "[rpc]") {
  Inserting service;
  service.world.send(*service.line, insert("users", "Ada") + insert("users", "Bob"));
  service.world.turn();
  service.world.hang_up(*service.line);
  service.world.settle();
  CHECK(service.world.inserts.documents == std::vector<std::string>{document("Ada")});
}

}  // namespace
}  // namespace seqd
