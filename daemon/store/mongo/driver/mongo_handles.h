// The driver's objects as C++ owns them. Each belongs to one thread at a time.
#pragma once

#include <mongoc/mongoc.h>

#include <memory>
#include <optional>
#include <string>

#include "daemon/store/mongo/driver/mongo_values.h"

namespace seqd {

// Calls one of the driver's functions to destroy an object.
template <auto kDestroy>
struct MongoDestroyer {
  template <typename Object>
  void operator()(Object* object) const {
    kDestroy(object);
  }
};

template <typename Object, auto kDestroy>
using MongoHandle = std::unique_ptr<Object, MongoDestroyer<kDestroy>>;

using CollectionHandle = MongoHandle<mongoc_collection_t, mongoc_collection_destroy>;
using CursorHandle = MongoHandle<mongoc_cursor_t, mongoc_cursor_destroy>;
using ChangeOptionsHandle =
    MongoHandle<mongoc_find_and_modify_opts_t, mongoc_find_and_modify_opts_destroy>;
using BulkHandle = MongoHandle<mongoc_bulk_operation_t, mongoc_bulk_operation_destroy>;
using ServerHandle = MongoHandle<mongoc_server_description_t, mongoc_server_description_destroy>;
using ReadPreferenceHandle = MongoHandle<mongoc_read_prefs_t, mongoc_read_prefs_destroy>;
using SessionHandle = MongoHandle<mongoc_client_session_t, mongoc_client_session_destroy>;
using TransactionOptionsHandle =
    MongoHandle<mongoc_transaction_opt_t, mongoc_transaction_opts_destroy>;
using WriteConcernHandle = MongoHandle<mongoc_write_concern_t, mongoc_write_concern_destroy>;

// A connection taken from the pool and returned. None (get() is null) when all were busy for the
// time-out, or without a pool: see MongoPool.
class MongoConnection {
 public:
  explicit MongoConnection(mongoc_client_pool_t* pool)
      : pool_(pool), client_(pool == nullptr ? nullptr : mongoc_client_pool_pop(pool)) {}
  ~MongoConnection() {
    if (client_ != nullptr) mongoc_client_pool_push(pool_, client_);
  }
  MongoConnection(const MongoConnection&) = delete;
  MongoConnection& operator=(const MongoConnection&) = delete;
  mongoc_client_t* get() const { return client_; }
  CollectionHandle collection(const std::string& database, const std::string& name) const {
    return CollectionHandle(mongoc_client_get_collection(client_, database.c_str(), name.c_str()));
  }

 private:
  mongoc_client_pool_t* const pool_;
  mongoc_client_t* const client_;
};

// Initialised by the driver in any case, and owned here.
class MongoReply {
 public:
  MongoReply() { bson_init(&bson_); }
  ~MongoReply() { bson_destroy(&bson_); }
  MongoReply(const MongoReply&) = delete;
  MongoReply& operator=(const MongoReply&) = delete;
  const bson_t* get() const { return &bson_; }
  // For functions that initialise what they are given.
  bson_t* uninitialised() {
    bson_destroy(&bson_);
    return &bson_;
  }

 private:
  bson_t bson_;
};

// The sub-document of this name, not a path.
std::optional<Document> document_in(const bson_t* reply, const char* name);

}  // namespace seqd
