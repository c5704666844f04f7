#include "tests/adapters/store_fixtures.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cstdlib>
#include <filesystem>
#include <random>

#include "daemon/store/counter_value.h"
#include "daemon/store/sqlite/sqlite_store.h"

#include <catch2/catch.hpp>

namespace seqd::testing {

namespace {

class DeviceRandom final : public Random {
 public:
  std::uint64_t next() override { return std::uint64_t{device_()} << 32 | device_(); }

 private:
  std::random_device device_;
};

}  // namespace

ScratchDirectory::ScratchDirectory() {
  path_ = (std::filesystem::temp_directory_path() / "seqd-store-XXXXXX").string();
  REQUIRE(mkdtemp(path_.data()) != nullptr);
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Token random_token() {
  std::random_device random;
  Token token;
  for (std::uint8_t& byte : token) byte = static_cast<std::uint8_t>(random());
  return token;
}

Token random_token(LeaseTrace trace) {
  DeviceRandom random;
  return new_lease_token(random, trace);
}

LeaseRequest lease_request(const std::string& key, std::int64_t count, LeaseTrace trace) {
  LeaseRequest request;
  request.binding.key = key;
  request.token = random_token(trace);
  request.instance.fill(7);
  request.sequence = key;
  request.count = count;
  request.max_value = (std::int64_t{1} << 53) - 1;
  return request;
}

LeaseRequest last_request(const std::string& key, std::int64_t count) {
  LeaseRequest request = lease_request(key, count);
  request.binding.meaning = Meaning::last;
  return request;
}

std::unique_ptr<BlockingStore> SqliteFixture::open() {
  auto store = SqliteStore::open({.path = file(), .busy_timeout_ms = kPatientMs});
  INFO(store.status().to_string());
  REQUIRE(store.ok());
  return std::move(*store);
}

void SqliteFixture::run(const std::string& sql) {
  sqlite3* handle = nullptr;
  REQUIRE(sqlite3_open(file().c_str(), &handle) == SQLITE_OK);
  sqlite3_busy_timeout(handle, kPatientMs);
  char* error = nullptr;
  const int code = sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, &error);
  INFO(sql << ": " << (error != nullptr ? error : ""));
  CHECK(code == SQLITE_OK);
  sqlite3_free(error);
  sqlite3_close(handle);
}

void SqliteFixture::put(const std::string& key, std::int64_t value, Meaning mark) {
  const std::string word =
      mark == Meaning::unset ? "NULL" : fmt::format("'{}'", meaning_word(mark));
  run(fmt::format("INSERT OR REPLACE INTO sequence(name, seq, meaning) VALUES('{}', {}, {})", key,
                  value, word));
}

void SqliteFixture::set(const std::string& key, std::int64_t value) {
  run(fmt::format("UPDATE sequence SET seq = {} WHERE name = '{}'", value, key));
}

void SqliteFixture::remove(const std::string& key) {
  run(fmt::format("DELETE FROM sequence WHERE name = '{}'", key));
}

std::int64_t SqliteFixture::value(const std::string& key) {
  sqlite3* handle = nullptr;
  REQUIRE(sqlite3_open(file().c_str(), &handle) == SQLITE_OK);
  sqlite3_stmt* statement = nullptr;
  REQUIRE(sqlite3_prepare_v2(handle, "SELECT seq FROM sequence WHERE name = ?1", -1, &statement,
                             nullptr) == SQLITE_OK);
  sqlite3_bind_text(statement, 1, key.c_str(), -1, SQLITE_STATIC);
  const std::int64_t value =
      sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : -1;
  sqlite3_finalize(statement);
  sqlite3_close(handle);
  return value;
}

void MongoFixture::put(const std::string& key, std::int64_t value, Meaning mark) {
  const std::string seqd =
      mark == Meaning::unset ? ""
                             : fmt::format(R"(, "seqd": {{"meaning": "{}"}})", meaning_word(mark));
  server.put("counters", key, fmt::format(R"({{"seq": {{"$numberLong": "{}"}}{}}})", value, seqd));
}

void MongoFixture::set(const std::string& key, std::int64_t value) {
  static_cast<void>(server.command(fmt::format(
      R"({{"update": "counters", "updates": [{{"q": {{"_id": "{}"}},
          "u": {{"$set": {{"seq": {{"$numberLong": "{}"}}}}}}}}]}})",
      key, value)));
}

std::unique_ptr<BlockingStore> DynamoFixture::open() {
  DynamoStoreOptions options = server.options();
  options.plain = plain;
  return std::make_unique<DynamoHandle>(options);
}

void DynamoFixture::put(const std::string& key, std::int64_t value, Meaning mark) {
  const std::string meaning =
      mark == Meaning::unset
          ? ""
          : fmt::format(R"(, "seqd_meaning:seq": {{"S": "{}"}})", meaning_word(mark));
  server.put(key, fmt::format(R"({{"seq": {{"N": "{}"}}{}}})", value, meaning));
}

void DynamoFixture::set(const std::string& key, std::int64_t value) {
  server.call("UpdateItem", fmt::format(R"({{"TableName": "counters",
      "Key": {{"_id": {{"S": "{}"}}}}, "UpdateExpression": "SET seq = :v",
      "ExpressionAttributeValues": {{":v": {{"N": "{}"}}}}}})",
                                        key, value));
}

}  // namespace seqd::testing
