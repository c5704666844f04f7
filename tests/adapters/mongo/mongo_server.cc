#include "tests/adapters/mongo/mongo_server.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <utility>

#include "tests/adapters/in_time.h"

#include <catch2/catch.hpp>

namespace seqd::testing {
namespace {

Document from_json(const std::string& json) {
  bson_error_t error = {};
  bson_t* parsed = bson_new_from_json(reinterpret_cast<const std::uint8_t*>(json.data()),
                                      static_cast<ssize_t>(json.size()), &error);
  INFO(json << ": " << error.message);
  REQUIRE(parsed != nullptr);
  Document document(parsed);
  bson_destroy(parsed);
  return document;
}

bool during_an_election(const bson_error_t& error, bool applied_perhaps) {
  switch (error.code) {
    case 10107:  // the primary has become another one, and nothing was done
    case 13435:
    case 13436:
      return true;
    case 91:  // it is going away
    case 189:
    case 11600:
    case 11602:
      return applied_perhaps;
    default:
      return false;
  }
}

bool did_not_answer(const bson_error_t& error) {
  constexpr std::uint32_t kMaxTimeExpired = 50;
  return error.domain == MONGOC_ERROR_SERVER_SELECTION || error.domain == MONGOC_ERROR_STREAM ||
         (error.domain == MONGOC_ERROR_SERVER && error.code == kMaxTimeExpired);
}

}  // namespace

const MongoDriver& mongo_driver() {
  static const MongoDriver driver;
  return driver;
}

std::string required_environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') {
    FAIL(name << " is not set: run the tests by tests/integration/servers/with_mongo.py -- COMMAND "
                 "(make test does)");
  }
  return value;
}

std::string with_uri_option(const std::string& uri, const std::string& option) {
  return uri + (uri.find('?') == std::string::npos ? "?" : "&") + option;
}

MongoServer::MongoServer(const char* variable) : uri_(required_environment(variable)) {
  mongo_driver();
  std::random_device random;
  database_ = fmt::format("test_{:08x}{:08x}", random(), random());
  client_ = mongoc_client_new(
      with_uri_option(uri_, "serverSelectionTimeoutMS=60000&serverSelectionTryOnce=false").c_str());
  REQUIRE(client_ != nullptr);
  mongoc_client_set_error_api(client_, MONGOC_ERROR_API_VERSION_2);
}

MongoServer::~MongoServer() {
  bson_error_t error;
  mongoc_database_t* database = mongoc_client_get_database(client_, database_.c_str());
  mongoc_database_drop(database, &error);
  mongoc_database_destroy(database);
  mongoc_client_destroy(client_);
}

MongoStoreOptions MongoServer::options() const {
  MongoStoreOptions options;
  options.uri = uri_;
  options.database = database_;
  options.timeout_ms = kPatientMs;
  return options;
}

Document MongoServer::run(const std::string& database, const std::string& json, bool repeatable) {
  const Document request = from_json(json);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(300);
  while (true) {
    bson_t reply;
    bson_error_t error = {};
    const bool ok = mongoc_client_command_simple(client_, database.c_str(), request.get(), nullptr,
                                                 &reply, &error);
    Document copy(&reply);
    bson_destroy(&reply);
    if (ok) return copy;
    INFO(json << ": " << error.message);
    REQUIRE_IN_TIME(!did_not_answer(error));
    REQUIRE(during_an_election(error, repeatable));
    REQUIRE_IN_TIME(std::chrono::steady_clock::now() < end);
  }
}

void MongoServer::put(const std::string& collection, const std::string& id,
                      const std::string& json) {
  remove(collection, id);
  Document document;
  document.add("_id", id);
  REQUIRE(bson_concat(document.get(), from_json(json).get()));
  char* text = bson_as_canonical_extended_json(document.get(), nullptr);
  insert(collection, text);
  bson_free(text);
}

void MongoServer::insert(const std::string& collection, const std::string& json) {
  const Document reply = run(
      database_,
      fmt::format(R"({{"insert": "{}", "documents": [{}], "writeConcern": {{"w": "majority"}}}})",
                  collection, json),
      false);
  bson_iter_t found;
  REQUIRE_FALSE(find_field(reply.get(), "writeErrors", &found));
}

void MongoServer::remove(const std::string& collection, const std::string& id) {
  command(fmt::format(
      R"({{"delete": "{}", "deletes": [{{"q": {{"_id": "{}"}}, "limit": 1}}], "writeConcern": {{"w": "majority"}}}})",
      collection, id));
}

std::string MongoServer::find(const std::string& collection, const std::string& filter_json) {
  const Document reply = command(
      fmt::format(R"({{"find": "{}", "filter": {}, "limit": 1}})", collection, filter_json));
  bson_iter_t found;
  if (!find_field(reply.get(), "cursor.firstBatch.0", &found) || !BSON_ITER_HOLDS_DOCUMENT(&found))
    return "";
  const std::uint8_t* data = nullptr;
  std::uint32_t size = 0;
  bson_iter_document(&found, &size, &data);
  bson_t view;
  REQUIRE(bson_init_static(&view, data, size));
  char* text = bson_as_relaxed_extended_json(&view, nullptr);
  std::string json = text;
  bson_free(text);
  return json;
}

std::int64_t MongoServer::number(const std::string& collection, const std::string& id,
                                 const std::string& field) {
  const Document reply = command(
      fmt::format(R"({{"find": "{}", "filter": {{"_id": "{}"}}, "limit": 1}})", collection, id));
  bson_iter_t found;
  if (!find_field(reply.get(), "cursor.firstBatch.0." + field, &found)) return -1;
  return BSON_ITER_HOLDS_INT(&found) ? bson_iter_as_int64(&found) : -1;
}

std::int64_t MongoServer::count(const std::string& collection) {
  const Document reply = command(fmt::format(R"({{"count": "{}"}})", collection));
  bson_iter_t found;
  REQUIRE(find_field(reply.get(), "n", &found));
  return bson_iter_as_int64(&found);
}

std::int64_t MongoServer::foreign_increment(const std::string& collection, const std::string& id,
                                            const std::string& field, int by) {
  // The extended JSON of {"$inc": {field: int32}}, as Node and Go drivers send it.
  const Document reply = run(
      database_,
      fmt::format(
          R"({{"findAndModify": "{}", "query": {{"_id": "{}"}}, "update": {{"$inc": {{"{}": {{"$numberInt": "{}"}}}}}},
           "new": true, "writeConcern": {{"w": "majority", "j": true}}}})",
          collection, id, field, by),
      false);
  bson_iter_t found;
  REQUIRE(find_field(reply.get(), "value." + field, &found));
  return bson_iter_as_int64(&found);
}

FailPoint::FailPoint(MongoServer& server, std::string name, const std::string& mode,
                     const std::string& data)
    : server_(server), name_(std::move(name)) {
  const Document reply = server_.admin(
      fmt::format(R"({{"configureFailPoint": "{}", "mode": {}, "data": {}}})", name_, mode, data));
  bson_iter_t found;
  if (find_field(reply.get(), "count", &found)) entered_before_ = bson_iter_as_int64(&found);
}

FailPoint::~FailPoint() {
  lift();
}

void FailPoint::lift() {
  server_.admin(fmt::format(R"({{"configureFailPoint": "{}", "mode": "off"}})", name_));
}

}  // namespace seqd::testing
