// Inserts into what looks like a collection and keeps no _id unique. Real servers.
#include <memory>
#include <string>

#include "tests/adapters/mongo/mongo_people.h"
#include "tests/adapters/mongo/mongos_proxy.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;
using Kind = InsertOutcome::Kind;

// {"at": 1970-01-01T00:00:01Z}
std::shared_ptr<const std::string> measurement() {
  using namespace std::string_literals;
  return std::make_shared<const std::string>(
      "\x81\xa2"
      "at\xd6\xff\x00\x00\x00\x01"s);
}

TEST_CASE("MongoInsert: a time-series collection, where an _id may stand twice, takes no document",
          "[mongo]") {
  People people(GENERATE(kMongoAlone, kMongoReplicaSet));
  people.server.command(R"({"create": "measured", "timeseries": {"timeField": "at"}})");
  for (int i = 0; i < 2; ++i)  // what the server itself allows
    people.server.insert("measured", R"({"_id": 1, "at": {"$date": "2026-11-21T00:00:00Z"}})");
  people.batch.collection = "measured";
  people.batch.items.push_back({measurement(), ""});
  const InsertOutcome outcome = people.store->insert(people.batch).front();
  INFO(outcome.error.to_string());
  CHECK(outcome.kind == Kind::refused);
  CHECK(outcome.error.code() == ErrorCode::STORE_REFUSED);
  CHECK(mentions(outcome.error, "timeseries"));
  CHECK(people.server.count("measured") == 2);
}

TEST_CASE("MongoInsert: a view takes no document, and a name that is not there yet does",
          "[mongo]") {
  People people(kMongoAlone);
  people.server.command(R"({"create": "grown", "viewOn": "people", "pipeline": []})");
  people.batch.collection = "grown";
  const InsertOutcome refused = people.insert_one("Ada");
  CHECK(refused.kind == Kind::refused);
  CHECK(mentions(refused.error, "view"));
  people.batch.collection = "fresh";
  require_ids(people.insert({"Ada"}), {1});
  require_ids(people.insert({"Bob"}), {2});
}

TEST_CASE("MongoInsert: what a collection is is asked once, and again when it is empty",
          "[mongo]") {
  People people(kMongoAlone);
  MongosProxy proxy(people.server);
  MongoStoreOptions options = people.server.options();
  options.uri = proxy.uri();
  people.store = open_mongo_store(options);
  require_ids(people.insert({"Ada"}), {1});
  const int asked = proxy.seen("listCollections");
  for (std::int64_t id = 2; id < 5; ++id) require_ids(people.insert({"Bob"}), {id});
  CHECK(proxy.seen("listCollections") == asked);
  people.server.command(R"({"drop": "people"})");
  people.server.command(R"({"create": "people", "timeseries": {"timeField": "at"}})");
  const InsertOutcome outcome = people.insert_one("Cid");
  INFO(outcome.error.to_string());
  CHECK(outcome.kind == Kind::refused);
  CHECK(mentions(outcome.error, "timeseries"));
}

}  // namespace
}  // namespace seqd
