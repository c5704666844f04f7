// MongoTransaction: one transaction on a replica set, on a connection and a session of its own.
// What it changed is there only once commit() said `done`. One thread; its end aborts what was not
// committed.
//
// Invariant: `refused` means that nothing will ever be applied: the commit was not sent, or the
// first and only one was answered with an error that the server raises before it commits.
#pragma once

#include <chrono>

#include "daemon/store/mongo/driver/mongo_client.h"

namespace seqd {

class MongoTransaction {
 public:
  explicit MongoTransaction(MongoClients& clients)
      : clients_(clients), connection_(clients.pool()) {}
  MongoTransaction(const MongoTransaction&) = delete;
  MongoTransaction& operator=(const MongoTransaction&) = delete;

  // First, and once.
  Status begin();

  // `done` or `refused`. After `refused` the transaction is over.
  MongoWriteAnswer find_and_modify(const MongoWrite& write);

  // Repeats the commit while its outcome is unknown, a few times and not after `deadline`.
  MongoWriteAnswer commit(const std::string& collection,
                          std::chrono::steady_clock::time_point deadline);

  const MongoConnection& connection() const { return connection_; }
  // {id: UUID}: what killSessions takes.
  Document session_id() const;

 private:
  MongoClients& clients_;
  const MongoConnection connection_;
  SessionHandle session_;  // before the connection goes back
};

}  // namespace seqd
