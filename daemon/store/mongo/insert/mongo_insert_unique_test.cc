// Documents with a unique field: one that is there is answered with its _id, and never inserted
// twice.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "tests/adapters/mongo/mongo_people.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;
using Kind = InsertOutcome::Kind;

constexpr char kOnce[] = R"({"times": 1})";

void make_unique(People& people, const char* field, const char* more = "") {
  people.server.command(fmt::format(
      R"({{"createIndexes": "people", "indexes": [{{"key": {{"{0}": 1}}, "name": "{0}_1", "unique": true{1}}}]}})",
      field, more));
}

InsertOutcome insert_unique(People& people, const std::string& who, const char* field = "name") {
  people.batch.items = {{person(who), field}};
  return people.store->insert(people.batch).front();
}

TEST_CASE("MongoInsert: a document that is there by its unique field is answered with its _id",
          "[mongo]") {
  for (const char* variable : {kMongoAlone, kMongoReplicaSet}) {
    People people(variable);
    make_unique(people, "name");
    require_ids({insert_unique(people, "Ada")}, {1});
    require_ids({insert_unique(people, "Bob")}, {2});
    require_ids({insert_unique(people, "Ada")}, {1});
    // In the middle of a batch, which stays dense; and twice in one.
    people.batch.items = {{person("Cid"), "name"},
                          {person("Bob"), "name"},
                          {person("Dan"), "name"},
                          {person("Dan"), "name"},
                          {person("Eve"), ""}};
    require_ids(people.store->insert(people.batch), {3, 2, 4, 4, 5});
    // Without it, it is refused as ever.
    REQUIRE(people.insert_one("Ada").error.code() == ErrorCode::DOCUMENT_REFUSED);
    REQUIRE(people.server.count("people") == 5);
  }
}

TEST_CASE("MongoInsert: after a lost answer the document is found and not inserted twice",
          "[mongo]") {
  People people(kMongoAlone);
  make_unique(people, "name");
  {
    // Lost before it was written.
    const FailPoint point(people.server, "failCommand", kOnce,
                          people.command_failure(R"("closeConnection": true)"));
    REQUIRE(insert_unique(people, "Ada").kind == Kind::unknown);
    require_ids({insert_unique(people, "Ada")}, {1});
  }
  {
    // Lost behind it.
    const FailPoint point(
        people.server, "failCommand", kOnce,
        people.command_failure(R"("writeConcernError": {"code": 64, "errmsg": "slow"})"));
    REQUIRE(insert_unique(people, "Bob").kind == Kind::unknown);
    REQUIRE(people.server.count("people") == 2);
    require_ids({insert_unique(people, "Bob")}, {2});
  }
  REQUIRE(people.server.count("people") == 2);
}

TEST_CASE("MongoInsert: another index that the document itself violates does not hide it",
          "[mongo]") {
  People people(kMongoAlone);
  // Made first, so that it is the one that the server names.
  people.server.command(
      R"({"createIndexes": "people", "indexes": [{"key": {"name": -1}, "name": "a", "unique": true}]})");
  make_unique(people, "name");
  require_ids({insert_unique(people, "Ada")}, {1});
  require_ids({insert_unique(people, "Ada")}, {1});
}

TEST_CASE("MongoInsert: a field without a unique index of its own keeps nothing from coming twice",
          "[mongo]") {
  People people(kMongoAlone);
  const auto refused = [&people] {
    const InsertOutcome outcome = insert_unique(people, "Ada");
    return outcome.kind == Kind::refused && outcome.error.code() == ErrorCode::CONFIG &&
           mentions(outcome.error, "createIndex");
  };
  REQUIRE(refused());
  people.server.command(
      R"({"createIndexes": "people", "indexes": [{"key": {"name": 1}, "name": "plain"}]})");
  REQUIRE(refused());
  people.server.command(
      R"({"createIndexes": "people", "indexes": [{"key": {"name": 1, "x": 1}, "name": "two", "unique": true}]})");
  REQUIRE(refused());
  people.server.command(R"({"dropIndexes": "people", "index": "plain"})");
  make_unique(people, "name", R"(, "partialFilterExpression": {"x": 1})");
  REQUIRE(refused());
  REQUIRE(people.server.count("people") == 0);
  // Of the others of the batch it is no business.
  people.batch.items = {{person("Ada"), "name"}, {person("Bob"), ""}};
  const auto outcomes = people.store->insert(people.batch);
  REQUIRE((outcomes[0].kind == Kind::refused && outcomes[1].id == 1));
}

TEST_CASE("MongoInsert: a document without the unique field, or with a value of many, is refused",
          "[mongo]") {
  People people(kMongoAlone);
  make_unique(people, "name");
  make_unique(people, "mail");
  REQUIRE(insert_unique(people, "Ada", "mail").error.code() == ErrorCode::DOCUMENT_REFUSED);
  people.batch.items = {{std::make_shared<const std::string>("\x81\xa4name\x91\x01", 8), "name"},
                        {std::make_shared<const std::string>("\x81\xa4name\xc0", 7), "name"},
                        {std::make_shared<const std::string>("\x81\xa4name\x07", 7), "name"}};
  const auto outcomes = people.store->insert(people.batch);
  REQUIRE(outcomes[0].error.code() == ErrorCode::DOCUMENT_REFUSED);
  REQUIRE(outcomes[1].error.code() == ErrorCode::DOCUMENT_REFUSED);
  REQUIRE(outcomes[2].id == 1);
}

}  // namespace
}  // namespace seqd
