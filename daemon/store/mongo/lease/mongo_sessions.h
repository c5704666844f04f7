// MongoSessions: the sessions in which our transactions run, so that one that was left open can be
// ended. A transaction whose connection broke, whose statement arrives late or whose daemon was
// killed keeps its counter locked for all hosts, until the server drops it after a minute
// (transactionLifetimeLimitSeconds). The sessions of an instance stand in its document of
// seqd_instances; a daemon that starts ends those of the one before it. Thread-safe.
//
// Ending is an attempt only: nothing is concluded from it, and it can do no harm. A transaction
// that is ended is not applied, and the record of the lease says so.
#pragma once

#include <chrono>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/store/mongo/driver/mongo_client.h"
#include "daemon/store/mongo/driver/mongo_transaction.h"

namespace seqd {

class MongoSessions {
 public:
  explicit MongoSessions(MongoClients& clients) : clients_(clients) {}

  // Once before the first transaction or look-up of an instance; cheap afterwards. Ends what an
  // earlier daemon of this instance left behind.
  void take_over(const Token& instance);
  // Ends, once, the transactions that a former instance of the state directory left open: now, or
  // at the next take_over() if the server is not available. If the directory is a copy, the
  // original may be running; it repeats them.
  void inherit(const Token& former);
  // Before a transaction. An error: the session could not be announced, do not use it.
  Status announce(const Token& instance, const MongoTransaction& transaction);
  // The transaction's own; one that may have been left open, or may begin yet, becomes a suspect.
  MongoWriteAnswer run(MongoTransaction& transaction, const MongoWrite& write);
  MongoWriteAnswer commit(MongoTransaction& transaction, const std::string& collection,
                          std::chrono::steady_clock::time_point deadline);
  void end_suspects();

 private:
  using Bytes = std::string;  // a session's id as BSON
  struct Suspect {
    Bytes session;
    std::chrono::steady_clock::time_point until;
  };
  void suspect(const MongoTransaction& transaction);
  void add_suspect(Bytes session);
  void end_inherited();
  Status end(const Document& ids);

  MongoClients& clients_;
  std::mutex mutex_;  // guards everything below
  std::set<Token> taken_over_;
  std::set<Token> inherited_;  // and not ended yet
  std::set<std::pair<Token, Bytes>> announced_;
  std::vector<Suspect> suspects_;
};

}  // namespace seqd
