// The stores that the contract test runs against, behind one set of words: open another handle on
// the same data, and look at or change a counter behind the store's back. One thread, but for
// handles.
#pragma once

#include <memory>
#include <string>

#include "daemon/store/blocking_store.h"
#include "daemon/store/lease_trace.h"
#include "tests/adapters/dynamo/dynamo_server.h"
#include "tests/adapters/mongo/mongo_server.h"
#include "tests/adapters/mongo/mongo_stores.h"

namespace seqd::testing {

// A directory that is removed with everything in it.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

Token random_token();
Token random_token(LeaseTrace trace);  // of a lease, marked
// A lease of `count` IDs of sequence `key`, with a fresh token and max_value 2^53-1.
LeaseRequest lease_request(const std::string& key, std::int64_t count,
                           LeaseTrace trace = LeaseTrace::plain);
// The same of a counter whose number is configured to be the last ID.
LeaseRequest last_request(const std::string& key, std::int64_t count);

class SqliteFixture {
 public:
  static constexpr LeaseTrace kTrace = LeaseTrace::plain;  // its tokens need no mark
  static constexpr bool kTracesTokens = true;
  static constexpr bool kCountsLeases = true;
  std::unique_ptr<BlockingStore> open();
  void put(const std::string& key, std::int64_t value, Meaning mark);
  void set(const std::string& key, std::int64_t value);  // all else of it stays
  void remove(const std::string& key);
  std::int64_t value(const std::string& key);  // -1 when there is none
  std::string file() const { return directory_.path("store.sqlite"); }
  // Runs statements on a connection of its own, as a person with a shell would.
  void run(const std::string& sql);

 private:
  ScratchDirectory directory_;
};

class MongoFixture {
 public:
  static constexpr bool kCountsLeases = false;
  MongoFixture(const char* variable, LeaseModeOption mode) : server(variable), lease_mode(mode) {}
  OpenMongoStore open() { return open_mongo_store(server, lease_mode); }
  void put(const std::string& key, std::int64_t value, Meaning mark);
  void set(const std::string& key, std::int64_t value);
  void remove(const std::string& key) { server.remove("counters", key); }
  std::int64_t value(const std::string& key) { return server.number("counters", key, "seq"); }
  MongoServer server;
  const LeaseModeOption lease_mode;
};

// By the server's nature.
class MongoAloneFixture : public MongoFixture {
 public:
  static constexpr LeaseTrace kTrace = LeaseTrace::slot;
  static constexpr bool kTracesTokens = true;
  MongoAloneFixture() : MongoFixture(kMongoAlone, LeaseModeOption::automatic) {}
};

class MongoReplicaSetFixture : public MongoFixture {
 public:
  static constexpr LeaseTrace kTrace = LeaseTrace::session;
  static constexpr bool kTracesTokens = true;
  MongoReplicaSetFixture() : MongoFixture(kMongoReplicaSet, LeaseModeOption::automatic) {}
};

// As configured.
class MongoAlonePlainFixture : public MongoFixture {
 public:
  static constexpr LeaseTrace kTrace = LeaseTrace::plain;
  static constexpr bool kTracesTokens = false;
  MongoAlonePlainFixture() : MongoFixture(kMongoAlone, LeaseModeOption::plain) {}
};

class MongoReplicaSetPlainFixture : public MongoFixture {
 public:
  static constexpr LeaseTrace kTrace = LeaseTrace::plain;
  static constexpr bool kTracesTokens = false;
  MongoReplicaSetPlainFixture() : MongoFixture(kMongoReplicaSet, LeaseModeOption::plain) {}
};

class MongoReplicaSetLedgerFixture : public MongoFixture {
 public:
  static constexpr LeaseTrace kTrace = LeaseTrace::transaction;
  static constexpr bool kTracesTokens = true;
  MongoReplicaSetLedgerFixture() : MongoFixture(kMongoReplicaSet, LeaseModeOption::session) {}
};

class MongoReplicaSetSlotFixture : public MongoFixture {
 public:
  static constexpr LeaseTrace kTrace = LeaseTrace::slot;
  static constexpr bool kTracesTokens = true;
  MongoReplicaSetSlotFixture() : MongoFixture(kMongoReplicaSet, LeaseModeOption::slot) {}
};

class DynamoFixture {
 public:
  static constexpr LeaseTrace kTrace = LeaseTrace::slot;
  static constexpr bool kTracesTokens = true;
  static constexpr bool kCountsLeases = false;
  explicit DynamoFixture(bool as_plain = false) : plain(as_plain) {}
  std::unique_ptr<BlockingStore> open();
  void put(const std::string& key, std::int64_t value, Meaning mark);
  void set(const std::string& key, std::int64_t value);
  void remove(const std::string& key) { server.remove(key); }
  std::int64_t value(const std::string& key) { return server.number(key); }
  DynamoServer server;
  const bool plain;
};

class DynamoPlainFixture : public DynamoFixture {
 public:
  static constexpr LeaseTrace kTrace = LeaseTrace::plain;
  static constexpr bool kTracesTokens = false;
  DynamoPlainFixture() : DynamoFixture(true) {}
};

}  // namespace seqd::testing
