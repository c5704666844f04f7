// What a mongos says of a write that reached its shard and whose answer did not come back: nothing
// is concluded from it. Real servers behind a proxy that plays the mongos.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "protocol/values/value_writer.h"
#include "tests/adapters/mongo/mongo_server.h"
#include "tests/adapters/mongo/mongo_stores.h"
#include "tests/adapters/mongo/mongos_proxy.h"
#include "tests/adapters/store_fixtures.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;
using Kind = InsertOutcome::Kind;

std::shared_ptr<const std::string> person(const std::string& name) {
  protocol::Buffer out;
  protocol::append_map(out, 1);
  protocol::append_text(out, "name");
  protocol::append_text(out, name);
  return std::make_shared<const std::string>(out.data(), out.size());
}

struct Sharded {
  explicit Sharded(const std::string& uri_option = "", const char* upstream = kMongoReplicaSet)
      : server(upstream), mongos(server) {
    server.command(R"({"create": "people"})");
    MongoStoreOptions options = server.options();
    options.uri = mongos.uri() + uri_option;
    store = open_mongo_store(options);
    batch.collection = "people";
    batch.max_value = 1'000'000;
    batch.patience_ms = 20'000;
  }
  // The shard carries the insert out, and mongos says so of the first `inserted` documents.
  void lose_shard(int times, int code, int inserted) {
    mongos.answer("insert", times,
                  fmt::format(R"({{"ok": 1, "n": {}, "writeErrors": [{{"index": {}, "code": {},
                                   "errmsg": "the shard did not answer"}}]}})",
                              inserted, inserted, code));
  }
  std::vector<InsertOutcome> insert(const std::vector<std::string>& names) {
    batch.items.clear();
    for (const std::string& each : names) batch.items.push_back({person(each), ""});
    return store->insert(batch);
  }

  MongoServer server;
  MongosProxy mongos;
  OpenMongoStore store;
  InsertBatch batch;
};

TEST_CASE("Mongos: a lost shard connection among the writeErrors is asked for by the number",
          "[mongo]") {
  // HostUnreachable, ShutdownInProgress, NetworkTimeout, NotWritablePrimary after mongos' own
  // repeat; and one that is in no list, whose second answer is the last
  const int code = GENERATE(6, 91, 89, 10107, 77'777);
  CAPTURE(code);
  Sharded sharded;
  const int times = code == 77'777 ? 1 : 2;
  sharded.lose_shard(times, code, 1);
  const auto outcomes = sharded.insert({"Ada", "Bob", "Cid"});
  REQUIRE(outcomes.size() == 3);
  for (std::size_t at = 0; at < outcomes.size(); ++at) {
    INFO(outcomes[at].error.to_string());
    CHECK(outcomes[at].kind == Kind::inserted);
    CHECK(outcomes[at].id == static_cast<std::int64_t>(at) + 1);
  }
  CHECK(sharded.mongos.seen("insert") == times + 1);
  CHECK(sharded.server.count("people") == 3);
}

TEST_CASE("Mongos: a server alone has not inserted what is among its writeErrors", "[mongo]") {
  // TemporarilyUnavailable, WriteConflict, Interrupted: the rest may be tried again, and is not
  // said to be inserted perhaps.
  const int code = GENERATE(365, 112, 11601);
  CAPTURE(code);
  Sharded alone("", kMongoAlone);
  alone.lose_shard(1, code, 1);
  const auto outcomes = alone.insert({"Ada", "Bob", "Cid"});
  REQUIRE(outcomes.size() == 3);
  CHECK(outcomes[0].kind == Kind::inserted);
  CHECK(outcomes[0].id == 1);
  for (const std::size_t at : {std::size_t{1}, std::size_t{2}}) {
    INFO(outcomes[at].error.to_string());
    CHECK(outcomes[at].kind == Kind::failed);
    CHECK(outcomes[at].error.code() == ErrorCode::UNAVAILABLE);
  }
  CHECK(alone.mongos.seen("insert") == 1);
}

TEST_CASE("Mongos: an interruption of a server that knows more of them than we is unknown",
          "[mongo]") {
  Sharded alone("", kMongoAlone);
  REQUIRE(alone.store->lease(lease_request("orders", 10)).begin == 1);
  alone.mongos.answer("findAndModify", 1,
                      R"({"ok": 0, "code": 99999, "codeName": "InterruptedDueToSomething",
                          "errmsg": "while waiting for the majority"})");
  LeaseRequest request = lease_request("orders", 10);
  request.high_water = 11;
  const LeaseOutcome outcome = alone.store->lease(request);
  INFO(outcome.error.to_string());
  CHECK(outcome.kind == LeaseOutcome::Kind::unknown);
  CHECK(outcome.error.code() == ErrorCode::UNAVAILABLE);
  CHECK(alone.server.number("counters", "orders", "seq") == 20);
}

// As DocumentDB answers.
TEST_CASE("Mongos: a service without retryable writes refuses inserts, and what to do is told",
          "[mongo]") {
  Sharded sharded;
  sharded.mongos.refuse(
      "insert", 1'000, R"({"ok": 0, "code": 301, "errmsg": "Retryable writes are not supported"})");
  for (const InsertOutcome& outcome : sharded.insert({"Ada", "Bob"})) {
    INFO(outcome.error.to_string());
    CHECK(outcome.kind == Kind::refused);
    CHECK(outcome.error.code() == ErrorCode::STORE_REFUSED);
    CHECK(outcome.error.text().find("retryWrites=false") != std::string::npos);
  }
  CHECK(sharded.server.count("people") == 0);
}

// What config.collections of the cluster says of the collection, the next time.
void shard_by(Sharded& sharded, const std::string& entry) {
  sharded.mongos.answer("find", 1,
                        fmt::format(R"({{"ok": 1, "cursor": {{"id": {{"$numberLong": "0"}},
                                         "ns": "config.collections", "firstBatch": [{}]}}}})",
                                    entry));
}

TEST_CASE("Mongos: a collection sharded by another key than _id takes no insert", "[mongo]") {
  // A shard guards only its own _id: under another key two shards may hold the same one.
  const std::string entry =
      GENERATE(R"({"_id": "a.people", "key": {"name": 1}})",
               R"({"_id": "a.people", "key": {"_id": 1, "name": 1}})",
               R"({"_id": "a.people", "key": {"name": "hashed"}, "dropped": false})",
               R"({"_id": "a.people"})");
  CAPTURE(entry);
  Sharded sharded;
  shard_by(sharded, entry);
  const auto outcomes = sharded.insert({"Ada", "Bob"});
  for (const InsertOutcome& outcome : outcomes) {
    INFO(outcome.error.to_string());
    CHECK(outcome.kind == Kind::refused);
    CHECK(outcome.error.code() == ErrorCode::STORE_REFUSED);
    CHECK(outcome.error.text().find("sharded") != std::string::npos);
  }
  CHECK(sharded.mongos.seen("insert") == 0);
  CHECK(sharded.server.count("people") == 0);
}

TEST_CASE("Mongos: a collection that is not sharded, or by _id alone, takes inserts", "[mongo]") {
  const std::string entry = GENERATE("", R"({"_id": "a.people", "key": {"_id": 1}})",
                                     R"({"_id": "a.people", "key": {"_id": "hashed"}})",
                                     R"({"_id": "a.people", "key": {"name": 1}, "dropped": true})");
  CAPTURE(entry);
  Sharded sharded;
  shard_by(sharded, entry);
  const auto outcomes = sharded.insert({"Ada"});
  INFO(outcomes[0].error.to_string());
  CHECK(outcomes[0].kind == Kind::inserted);
  CHECK(sharded.server.count("people") == 1);
}

TEST_CASE("Mongos: where the shard key cannot be read nothing is inserted", "[mongo]") {
  Sharded sharded;
  sharded.mongos.answer("find", 1,
                        R"({"ok": 0, "code": 13, "errmsg": "not authorized on config"})");
  const auto outcomes = sharded.insert({"Ada"});
  INFO(outcomes[0].error.to_string());
  CHECK(outcomes[0].kind == Kind::refused);
  CHECK(outcomes[0].error.code() == ErrorCode::STORE_REFUSED);
  CHECK(outcomes[0].error.text().find("config.collections") != std::string::npos);
  CHECK(sharded.server.count("people") == 0);
}

TEST_CASE("Mongos: without retryable writes a lost shard connection leaves the outcome unknown",
          "[mongo]") {
  Sharded sharded("?retryWrites=false");
  sharded.lose_shard(1, 6, 1);
  const auto outcomes = sharded.insert({"Ada", "Bob", "Cid"});
  CHECK(outcomes[0].kind == Kind::inserted);
  for (const std::size_t at : {1U, 2U}) {
    INFO(outcomes[at].error.to_string());
    CHECK(outcomes[at].kind == Kind::unknown);
    CHECK(outcomes[at].id == static_cast<std::int64_t>(at) + 1);
  }
  CHECK(sharded.mongos.seen("insert") == 1);
}

TEST_CASE("Mongos: an error that is in no list is no refusal, however often it comes", "[mongo]") {
  Sharded sharded;
  sharded.lose_shard(1'000, 77'777, 0);
  const auto outcomes = sharded.insert({"Ada"});
  CHECK(outcomes[0].kind == Kind::unknown);
  CHECK(outcomes[0].id == 1);
  CHECK(sharded.mongos.seen("insert") == 2);
}

TEST_CASE("Mongos: an answer that counts more than was sent is no fault of ours", "[mongo]") {
  Sharded sharded;
  sharded.lose_shard(1, 121, 7);
  CHECK(sharded.insert({"Ada"})[0].kind == Kind::inserted);
}

TEST_CASE("Mongos: what the shard says of a document is believed", "[mongo]") {
  Sharded sharded;
  sharded.server.command(R"({"collMod": "people", "validator": {"name": {"$ne": "Bob"}}})");
  const auto outcomes = sharded.insert({"Ada", "Bob", "Cid"});
  CHECK(outcomes[0].id == 1);
  CHECK(outcomes[1].error.code() == ErrorCode::DOCUMENT_REFUSED);
  CHECK(outcomes[2].id == 2);
}

// A lease of 11 to 20, to which mongos says an error of that code and in these words.
struct SaidOfALease {
  int code;
  const char* words;

  std::string reply() const {
    return fmt::format(R"({{"ok": 0, "code": {}, "codeName": "x", "errmsg": "{}"}})", code, words);
  }
};

LeaseOutcome second_lease(Sharded& sharded) {
  LeaseRequest request = lease_request("orders", 10);
  request.high_water = 11;
  return sharded.store->lease(request);
}

TEST_CASE("Mongos: a lease that no shard was asked for is refused", "[mongo]") {
  // As mongos, DocumentDB and what stands before a server of Atlas say it.
  const auto said =
      GENERATE(SaidOfALease{61, "no"}, SaidOfALease{301, "Retryable writes are not supported"},
               SaidOfALease{8000, "you are over your space quota, using 513 MB of 512 MB"},
               SaidOfALease{8000, "user is not allowed to do action [update] on [shop.counters]"});
  CAPTURE(said.code, said.words);
  Sharded sharded;
  REQUIRE(sharded.store->lease(lease_request("orders", 10)).begin == 1);
  sharded.mongos.refuse("findAndModify", 1, said.reply());
  const LeaseOutcome outcome = second_lease(sharded);
  INFO(outcome.error.to_string());
  CHECK(outcome.kind == LeaseOutcome::Kind::refused);
  CHECK(outcome.error.code() == ErrorCode::STORE_REFUSED);
  CHECK(sharded.server.number("counters", "orders", "seq") == 10);
}

TEST_CASE("Mongos: a code that services share proves nothing without their words", "[mongo]") {
  // DataCorruptionDetected has DocumentDB's code, and that of Atlas says nothing at all.
  const auto said = GENERATE(SaidOfALease{301, "the index has no such record"},
                             SaidOfALease{8000, "the connection to the server was lost"});
  CAPTURE(said.code);
  Sharded sharded;
  REQUIRE(sharded.store->lease(lease_request("orders", 10)).begin == 1);
  sharded.mongos.answer("findAndModify", 2, said.reply());
  const LeaseOutcome outcome = second_lease(sharded);
  INFO(outcome.error.to_string());
  CHECK(outcome.kind == LeaseOutcome::Kind::unknown);
  CHECK(outcome.error.text().find("retryWrites=false") == std::string::npos);
  CHECK(sharded.server.number("counters", "orders", "seq") == 20);
}

// --- where a counter lies

LeaseRequest named_request(const std::string& field) {
  LeaseRequest request = lease_request("orders", 10);
  request.binding.key_field = field;
  return request;
}

TEST_CASE("Mongos: a collection sharded by another key than the counter's takes no lease",
          "[mongo]") {
  // Since 7.1 a write without the shard key finds its document anywhere, and two shards may each
  // have one of that name.
  struct Case {
    const char* field;
    const char* key;
  };
  const auto tried =
      GENERATE(Case{"_id", R"({"name": 1})"}, Case{"_id", R"({"_id": 1, "name": 1})"},
               Case{"name", R"({"_id": "hashed"})"});
  CAPTURE(tried.field, tried.key);
  Sharded sharded;
  sharded.server.command(R"({"createIndexes": "counters", "indexes":
                             [{"key": {"name": 1}, "name": "name_1", "unique": true}]})");
  shard_by(sharded, fmt::format(R"({{"_id": "a.counters", "key": {}}})", tried.key));
  const LeaseOutcome outcome = sharded.store->lease(named_request(tried.field));
  INFO(outcome.error.to_string());
  CHECK(outcome.kind == LeaseOutcome::Kind::refused);
  CHECK(outcome.error.code() == ErrorCode::STORE_REFUSED);
  CHECK(outcome.error.text().find("sharded by") != std::string::npos);
  CHECK(sharded.mongos.seen("findAndModify") == 0);
  // Nor does an operator make one there.
  shard_by(sharded, fmt::format(R"({{"_id": "a.counters", "key": {}}})", tried.key));
  const auto advanced =
      sharded.store->advance({.binding = named_request(tried.field).binding, .next_id = 100});
  CHECK(advanced.status().code() == ErrorCode::STORE_REFUSED);
  CHECK(sharded.server.count("counters") == 0);
}

TEST_CASE(
    "Mongos: a collection that is sharded by the counter's key, or not at all, is leased from",
    "[mongo]") {
  struct Case {
    const char* field;
    const char* entry;
  };
  const auto tried =
      GENERATE(Case{"_id", ""}, Case{"_id", R"({"_id": "a.counters", "key": {"_id": "hashed"}})"},
               Case{"name", R"({"_id": "a.counters", "key": {"name": 1}})"},
               Case{"name", R"({"_id": "a.counters", "key": {"_id": 1}, "unsplittable": true})"});
  CAPTURE(tried.field, tried.entry);
  Sharded sharded;
  sharded.server.command(R"({"createIndexes": "counters", "indexes":
                             [{"key": {"name": 1}, "name": "name_1", "unique": true}]})");
  shard_by(sharded, tried.entry);
  const LeaseOutcome outcome = sharded.store->lease(named_request(tried.field));
  INFO(outcome.error.to_string());
  CHECK(outcome.kind == LeaseOutcome::Kind::granted);
}

TEST_CASE("Mongos: a user who may not read the shard key leases where nothing is sharded",
          "[mongo]") {
  // readWrite has collStats, and not config.collections.
  const std::string statistics =
      GENERATE(R"({"ok": 1, "sharded": false})", R"({"ok": 1, "sharded": true})", R"({"ok": 1})");
  CAPTURE(statistics);
  Sharded sharded;
  sharded.mongos.answer("find", 1,
                        R"({"ok": 0, "code": 13, "errmsg": "not authorized on config"})");
  sharded.mongos.answer("collStats", 1, statistics);
  const LeaseOutcome outcome = sharded.store->lease(lease_request("orders", 10));
  INFO(outcome.error.to_string());
  if (statistics.find("false") != std::string::npos) {
    CHECK(outcome.kind == LeaseOutcome::Kind::granted);
    return;
  }
  CHECK(outcome.error.code() == ErrorCode::STORE_REFUSED);
  CHECK(outcome.error.text().find("config.collections") != std::string::npos);
  CHECK(sharded.mongos.seen("findAndModify") == 0);
}

TEST_CASE("Mongos: a lease whose shard did not answer is unknown, whatever mongos says",
          "[mongo]") {
  const int code = GENERATE(10107, 13435, 91, 6);
  CAPTURE(code);
  Sharded sharded;
  REQUIRE(sharded.store->lease(lease_request("orders", 10)).begin == 1);
  // By then the driver has repeated it, too.
  sharded.mongos.answer("findAndModify", 2, SaidOfALease{code, "shard"}.reply());
  const LeaseOutcome outcome = second_lease(sharded);
  INFO(outcome.error.to_string());
  CHECK(outcome.kind == LeaseOutcome::Kind::unknown);
  CHECK(sharded.server.number("counters", "orders", "seq") > 10);
}

}  // namespace
}  // namespace seqd
