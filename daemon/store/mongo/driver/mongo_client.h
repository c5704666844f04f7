// MongoClients: the connections of one MongoDB store, and what the store does with them outside of
// transactions. Thread-safe: each call takes a connection of its own from the pool.
//
// Invariant: the outcome is `refused` only if it is proven that nothing was applied: no attempt of
// the driver (it repeats a write once on replica sets) left this host, or the server answered every
// one with an error that it raises before it writes. Everything else that is not `done` is
// `unknown`.
#pragma once

#include <mongoc/mongoc.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "daemon/store/mongo/driver/mongo_driver.h"
#include "daemon/store/mongo/driver/mongo_handles.h"
#include "daemon/store/mongo/driver/mongo_pool.h"
#include "daemon/store/mongo/driver/mongo_uri.h"
#include "daemon/store/mongo/driver/mongo_values.h"

namespace seqd {

// findAndModify by key; the document after the change is returned, or the one that was removed.
struct MongoWrite {
  std::string collection;
  Document filter;
  Document update;             // a pipeline where its keys are "0", "1", ...
  std::string returned_field;  // empty: the whole document
  std::string lowest_of;       // of several that match, the one where this field is lowest
  bool upsert = false;
  bool remove = false;            // instead of the update
  std::uint32_t max_time_ms = 0;  // how long it may wait for a transaction; 0: as long as it takes
};

struct MongoWriteAnswer {
  enum class Kind : std::uint8_t { done, refused, unknown };
  Kind kind = Kind::unknown;
  Status error;                      // unless done
  bool again = false;                // refused, and the transaction may be tried again at once
  std::uint32_t server_code = 0;     // the server's error code, if it answered with one
  std::optional<Document> document;  // done: after the change; none where nothing matched
  // An attempt may still be applied: that nothing matched at the last one, or that it was refused,
  // does not end the write. What a mongos repeats is not seen.
  bool is_open = false;
  Document reply;  // the server's whole reply, for the details of an error
};

// The server that takes writes at present.
struct MongoServerFacts {
  enum class Kind : std::uint8_t { alone, replica_set, sharded };
  Kind kind = Kind::alone;
  std::int64_t wire_version = 0;

  bool operator==(const MongoServerFacts&) const = default;
};

// By the driver's word for a server; none for one that it cannot write to at this moment.
std::optional<MongoServerFacts::Kind> kind_of_server(std::string_view type);

// MongoDB 4.2: transactions, updates by pipeline.
inline constexpr std::int64_t kMongoWireOfPipelines = 8;

// The server's error codes that matter to us.
inline constexpr std::uint32_t kMongoDuplicateKey = 11000;
inline constexpr std::uint32_t kMongoTypeMismatch = 14;
inline constexpr std::uint32_t kMongoNamespaceExists = 48;
inline constexpr std::uint32_t kMongoWriteConflict = 112;
inline constexpr std::uint32_t kMongoValidationFailure = 121;
inline constexpr std::uint32_t kMongoNoRetryableWrites = 301;  // DocumentDB's

ChangeOptionsHandle change_options(const MongoWrite& write);

class MongoClients {
 public:
  // Does not wait for a server: a store that is away when the daemon starts is found later.
  static Result<std::unique_ptr<MongoClients>> open(const MongoDriver& driver, MongoTarget target);

  MongoClients(const MongoClients&) = delete;
  MongoClients& operator=(const MongoClients&) = delete;

  MongoWriteAnswer find_and_modify(const MongoWrite& write);
  // On a connection that the caller holds: a second one might never become free.
  MongoWriteAnswer find_and_modify(const MongoWrite& write, const MongoConnection& connection);

  // The newest state of one document: linearizable on a replica set, so that a primary that was
  // replaced without knowing it cannot answer.
  Result<std::optional<Document>> read(const std::string& collection, const Document& filter);

  // The first document of what a pipeline answers, of what a majority has; linearizable where the
  // server cannot read so.
  Result<std::optional<Document>> aggregate(const std::string& collection,
                                            const Document& pipeline);

  // Whether `field` alone has a unique index. UNAVAILABLE while it is being built, or where that
  // cannot be determined at present.
  Result<bool> has_unique_index(const std::string& collection, const std::string& field);

  // Leaves those `indexes` of which it is known that their build has ended. UNAVAILABLE: none is,
  // and one is being built.
  Status leave_built(const MongoConnection& connection, const std::string& collection,
                     std::set<std::string>& indexes) const;

  // As the driver knows it; queries the server only if it does not. `collection` is for the text of
  // an error.
  Result<MongoServerFacts> server(const std::string& collection);

  // A command in the store's database that either works or is answered with `accepted_code`.
  Status run(const Document& command, const std::string& collection, std::uint32_t accepted_code);

  const MongoTarget& target() const { return target_; }
  mongoc_client_pool_t* pool() { return pool_->get(); }
  // Whether a mongos, or what balances several of them, may be what answers. As the driver knows
  // it; sends nothing. Called before a write and after it, as an error makes the driver forget.
  bool through_mongos(const MongoConnection& connection);
  // `reply`: the server's, where there is one: its labels show which errors are transient.
  Status status_of(const bson_error_t& error, const std::string& collection,
                   const bson_t* reply = nullptr) const;
  Status no_connection() const;
  // The outcome of a findAndModify. `nothing_applied`: that is proven of every attempt.
  MongoWriteAnswer answer_of(bool ok, const bson_t* reply, const bson_error_t& error,
                             const std::string& collection, bool nothing_applied,
                             bool only_attempt) const;
  // "MongoDB at db1:27017, collection shop.counters".
  std::string where(const std::string& collection) const;
  // Its words, without the secrets of the URI.
  std::string readable(const bson_error_t& error) const;

 private:
  Status was_lost(const std::string& collection) const;
  explicit MongoClients(MongoTarget target) : target_(std::move(target)) {}
  // `server_code` gets that of the server's error.
  Result<std::optional<Document>> first_of(const CursorHandle& cursor,
                                           const std::string& collection,
                                           std::uint32_t* server_code = nullptr) const;
  enum class Mongos : std::uint8_t { unknown, yes, no };

  const MongoTarget target_;
  std::atomic<Mongos> mongos_ = Mongos::unknown;  // what the driver knew last
  std::unique_ptr<MongoPool> pool_;               // of target_
};

}  // namespace seqd
