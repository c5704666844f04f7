// MongoTarget: a MongoDB connection string after seqd's rules: every time-out is set, and the write
// concern is majority and journalled in any case; a weaker one is refused. Values; any thread.
//
// Invariant: no text made here or by `hide_secrets` carries a password, a passphrase or a token.
#pragma once

#include <mongoc/mongoc.h>

#include <memory>
#include <string>

#include "daemon/base/assertion.h"
#include "daemon/base/status.h"
#include "daemon/store/lease_trace.h"
#include "daemon/store/mongo/driver/mongo_values.h"

namespace seqd {

struct MongoStoreOptions {
  std::string uri;
  std::string database;    // empty: the one in the URI
  int timeout_ms = 5'000;  // of each step (finding a server, connecting, one reply); 100 .. 60,000
  int concurrency = 4;     // calls at a time, and as many inserts, one connection each; 1 .. 64
  bool unsafe_write_concern = false;  // take w=1 or journal=false from the URI: a failover may then
                                      // repeat IDs
  LeaseModeOption lease_mode = LeaseModeOption::automatic;
};

struct MongoUriDestroyer {
  void operator()(mongoc_uri_t* uri) const { mongoc_uri_destroy(uri); }
};
struct MongoWriteConcernDestroyer {
  void operator()(const mongoc_write_concern_t* concern) const {
    mongoc_write_concern_destroy(const_cast<mongoc_write_concern_t*>(concern));
  }
};

// Constant, as all threads share it: the driver writes into a concern that it appends to a command.
// A command gets the field.
using SharedWriteConcern =
    std::unique_ptr<const mongoc_write_concern_t, MongoWriteConcernDestroyer>;

struct MongoTarget {
  std::unique_ptr<mongoc_uri_t, MongoUriDestroyer> uri;
  SharedWriteConcern write_concern;
  Document write_concern_field;  // {writeConcern: {...}}
  std::string database;
  std::string hosts;  // "db1:27017,db2:27017": how error texts name the store
  int timeout_ms = 0;

  void add_write_concern(Document& command) const {
    ASSERT(bson_concat(command.get(), write_concern_field.get()));
  }
};

// CONFIG when the options cannot be used. Does not touch the network.
Result<MongoTarget> read_mongo_uri(const MongoStoreOptions& options);

// The URI for people: "***" in place of user and password, and of the values of all options but
// those that hold no secret.
std::string masked_mongo_uri(const std::string& uri);

// `text` (an error of driver or server) without the password of `uri`, and without the passphrase
// and the session token in its options, as they are written and decoded.
std::string hide_secrets(std::string text, const mongoc_uri_t* uri);

}  // namespace seqd
