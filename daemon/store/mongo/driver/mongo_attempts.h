// CommandAttempts: what happened to every attempt of one command that decides over a lease. The
// driver repeats such a command and reports only the last attempt, which proves nothing of the ones
// before. They belong to the thread that runs the command.
#pragma once

#include <mongoc/mongoc.h>

#include <cstdint>
#include <optional>

#include "daemon/store/mongo/driver/mongo_values.h"

namespace seqd {

struct CommandAttempts {
  int started = 0;                      // handed to a connection: may have been sent
  int succeeded = 0;                    // answered with ok: 1, applied as far as that server goes
  std::int64_t transaction_number = 0;  // by which the server knows a repeat; 0: there is none
  std::optional<Document> inserted;     // the server's reply to the last insert
  int disproved = 0;           // answered with an error that proves that nothing was written
  int disproved_by_shard = 0;  // of these, the ones that prove it through a mongos, too

  bool nothing_applied(bool through_mongos) const {
    return succeeded == 0 && (through_mongos ? disproved_by_shard : disproved) == started;
  }
  // An attempt without an answer may still be applied: the server keeps no record of a repeat that
  // changed nothing, and the driver gives up the session in which a number would fence it off.
  bool has_open_attempt(bool through_mongos) const {
    return started > succeeded + (through_mongos ? disproved_by_shard : disproved);
  }
};

// While it lives, the findAndModify, commitTransaction and insert commands of this thread are
// watched.
class AttemptScope {
 public:
  AttemptScope();
  ~AttemptScope();
  AttemptScope(const AttemptScope&) = delete;
  AttemptScope& operator=(const AttemptScope&) = delete;
  const CommandAttempts& attempts() const { return attempts_; }

 private:
  CommandAttempts attempts_;
};

// Once for a new pool: lets the scopes see its commands.
void watch_commands(mongoc_client_pool_t* pool);

// Whether an entry of writeErrors with this code proves that its document was not inserted. A
// mongos also puts there that it lost the connection to a shard, which may have inserted it.
bool proves_not_inserted(std::uint32_t code, bool through_mongos);

// Failures that pass by themselves; the others need an operator.
bool is_transient_error(std::uint32_t code);
// Whether the server's reply says so itself, by a label or by the name of its code.
bool is_labelled_transient(const bson_t* reply);
// DocumentDB, by its words: its code is DataCorruptionDetected on MongoDB.
bool has_no_retryable_writes(const bson_error_t& error);
// Whether the transaction failed because of concurrent operations on the document or its
// collection: the server is reachable and works.
bool is_conflict(std::uint32_t code);

}  // namespace seqd
