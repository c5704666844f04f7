// MongoInsert: one batch of documents for a collection of MongoDB, each with the highest integer
// _id there plus one: one look at that _id, then an ordered insert of consecutive ones, which the
// server ends at the first that it refuses; what lies behind it goes out again. One thread; used
// once.
//
// Invariant: a document is sent under one _id only, unless the server has proven that it did not
// insert it; a mongos that lost its shard proves nothing. Where the answer is lost, the same
// request is repeated on a server with retryable writes (a replica set), which applies it once; on
// others the outcome is `unknown`. A document with a unique field may be sent again after that, by
// another batch: the server refuses it if it is there, and its _id is looked up.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/core/insert/insert_store.h"
#include "daemon/store/mongo/driver/mongo_client.h"
#include "daemon/store/mongo/insert/mongo_collection.h"

namespace seqd {

struct CommandAttempts;

class MongoInsert {
 public:
  MongoInsert(MongoClients& clients, MongoCollections& collections, const InsertBatch& batch)
      : clients_(clients),
        collections_(collections),
        batch_(batch),
        outcomes_(batch.items.size()) {}

  std::vector<InsertOutcome> run();

 private:
  using Kind = InsertOutcome::Kind;
  struct Pending {
    std::size_t index = 0;  // in the batch
    Document body;          // without _id
    Document unique;        // the filter that finds it by its unique field; empty: it has none
  };
  // The server's answer to one insert.
  struct Answer {
    enum class Kind : std::uint8_t { decided, refused, unknown };
    Kind kind = Kind::unknown;
    Status error;                     // of refused: nothing was inserted; of unknown: why
    std::int64_t inserted = 0;        // so many from the front, of unknown at least
    std::optional<Document> refusal;  // of decided: what is wrong with the next one
    std::int64_t transaction_number = 0;
  };

  Status prepare();
  Status prepare_unique(const std::string& field, Pending& pending);
  Status check_unique_ids();
  Result<std::int64_t> next_id();
  // How many of the pending documents one command takes, >= 1.
  std::size_t fitting(std::int64_t first) const;
  // The front of the pending documents with their IDs.
  std::vector<Document> numbered(std::int64_t first, std::size_t count) const;
  Answer send(const std::vector<Document>& documents);
  Answer repeat(const std::vector<Document>& documents, const MongoConnection& connection,
                mongoc_client_session_t* session, Answer first);
  // `repeated`: an earlier attempt of the same write was not answered.
  Answer read_answer(const bson_error_t& error, const bson_t* reply,
                     const CommandAttempts& attempts, bool through_mongos, bool repeated) const;
  // True: the remaining documents may continue with the _id `next`.
  bool take(const Answer& answer, std::int64_t first, std::size_t count, std::int64_t& next);
  bool take_refusal(const Document& refusal, std::int64_t id);
  // There is a document with the unique value of the next one: its _id is the answer.
  bool take_found();
  // The first `inserted` of `count` are; answers with how many.
  std::size_t take_inserted(std::int64_t inserted, std::int64_t first, std::size_t count);
  void take_unknown(const Answer& answer, std::int64_t first, std::size_t count);
  std::string now_there(std::int64_t id, const Document& body, bool& readable) const;
  void all_pending(Kind kind, const Status& error);

  MongoClients& clients_;
  MongoCollections& collections_;
  const InsertBatch& batch_;
  std::vector<InsertOutcome> outcomes_;
  std::vector<Pending> pending_;                 // without an outcome yet, in order
  std::map<std::string, Status> unique_fields_;  // whether they are
  bool shortest_id_ = false;  // an _id is an int32 where it fits, as the highest one is
};

}  // namespace seqd
