// MongoServer: a real server of the tests, named by an environment variable that
// tests/integration/servers/with_mongo.py sets, and a database of its own on it that is dropped at
// the end. A test whose server is missing fails. Use it on the test's thread: it asserts.
#pragma once

#include <mongoc/mongoc.h>

#include <string>

#include "daemon/store/mongo/driver/mongo_driver.h"
#include "daemon/store/mongo/driver/mongo_uri.h"
#include "daemon/store/mongo/driver/mongo_values.h"

namespace seqd::testing {

inline constexpr char kMongoAlone[] = "SEQD_TEST_MONGO_URI";
inline constexpr char kMongoReplicaSet[] = "SEQD_TEST_MONGO_RS_URI";
inline constexpr char kMongoSecure[] = "SEQD_TEST_MONGO_SECURE_URI";

// Of a store whose time-out is not what is tested: what a busy machine keeps, and an election.
inline constexpr int kPatientMs = 60'000;

// The driver may be started once in a process: every test takes it from here.
const MongoDriver& mongo_driver();

// The value of an environment variable; fails the test when it is not set.
std::string required_environment(const char* name);

std::string with_uri_option(const std::string& uri, const std::string& option);

class MongoServer {
 public:
  explicit MongoServer(const char* variable);
  ~MongoServer();
  MongoServer(const MongoServer&) = delete;
  MongoServer& operator=(const MongoServer&) = delete;

  const std::string& uri() const { return uri_; }
  const std::string& database() const { return database_; }
  MongoStoreOptions options() const;  // patient

  // A command in extended JSON, in our database or in `admin`; a failure fails the test.
  // During an election it comes again, so it has to be one that may be applied twice.
  Document command(const std::string& json) { return run(database_, json, true); }
  Document admin(const std::string& json) { return run("admin", json, true); }

  // Replaces or inserts the document with this _id.
  void put(const std::string& collection, const std::string& id, const std::string& json);
  void insert(const std::string& collection, const std::string& json);
  void remove(const std::string& collection, const std::string& id);
  // The document as relaxed extended JSON; "" when there is none.
  std::string find(const std::string& collection, const std::string& filter_json);
  // Field of the document with this _id; -1 when there is no such document or integer.
  std::int64_t number(const std::string& collection, const std::string& id,
                      const std::string& field);
  std::int64_t count(const std::string& collection);

  // Foreign writers' call: findAndModify $inc by `by`; the value after it. `type`: "numberInt",
  // "numberLong" or "double".
  std::int64_t foreign_increment(const std::string& collection, const std::string& id,
                                 const std::string& field, int by);

 private:
  Document run(const std::string& database, const std::string& json, bool repeatable);
  std::string uri_;
  std::string database_;
  mongoc_client_t* client_;
};

// One of the server's own fail points while in scope.
class FailPoint {
 public:
  // `mode` and `data` in JSON: "{\"times\": 1}" or "\"alwaysOn\"".
  FailPoint(MongoServer& server, std::string name, const std::string& mode,
            const std::string& data);
  ~FailPoint();
  FailPoint(const FailPoint&) = delete;
  FailPoint& operator=(const FailPoint&) = delete;
  // How often it had been entered, in the life of the server, when it was set.
  std::int64_t entered_before() const { return entered_before_; }
  void lift();

 private:
  MongoServer& server_;
  const std::string name_;
  std::int64_t entered_before_ = 0;
};

}  // namespace seqd::testing
