// Documents are inserted with the highest _id plus one, against real servers: beside others and
// beside refusals. The rule under test: IDs without gaps, no document twice.
#include "daemon/store/mongo/insert/mongo_insert.h"

#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/adapters/mongo/mongo_people.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;
using Kind = InsertOutcome::Kind;

TEST_CASE("MongoInsert: an empty collection begins at first_id and every _id follows the highest",
          "[mongo]") {
  for (const char* variable : {kMongoAlone, kMongoReplicaSet}) {
    People people(variable);
    people.batch.first_id = 7;
    require_ids(people.insert({"Ada"}), {7});
    require_ids(people.insert({"Bob", "Cid", "Dan"}), {8, 9, 10});
    people.server.insert("people", R"({"_id": 20})");
    require_ids(people.insert({"Eve"}), {21});
    REQUIRE(people.at(9) == R"({ "_id" : 9, "name" : "Cid" })");
    REQUIRE(people.server.count("people") == 6);
  }
}

TEST_CASE("MongoInsert: whole doubles of others count and _id that are no numbers do not",
          "[mongo]") {
  People people(kMongoAlone);
  people.server.insert("people", R"({"_id": 41.0})");
  people.server.insert("people", R"({"_id": "zzz"})");
  people.server.insert("people", R"({"_id": {"$oid": "ffffffffffffffffffffffff"}})");
  people.server.insert("people", R"({"_id": -5})");
  require_ids(people.insert({"Ada"}), {42});
  people.server.insert("people", R"({"_id": {"$numberDouble": "43.0"}})");
  require_ids(people.insert({"Bob"}), {44});
}

TEST_CASE("MongoInsert: a new _id has the type of the highest one as long as it fits", "[mongo]") {
  People people(kMongoAlone);
  const auto type_of = [&](std::int64_t id) {
    for (const char* type : {"int", "long", "double"}) {
      const std::string filter =
          fmt::format(R"({{"$and": [{{"_id": {}}}, {{"_id": {{"$type": "{}"}}}}]}})", id, type);
      if (!people.server.find("people", filter).empty()) return std::string(type);
    }
    return std::string("none");
  };
  require_ids(people.insert({"Ada"}), {1});
  REQUIRE(type_of(1) == "long");
  people.server.insert("people", R"({"_id": {"$numberInt": "7"}})");
  require_ids(people.insert({"Bob", "Cid"}), {8, 9});
  REQUIRE(type_of(8) == "int");
  REQUIRE(type_of(9) == "int");
  people.server.insert("people", R"({"_id": {"$numberDouble": "20.0"}})");
  require_ids(people.insert({"Dan"}), {21});
  REQUIRE(type_of(21) == "long");
  people.batch.max_value = INT64_MAX;
  people.server.insert("people", R"({"_id": {"$numberInt": "2147483646"}})");
  require_ids(people.insert({"Eve", "Flo"}), {2'147'483'647, 2'147'483'648});
  REQUIRE(type_of(2'147'483'647) == "int");
  REQUIRE(type_of(2'147'483'648) == "long");
}

TEST_CASE("MongoInsert: a highest _id that has no next one stops the sequence and says why",
          "[mongo]") {
  for (const auto& [id, part] : std::vector<std::pair<std::string, std::string>>{
           {"7.5", "fraction"},
           {R"({"$numberDouble": "Infinity"})", "infinite"},
           {R"({"$numberDouble": "NaN"})", "NaN"},
           {R"({"$numberDecimal": "12"})", "decimal128"},
           {"1e300", "2^53"}}) {
    People people(kMongoAlone);
    people.server.insert("people", fmt::format(R"({{"_id": {}}})", id));
    const InsertOutcome outcome = people.insert_one("Ada");
    INFO(id << ": " << outcome.error.to_string());
    REQUIRE(outcome.kind == Kind::refused);
    REQUIRE(outcome.error.code() == ErrorCode::SEQ_TYPE);
    REQUIRE(mentions(outcome.error, part));
    REQUIRE(people.server.count("people") == 1);
  }
}

TEST_CASE("MongoInsert: at max_value the rest of a batch is exhausted", "[mongo]") {
  People people(kMongoAlone);
  people.batch.max_value = 2;
  const auto outcomes = people.insert({"Ada", "Bob", "Cid"});
  REQUIRE((outcomes[0].id == 1 && outcomes[1].id == 2));
  REQUIRE(outcomes[2].error.code() == ErrorCode::EXHAUSTED);
  REQUIRE(people.insert_one("Dan").error.code() == ErrorCode::EXHAUSTED);
  REQUIRE(people.server.count("people") == 2);
}

TEST_CASE("MongoInsert: another unique index refuses its document whole and the rest stays dense",
          "[mongo]") {
  People people(kMongoReplicaSet);
  people.server.command(
      R"({"createIndexes": "people", "indexes": [{"key": {"name": 1}, "name": "name_1", "unique": true}]})");
  const auto outcomes = people.insert({"Ada", "Bob", "Ada", "Cid"});
  REQUIRE((outcomes[0].id == 1 && outcomes[1].id == 2 && outcomes[3].id == 3));
  REQUIRE(outcomes[2].kind == Kind::refused);
  REQUIRE(outcomes[2].error.code() == ErrorCode::DOCUMENT_REFUSED);
  REQUIRE(mentions(outcomes[2].error, "name_1"));
  REQUIRE(mentions(outcomes[2].error, "(code 11000)"));
  REQUIRE(people.server.count("people") == 3);
}

TEST_CASE("MongoInsert: a validator refuses what it does not like and nothing else", "[mongo]") {
  People people(kMongoAlone);
  people.server.command(R"({"collMod": "people", "validator": {"name": {"$ne": "Bob"}}})");
  const auto outcomes = people.insert({"Bob", "Ada", "Bob", "Bob"});
  REQUIRE(outcomes[1].id == 1);
  for (const std::size_t refused : {0U, 2U, 3U}) {
    REQUIRE(outcomes[refused].error.code() == ErrorCode::DOCUMENT_REFUSED);
    REQUIRE(mentions(outcomes[refused].error, "(code 121)"));
  }
  require_ids(people.insert({"Cid"}), {2});
}

TEST_CASE("MongoInsert: a document that is no BSON is refused and the others are inserted",
          "[mongo]") {
  People people(kMongoAlone);
  people.batch.items = {{person("Ada"), ""},
                        {std::make_shared<const std::string>("\x81\x01\x01", 3), ""},
                        {person("Bob"), ""}};
  const auto outcomes = people.store->insert(people.batch);
  REQUIRE((outcomes[0].id == 1 && outcomes[2].id == 2));
  REQUIRE(outcomes[1].error.code() == ErrorCode::DOCUMENT_REFUSED);
}

TEST_CASE("MongoInsert: a name that no collection has is an error of the configuration",
          "[mongo]") {
  People people(kMongoAlone);
  people.batch.collection = "$people";
  REQUIRE(people.insert_one("Ada").error.code() == ErrorCode::CONFIG);
}

TEST_CASE("MongoInsert: who is slower by a document is contended and nothing is inserted",
          "[mongo]") {
  People people(kMongoAlone);
  {
    const FailPoint point(
        people.server, "failCommand", R"({"times": 1})",
        people.command_failure(
            R"("writeConcernError": {"code": 64, "errmsg": "x"}, "errorCode": 11000,
               "errorExtraInfo": {"keyPattern": {"_id": 1}, "keyValue": {"_id": 1}})"));
    const InsertOutcome outcome = people.insert_one("Ada");
    // The fail point answers with a failed command, which proves that nothing was written.
    REQUIRE(outcome.kind == Kind::refused);
  }
  REQUIRE(people.server.count("people") == 0);
  // The real thing: two stores at once, each of which loses now and then.
  std::atomic<int> contended = 0;
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 4; ++writer) {
    writers.emplace_back([&, writer] {
      InsertBatch batch = people.batch;
      for (int document = 0; document < 100;) {
        batch.items = {{person(fmt::format("{}-{}", writer, document)), ""}};
        const InsertOutcome outcome = people.store->insert(batch).front();
        if (outcome.kind == Kind::inserted) ++document;
        if (outcome.kind == Kind::contended) ++contended;
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  REQUIRE(people.server.count("people") == 400);
  require_ids(people.insert({"last"}), {401});
  REQUIRE(contended > 0);
}

}  // namespace
}  // namespace seqd
