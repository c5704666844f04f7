// What is particular to MongoDB: documents that other programs wrote, and other programs writing.
#include "daemon/store/mongo/mongo_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/adapters/mongo/mongo_server.h"
#include "tests/adapters/mongo/mongo_stores.h"
#include "tests/adapters/store_fixtures.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;
using Kind = LeaseOutcome::Kind;

// One seed system: its document, its fields and its step, while seqd leases from the same document.
struct ForeignWriter {
  const char* row;
  const char* field;
  const char* document;
  Meaning meaning;
  int step;
  std::int64_t first;
  bool doubles = false;
};

TEST_CASE("MongoStore: foreign writers on the same document get no ID that seqd gets", "[mongo]") {
  const ForeignWriter row = GENERATE(
      ForeignWriter{"B", "seq", R"({"seq": {"$numberInt": "0"}})", Meaning::last, 1, 1},
      ForeignWriter{"B by the mongo shell", "seq", R"({"seq": {"$numberDouble": "0"}})",
                    Meaning::last, 1, 1, true},
      ForeignWriter{"D", "sequence", R"({"sequence": {"$numberInt": "0"}})", Meaning::last, 25, 1},
      ForeignWriter{"E", "index",
                    R"({"index": {"$numberInt": "1000"}, "__v": {"$numberInt": "0"}})",
                    Meaning::next, 10, 1000});
  const LeaseTrace trace =
      GENERATE(LeaseTrace::plain, LeaseTrace::slot, LeaseTrace::transaction, LeaseTrace::session);
  INFO("row " << row.row << ", " << lease_trace_word(trace));
  MongoServer server(kMongoReplicaSet);
  auto store = open_mongo_store(
      server, trace == LeaseTrace::slot ? LeaseModeOption::slot : LeaseModeOption::automatic);
  server.put("ids", "orders", row.document);
  std::mutex mutex;
  std::vector<std::pair<std::int64_t, std::int64_t>> spans;
  std::string failure;
  const auto keep = [&](std::int64_t begin, std::int64_t end) {
    const std::lock_guard lock(mutex);
    spans.emplace_back(begin, end);
  };
  std::vector<std::unique_ptr<MongoServer>> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(std::make_unique<MongoServer>(kMongoReplicaSet));
  std::vector<std::thread> threads;
  for (auto& client : clients) {
    threads.emplace_back([&, raw = client.get()] {
      // As the seed's driver does: $inc by int32 or double, majority not asked for.
      mongoc_client_t* foreign = mongoc_client_new(raw->uri().c_str());
      mongoc_collection_t* collection =
          mongoc_client_get_collection(foreign, server.database().c_str(), "ids");
      for (int n = 0; n < 40; ++n) {
        bson_t query;
        bson_t update;
        bson_t inc;
        bson_t reply;
        bson_error_t error;
        bson_init(&query);
        bson_append_utf8(&query, "_id", -1, "orders", -1);
        bson_init(&update);
        bson_append_document_begin(&update, "$inc", -1, &inc);
        if (row.doubles) {
          bson_append_double(&inc, row.field, -1, row.step);
        } else {
          bson_append_int32(&inc, row.field, -1, row.step);
        }
        bson_append_document_end(&update, &inc);
        const bool ok = mongoc_collection_find_and_modify(
            collection, &query, nullptr, &update, nullptr, false, false, true, &reply, &error);
        const CounterNumber number = read_counter_number(&reply, std::string("value.") + row.field);
        if (ok && number.kind != CounterNumber::Kind::other) {
          const std::int64_t end = row.meaning == Meaning::last ? number.value + 1 : number.value;
          keep(end - row.step, end);
        }
        bson_destroy(&reply);
        bson_destroy(&query);
        bson_destroy(&update);
      }
      mongoc_collection_destroy(collection);
      mongoc_client_destroy(foreign);
    });
  }
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      std::int64_t high_water = 0;
      for (int n = 1; n <= 40; ++n) {
        LeaseRequest request = lease_request("orders", n, trace);
        request.instance.fill(static_cast<std::uint8_t>(i));
        request.binding.collection = "ids";
        request.binding.counter_field = row.field;
        request.binding.meaning = row.meaning;
        request.high_water = high_water;
        LeaseOutcome outcome = store->lease(request);
        // As the core does it where a lease conflicted.
        for (int tries = 0; tries < 1'000 && outcome.contended; ++tries) {
          std::this_thread::yield();
          outcome = store->lease(request);
        }
        if (outcome.kind == Kind::granted) {
          keep(outcome.begin, outcome.end);
          high_water = outcome.end;
        } else {
          const std::lock_guard lock(mutex);
          failure = outcome.error.to_string();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(failure.empty());
  REQUIRE(spans.size() == 6 * 40);
  std::sort(spans.begin(), spans.end());
  std::int64_t at = row.first;
  for (const auto& [begin, end] : spans) {
    REQUIRE(begin == at);
    at = end;
  }
}

TEST_CASE("MongoStore: a created counter carries its meaning, and nothing else but the number",
          "[mongo]") {
  MongoServer server(kMongoAlone);
  auto store = open_mongo_store(server);
  LeaseRequest request = lease_request("orders", 10);
  request.binding.meaning = Meaning::next;
  REQUIRE(store->lease(request).kind == Kind::granted);
  REQUIRE(server.find("counters", "{}") ==
          R"({ "_id" : "orders", "seq" : 11, "seqd" : { "meaning" : "next", "field" : "seq" } })");
}

TEST_CASE("MongoStore: every write asks for a journalled majority on the wire", "[mongo]") {
  MongoServer server(kMongoAlone);
  auto store = open_mongo_store(server);
  server.command(R"({"profile": 2})");
  server.put("counters", "double", R"({"seq": {"$numberDouble": "1.0"}})");
  REQUIRE(store->lease(lease_request("orders", 10)).kind == Kind::granted);  // creates, increments
  REQUIRE(store->lease(last_request("double", 10)).kind == Kind::granted);   // converts, increments
  const ClaimRequest claim = {
      .instance = testing::random_token(), .epoch = 0, .nonce = testing::random_token()};
  REQUIRE(store->claim(claim).ok());
  server.command(R"({"profile": 0})");
  const auto writes = [&](const std::string& also) {
    const Document reply = server.command(fmt::format(
        R"({{"count": "system.profile", "query": {{"command.findAndModify": {{"$exists": true}}{}}}}})",
        also));
    bson_iter_t found;
    REQUIRE(find_field(reply.get(), "n", &found));
    return bson_iter_as_int64(&found);
  };
  REQUIRE(writes("") == 7);
  REQUIRE(writes(R"(, "command.writeConcern.w": "majority", "command.writeConcern.j": true)") == 7);
}

TEST_CASE(
    "MongoStore: a key field without a unique index is refused, with the command that makes one",
    "[mongo]") {
  MongoServer server(kMongoReplicaSet);
  auto store = open_mongo_store(server);
  LeaseRequest request = last_request("240131", 10);
  request.binding.key_field = "prefix";
  request.binding.counter_field = "count";
  request.binding.collection = "ids";
  LeaseOutcome outcome = store->lease(request);
  REQUIRE(outcome.error.code() == ErrorCode::STORE_REFUSED);
  REQUIRE(outcome.error.text().find("createIndex") != std::string::npos);
  const Status advanced = store->advance({.binding = request.binding, .next_id = 10}).status();
  REQUIRE(advanced.code() == ErrorCode::STORE_REFUSED);
  REQUIRE(advanced.text() == outcome.error.text());
  server.command(
      R"({"createIndexes": "ids", "indexes": [{"key": {"prefix": 1}, "name": "plain"}]})");
  REQUIRE(store->lease(request).error.code() == ErrorCode::STORE_REFUSED);
  server.command(R"({"dropIndexes": "ids", "index": "plain"})");
  server.command(
      R"({"createIndexes": "ids", "indexes": [{"key": {"prefix": 1, "x": 1}, "name": "two", "unique": true}]})");
  REQUIRE(store->lease(request).error.code() == ErrorCode::STORE_REFUSED);
  REQUIRE(server.count("ids") == 0);
  server.command(
      R"({"createIndexes": "ids", "indexes": [{"key": {"prefix": 1}, "name": "one", "unique": true}]})");
  outcome = store->lease(request);
  INFO(outcome.error.to_string());
  REQUIRE(outcome.kind == Kind::granted);
  REQUIRE(outcome.begin == 1);
  // Dropped again: the counter that exists goes on, a new one is refused.
  server.command(R"({"dropIndexes": "ids", "index": "one"})");
  REQUIRE(store->lease(request).kind == Kind::granted);
  request.binding.key = "240201";
  REQUIRE(store->lease(request).error.code() == ErrorCode::STORE_REFUSED);
  REQUIRE(server.count("ids") == 1);
}

TEST_CASE("MongoStore: a counter that may stand twice is refused unmoved", "[mongo]") {
  MongoServer server(kMongoReplicaSet);
  auto store = open_mongo_store(server);
  LeaseRequest request = last_request("240131", 10);
  request.binding.key_field = "prefix";
  // Each may be found by the next lease: the same IDs would come twice.
  for (const char* id : {"one", "two"})
    server.put("counters", id, R"({"prefix": "240131", "seq": {"$numberLong": "41"}})");
  const LeaseOutcome outcome = store->lease(request);
  REQUIRE(outcome.kind == Kind::refused);
  REQUIRE(outcome.error.code() == ErrorCode::STORE_REFUSED);
  REQUIRE(outcome.error.text().find("createIndex") != std::string::npos);
  for (const char* id : {"one", "two"}) REQUIRE(server.number("counters", id, "seq") == 41);
}

TEST_CASE("MongoStore: a foreign unique index in the way is named and not retried for ever",
          "[mongo]") {
  MongoServer server(kMongoAlone);
  auto store = open_mongo_store(server);
  server.command(
      R"({"createIndexes": "counters", "indexes": [{"key": {"prefix": 1}, "name": "p", "unique": true}]})");
  server.insert("counters", R"({"_id": "a document without prefix"})");
  const LeaseOutcome outcome = store->lease(lease_request("orders", 10));
  REQUIRE(outcome.kind == Kind::refused);
  REQUIRE(outcome.error.code() == ErrorCode::STORE_REFUSED);
  REQUIRE(outcome.error.text().find("prefix") != std::string::npos);
}

TEST_CASE("MongoStore: a counter inside a sub-document is leased by its path", "[mongo]") {
  MongoServer server(kMongoAlone);
  auto store = open_mongo_store(server);
  server.put("counters", "orders", R"({"a": {"b": {"$numberInt": "7"}, "c": "kept"}})");
  LeaseRequest request = last_request("orders", 3);
  request.binding.counter_field = "a.b";
  const LeaseOutcome outcome = store->lease(request);
  INFO(outcome.error.to_string());
  REQUIRE(outcome.kind == Kind::granted);
  REQUIRE(outcome.begin == 8);
  REQUIRE(server.find("counters", R"({"_id": "orders"})") ==
          R"({ "_id" : "orders", "a" : { "b" : 10, "c" : "kept" } })");
}

TEST_CASE("MongoStore: names that no document can have are refused as configuration", "[mongo]") {
  MongoServer server(kMongoAlone);
  auto store = open_mongo_store(server);
  const std::string bad_fields[] = {"",
                                    "$inc",
                                    "a..b",
                                    "a.",
                                    ".a",
                                    "a.$b",
                                    std::string("a\0b", 3),
                                    "\xff",
                                    "_id",
                                    "_id.x",
                                    "seqd",
                                    "seqd.meaning",
                                    std::string(2000, 'a')};
  for (const std::string& field : bad_fields) {
    INFO(field);
    LeaseRequest request = lease_request("orders", 10);
    request.binding.counter_field = field;
    REQUIRE(store->lease(request).error.code() == ErrorCode::CONFIG);
  }
  const std::string bad_collections[] = {
      "", "a$b", "system.users", ".a", "a.", std::string("a\0b", 3), std::string(300, 'c')};
  for (const std::string& collection : bad_collections) {
    INFO(collection);
    LeaseRequest request = lease_request("orders", 10);
    request.binding.collection = collection;
    REQUIRE(store->lease(request).error.code() == ErrorCode::CONFIG);
  }
  LeaseRequest request = lease_request("orders", 10);
  request.binding.key_field = "seq";
  REQUIRE(store->lease(request).error.code() == ErrorCode::CONFIG);
  request = lease_request("bad \xc3\x28 utf-8", 10);
  REQUIRE(store->lease(request).error.code() == ErrorCode::CONFIG);
}

}  // namespace
}  // namespace seqd
