// Documents are inserted with the highest _id plus one, against real servers: beside others, beside
// refusals, and when the answer is lost. The rule under test: IDs without gaps, no document twice,
// and `unknown` wherever that cannot be proven.
#include "daemon/store/mongo/insert/mongo_insert.h"

#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "protocol/values/value_writer.h"
#include "tests/adapters/mongo_server.h"
#include "tests/adapters/mongo_stores.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;
using Kind = InsertOutcome::Kind;

constexpr char kOnce[] = R"({"times": 1})";
constexpr char kTwice[] = R"({"times": 2})";

// {"name": TEXT}
std::shared_ptr<const std::string> person(const std::string& name) {
  protocol::Buffer out;
  protocol::append_map(out, 1);
  protocol::append_text(out, "name");
  protocol::append_text(out, name);
  return std::make_shared<const std::string>(out.data(), out.size());
}

// A server with the empty collection "people", and a store on it that only the fail points of its
// own name reach.
struct People {
  explicit People(const char* variable, const std::string& uri_option = "")
      : server(variable), name("insert-" + server.database()) {
    MongoStoreOptions options = server.options();
    options.uri = with_uri_option(options.uri, "appName=" + name);
    if (!uri_option.empty()) options.uri += "&" + uri_option;
    store = open_mongo_store(options);
    batch.collection = "people";
    batch.max_value = 1'000'000;
    batch.patience_ms = 20'000;
    server.command(R"({"create": "people"})");
  }
  std::vector<InsertOutcome> insert(const std::vector<std::string>& names) {
    batch.items.clear();
    for (const std::string& each : names) batch.items.push_back({person(each), ""});
    return store->insert(batch);
  }
  InsertOutcome insert_one(const std::string& who) { return insert({who}).front(); }
  std::string command_failure(const std::string& what) const {
    return fmt::format(R"({{"failCommands": ["insert"], "appName": "{}", {}}})", name, what);
  }
  std::string at(std::int64_t id) {
    return server.find("people", fmt::format(R"({{"_id": {}}})", id));
  }

  MongoServer server;
  std::string name;
  OpenMongoStore store;
  InsertBatch batch;
};

bool mentions(const Status& status, const std::string& part) {
  return status.text().find(part) != std::string::npos;
}

// Each outcome by its ID, or the reason that there is none.
void require_ids(const std::vector<InsertOutcome>& outcomes, const std::vector<std::int64_t>& ids) {
  REQUIRE(outcomes.size() == ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    INFO(i << ": " << outcomes[i].error.to_string());
    REQUIRE(outcomes[i].kind == Kind::inserted);
    REQUIRE(outcomes[i].id == ids[i]);
  }
}

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
        people.server, "failCommand", kOnce,
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

TEST_CASE("MongoInsert: an answer lost once or more on a replica set is asked for and counts once",
          "[mongo]") {
  People people(kMongoReplicaSet);
  for (const char* times : {kOnce, kTwice, R"({"times": 5})"}) {
    const std::int64_t before = people.server.count("people");
    const FailPoint point(people.server, "failCommand", times,
                          people.command_failure(R"("closeConnection": true)"));
    require_ids(people.insert({"Ada", "Bob", "Cid"}), {before + 1, before + 2, before + 3});
    REQUIRE(people.server.count("people") == before + 3);
  }
}

TEST_CASE(
    "MongoInsert: documents that were written before the answer was lost are not written again",
    "[mongo]") {
  People people(kMongoReplicaSet);
  for (const char* times : {kOnce, kTwice}) {
    const std::int64_t before = people.server.count("people");
    const FailPoint point(people.server, "onPrimaryTransactionalWrite", times,
                          R"({"closeConnection": true})");
    require_ids(people.insert({"Ada", "Bob"}), {before + 1, before + 2});
    REQUIRE(people.server.count("people") == before + 2);
  }
}

TEST_CASE("MongoInsert: a write that no majority has confirmed is asked for until one has",
          "[mongo]") {
  People people(kMongoReplicaSet);
  const FailPoint point(people.server, "failCommand", kTwice,
                        people.command_failure(
                            R"("writeConcernError": {"code": 64, "errmsg": "waiting timed out"})"));
  require_ids(people.insert({"Ada", "Bob"}), {1, 2});
  REQUIRE(people.server.count("people") == 2);
}

TEST_CASE("MongoInsert: a write that no majority ever confirms is unknown", "[mongo]") {
  People people(kMongoReplicaSet);
  people.batch.patience_ms = 300;
  const FailPoint point(people.server, "failCommand", R"("alwaysOn")",
                        people.command_failure(
                            R"("writeConcernError": {"code": 64, "errmsg": "waiting timed out"})"));
  REQUIRE(people.insert_one("Ada").kind == Kind::unknown);
  REQUIRE(people.server.count("people") == 1);
}

TEST_CASE("MongoInsert: an answer that the driver's repeat has lost too is asked for by its number",
          "[mongo]") {
  People people(kMongoReplicaSet);
  std::vector<InsertOutcome> outcomes;
  {
    const FailPoint written(people.server, "onPrimaryTransactionalWrite", kOnce,
                            R"({"closeConnection": true})");
    FailPoint repeated(people.server, "failCommand", R"({"skip": 1})",
                       people.command_failure(R"("closeConnection": true)"));
    std::jthread inserting([&] { outcomes = people.insert({"Ada", "Bob"}); });
    people.server.admin(fmt::format(
        R"({{"waitForFailPoint": "failCommand", "timesEntered": {}, "maxTimeMS": 30000}})",
        repeated.entered_before() + 1));
    repeated.lift();
    inserting.join();
  }
  require_ids(outcomes, {1, 2});
  REQUIRE(people.server.count("people") == 2);
}

TEST_CASE("MongoInsert: a server that never answers leaves the outcome unknown and says which _id",
          "[mongo]") {
  People people(kMongoReplicaSet);
  people.batch.patience_ms = 300;
  const FailPoint point(people.server, "failCommand", R"("alwaysOn")",
                        people.command_failure(R"("closeConnection": true)"));
  const auto outcomes = people.insert({"Ada", "Bob"});
  REQUIRE(outcomes[1].kind == Kind::unknown);
  REQUIRE(outcomes[1].id == 2);
  REQUIRE(outcomes[1].error.code() == ErrorCode::OUTCOME_UNKNOWN);
  REQUIRE(mentions(outcomes[1].error, "may have been inserted as _id 2"));
}

TEST_CASE("MongoInsert: an answer lost on a server alone is unknown and nothing is inserted twice",
          "[mongo]") {
  People people(kMongoAlone);
  {
    const FailPoint point(people.server, "failCommand", kOnce,
                          people.command_failure(R"("closeConnection": true)"));
    const InsertOutcome outcome = people.insert_one("Ada");
    REQUIRE(outcome.kind == Kind::unknown);
    REQUIRE(outcome.id == 1);
    REQUIRE(mentions(outcome.error, "where there is none now"));
  }
  {
    // Written, but the confirmation failed: it is there, and still nobody can say whose it is.
    const FailPoint point(
        people.server, "failCommand", kOnce,
        people.command_failure(R"("writeConcernError": {"code": 64, "errmsg": "slow"})"));
    const InsertOutcome outcome = people.insert_one("Bob");
    REQUIRE(outcome.kind == Kind::unknown);
    REQUIRE(mentions(outcome.error, "where there is one like it now"));
  }
  REQUIRE(people.server.count("people") == 1);
  require_ids(people.insert({"Cid"}), {2});
}

TEST_CASE("MongoInsert: without retryable writes a lost answer is unknown on a replica set too",
          "[mongo]") {
  People people(kMongoReplicaSet, "retryWrites=false");
  const FailPoint point(people.server, "failCommand", kOnce,
                        people.command_failure(R"("closeConnection": true)"));
  REQUIRE(people.insert_one("Ada").kind == Kind::unknown);
}

TEST_CASE("MongoInsert: what the server refuses before it writes is tried again by who asked",
          "[mongo]") {
  People people(kMongoReplicaSet);
  const FailPoint point(people.server, "failCommand", kTwice,
                        people.command_failure(R"("errorCode": 10107)"));
  const InsertOutcome outcome = people.insert_one("Ada");
  REQUIRE(outcome.kind == Kind::failed);
  REQUIRE(outcome.error.code() == ErrorCode::UNAVAILABLE);
  REQUIRE(people.server.count("people") == 0);
}

TEST_CASE("MongoInsert: a server that is away has inserted nothing", "[mongo]") {
  MongoStoreOptions options;
  options.uri = "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=100";
  options.database = "seqd";
  static_cast<void>(testing::mongo_driver());
  const OpenMongoStore store = open_mongo_store(options);
  InsertBatch batch;
  batch.collection = "people";
  batch.max_value = 10;
  batch.items = {{person("Ada"), ""}};
  REQUIRE(store->insert(batch).front().kind == Kind::failed);
}

// --- a unique field ----------------------------------------------------------------------------

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
