// MongoNumberedWrites: the writes of one lease of mode "session". Session id and transaction number
// follow from the token, which is in the log before anything is sent. A replica set applies a
// statement of a numbered write once, and answers a repeat from its own record, also if the repeat
// differs ("retryable writes"). So this daemon and a later one can repeat the same write, over
// failovers, until the server forgets the session: 30 minutes after its last use, or when a backup
// without it is restored.
//
// The driver has no function to continue a session of another process. So a session of the driver
// carries our id while a command is sent, and its own before it goes back. If another id were sent
// after all, the server would not remember the statement: the lease is untraceable then, a gap, and
// never issued twice. One thread; refers to the clients and the request.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/store/lease_trace.h"
#include "daemon/store/mongo/driver/mongo_client.h"

namespace seqd {

class MongoNumberedWrites {
 public:
  MongoNumberedWrites(MongoClients& clients, const LeaseRequest& request);

  // Changes one document, as statement `statement` (1 or more) of the write. Whether one matched;
  // after an error it may have been changed. An upsert that meets another one matches nothing.
  Result<bool> update(const MongoWrite& write, std::int32_t statement);

  // Whether the server knows that this statement was applied. Changes nothing.
  Result<bool> remembers(const std::string& collection, std::int32_t statement);

  // Whether this error means that the outcome of a statement can no longer be determined: the
  // server has dropped the session or its answer, or keeps none.
  static bool is_forgotten(std::uint32_t server_code);

  // Statement 0. The first that matches a document is applied; every later one is answered with the
  // document that the first one left, also if it names another collection.
  MongoWriteAnswer find_and_modify(const MongoWrite& write);

  // OK where a server takes numbered writes, and applies one once: it makes a document of the
  // instance and removes it, and the removal is sent twice. What is cut off leaves one document,
  // which the next trial removes. One at a time.
  static Status probe(MongoClients& clients, const std::string& collection, const Token& instance);

 private:
  struct Answer {
    bool ok = false;
    bson_error_t error = {};
    Document reply;
    Status no_session;  // not OK: nothing was sent
  };
  Answer send(Document command, const std::string& collection);
  Answer ask(const std::string& collection, std::int32_t statement);
  Status error_of(const Answer& answer, const std::string& collection) const;
  Status refusal_in(const Answer& answer, const std::string& collection) const;

  MongoClients& clients_;
  const Token session_;
  const std::int64_t number_;
};

}  // namespace seqd
