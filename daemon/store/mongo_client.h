// MongoClients: the connections of one MongoDB store, and the three things the store does with
// them. Thread-safe: each call takes a connection of its own from the pool.
//
// Invariant: `refused` is said only where it is proven that nothing was applied: no attempt of the
// driver (it repeats a write once on replica sets) left this host, or the server answered every one
// with an error that it raises before it writes. Everything else that is not `done` is `unknown`.
#pragma once

#include <mongoc/mongoc.h>

#include <memory>
#include <optional>
#include <string>

#include "daemon/store/mongo_driver.h"
#include "daemon/store/mongo_uri.h"
#include "daemon/store/mongo_values.h"

namespace seqd {

// findAndModify by key; the document after the change is returned.
struct MongoWrite {
  std::string collection;
  Document filter;
  Document update;
  std::string returned_field;  // empty: the whole document
  bool upsert = false;
};

struct MongoWriteAnswer {
  enum class Kind : std::uint8_t { done, refused, unknown };
  Kind kind = Kind::unknown;
  Status error;                      // unless done
  std::uint32_t server_code = 0;     // the server's error code, if it answered with one
  std::optional<Document> document;  // done: after the change; none where nothing matched
  Document reply;                    // the server's whole reply, for the details of an error
};

// The server's error codes that matter to us.
inline constexpr std::uint32_t kMongoDuplicateKey = 11000;
inline constexpr std::uint32_t kMongoTypeMismatch = 14;

class MongoClients {
 public:
  // Does not wait for a server: a store that is away when the daemon starts is found later.
  static Result<std::unique_ptr<MongoClients>> open(const MongoDriver& driver, MongoTarget target);

  ~MongoClients();
  MongoClients(const MongoClients&) = delete;
  MongoClients& operator=(const MongoClients&) = delete;

  MongoWriteAnswer find_and_modify(const MongoWrite& write);

  // The newest state of one document: linearizable on a replica set, so that a primary that was
  // replaced without knowing it cannot answer.
  Result<std::optional<Document>> read(const std::string& collection, const Document& filter);

  // Whether `field` alone has a unique index.
  Result<bool> has_unique_index(const std::string& collection, const std::string& field);

  const MongoTarget& target() const { return target_; }
  // "MongoDB at db1:27017, collection shop.counters".
  std::string where(const std::string& collection) const;

 private:
  class Connection;
  MongoClients(MongoTarget target, mongoc_client_pool_t* pool)
      : target_(std::move(target)), pool_(pool) {}
  Status status_of(const bson_error_t& error, const std::string& collection) const;
  Status no_connection() const;
  MongoWriteAnswer answer_of(bool ok, const bson_t* reply, const bson_error_t& error,
                             const std::string& collection, const struct CommandTrace& trace) const;

  const MongoTarget target_;
  mongoc_client_pool_t* const pool_;
};

}  // namespace seqd
