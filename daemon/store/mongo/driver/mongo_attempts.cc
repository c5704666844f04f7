#include "daemon/store/mongo/driver/mongo_attempts.h"

#include <strings.h>

#include <string_view>

#include "daemon/base/assertion.h"
#include "daemon/store/mongo/driver/mongo_client.h"
#include "daemon/store/mongo/driver/mongo_numbered_writes.h"

namespace seqd {
namespace {

// The driver calls its observers on the thread of the command.
thread_local CommandAttempts* current_attempts = nullptr;

bool is_watched(const char* command) {
  return strcasecmp(command, "findAndModify") == 0 ||
         strcasecmp(command, "commitTransaction") == 0 || strcasecmp(command, "insert") == 0;
}

// Errors that the server raises before it writes, for all commands. Short on purpose: an error that
// is missing here costs a look-up; one too many could cost a duplicate.
bool raised_before_writing(std::uint32_t code) {
  switch (code) {
    case 2:      // BadValue
    case 9:      // FailedToParse
    case 13:     // Unauthorized
    case 14:     // TypeMismatch
    case 18:     // AuthenticationFailed
    case 20:     // IllegalOperation
    case 28:     // PathNotViable
    case 40:     // ConflictingUpdateOperators
    case 52:     // DollarPrefixedFieldName
    case 59:     // CommandNotFound
    case 61:     // ShardKeyNotFound: there is no shard for the key
    case 66:     // ImmutableField
    case 72:     // InvalidOptions
    case 73:     // InvalidNamespace
    case 121:    // DocumentValidationFailure
    case 166:    // CommandNotSupportedOnView
    case 251:    // NoSuchTransaction: not on that server
    case 10107:  // NotWritablePrimary
    case 11000:  // DuplicateKey
    case 13435:  // NotPrimaryNoSecondaryOk
      return true;
    default:
      return false;
  }
}

bool has_words(const bson_error_t& error, std::string_view words) {
  return std::string_view(error.message).find(words) != std::string_view::npos;
}

// Codes that mean something else on other servers, or nothing by themselves: services that say one
// of them in these words have written nothing, and passed nothing on.
bool refused_by_service(const bson_error_t& error) {
  constexpr std::uint32_t kOfAtlas = 8000;
  return has_no_retryable_writes(error) ||
         (error.code == kOfAtlas && (has_words(error, "over your space quota") ||
                                     has_words(error, "is not allowed to do action")));
}

// By the server's own label. On a repeat, it proves nothing about earlier attempts.
bool is_labelled_unwritten(const bson_t* reply) {
  return mongoc_error_has_label(reply, "NoWritesPerformed") ||
         mongoc_error_has_label(reply, "RetryableError");
}

// Whether a server that is not a mongos may return this code for a document that it has changed.
// All other errors undo the change of the document.
bool may_follow_the_change(std::uint32_t code) {
  switch (code) {
    case 0:      // no code
    case 1:      // InternalError
    case 8:      // UnknownError
    case 79:     // UnknownReplWriteConcern
    case 90:     // CallbackCanceled
    case 100:    // UnsatisfiableWriteConcern
    case 237:    // CursorKilled
    case 279:    // ClientDisconnect
    case 46841:  // ClientMarkedKilled
      return true;
    case 16500:  // Cosmos DB: too many requests
      return false;
    default:
      return is_transient_error(code) || MongoNumberedWrites::is_forgotten(code);
  }
}

bool proves_nothing_changed(const char* command, const bson_error_t& error, const bson_t* reply) {
  if (raised_before_writing(error.code) || refused_by_service(error)) return true;
  if (is_labelled_unwritten(reply)) return true;
  return strcasecmp(command, "findAndModify") == 0 && !may_follow_the_change(error.code) &&
         !is_labelled_transient(reply);
}

// A mongos repeats a write and reports the last attempt only: an error that a later attempt can
// meet proves nothing about the first.
bool raised_before_writing_by_shard(std::uint32_t code) {
  return raised_before_writing(code) && !is_transient_error(code);
}

// What is wrong with one document, as the shard finds it.
bool is_of_the_document(std::uint32_t code) {
  switch (code) {
    case 53:     // InvalidIdField
    case 56:     // EmptyFieldName
    case 57:     // DottedFieldName
    case 61:     // ShardKeyNotFound
    case 171:    // CannotIndexParallelArrays
    case 10334:  // BSONObjectTooLarge
    case 16755:  // no geometry that can be indexed
    case 17280:  // KeyTooLong
      return true;
    default:
      return false;
  }
}

void on_started(const mongoc_apm_command_started_t* event) {
  if (current_attempts == nullptr ||
      !is_watched(mongoc_apm_command_started_get_command_name(event)))
    return;
  ++current_attempts->started;
  bson_iter_t number;
  if (bson_iter_init_find(&number, mongoc_apm_command_started_get_command(event), "txnNumber") &&
      BSON_ITER_HOLDS_INT64(&number)) {
    current_attempts->transaction_number = bson_iter_int64(&number);
  }
}

void on_succeeded(const mongoc_apm_command_succeeded_t* event) {
  const char* const name = mongoc_apm_command_succeeded_get_command_name(event);
  if (current_attempts == nullptr || !is_watched(name)) return;
  ++current_attempts->succeeded;
  if (strcasecmp(name, "insert") == 0)
    current_attempts->inserted.emplace(mongoc_apm_command_succeeded_get_reply(event));
}

void on_failed(const mongoc_apm_command_failed_t* event) {
  const char* const name = mongoc_apm_command_failed_get_command_name(event);
  if (current_attempts == nullptr || !is_watched(name)) return;
  bson_error_t error;
  mongoc_apm_command_failed_get_error(event, &error);
  if (error.domain != MONGOC_ERROR_SERVER ||
      !proves_nothing_changed(name, error, mongoc_apm_command_failed_get_reply(event)))
    return;
  ++current_attempts->disproved;
  if (raised_before_writing_by_shard(error.code) || refused_by_service(error))
    ++current_attempts->disproved_by_shard;
}

}  // namespace

AttemptScope::AttemptScope() {
  ASSERT(current_attempts == nullptr);
  current_attempts = &attempts_;
}

AttemptScope::~AttemptScope() {
  current_attempts = nullptr;
}

void watch_commands(mongoc_client_pool_t* pool) {
  mongoc_apm_callbacks_t* observers = mongoc_apm_callbacks_new();
  mongoc_apm_set_command_started_cb(observers, on_started);
  mongoc_apm_set_command_succeeded_cb(observers, on_succeeded);
  mongoc_apm_set_command_failed_cb(observers, on_failed);
  ASSERT(mongoc_client_pool_set_apm_callbacks(pool, observers, nullptr));
  mongoc_apm_callbacks_destroy(observers);
}

bool proves_not_inserted(std::uint32_t code, bool through_mongos) {
  // A server that is not a mongos has not inserted the documents that it reports, for any error.
  if (!through_mongos) return true;
  if (is_transient_error(code)) return false;
  return raised_before_writing_by_shard(code) || is_of_the_document(code);
}

bool has_no_retryable_writes(const bson_error_t& error) {
  return error.code == kMongoNoRetryableWrites && has_words(error, "Retryable writes");
}

bool is_labelled_transient(const bson_t* reply) {
  for (const char* label : {"TransientTransactionError", "RetryableWriteError", "RetryableError",
                            "UnknownTransactionCommitResult", "SystemOverloadedError"})
    if (mongoc_error_has_label(reply, label)) return true;
  // Newer servers have more interruptions than are in the list, all by that name.
  bson_iter_t name;
  return bson_iter_init_find(&name, reply, "codeName") && BSON_ITER_HOLDS_UTF8(&name) &&
         std::string_view(bson_iter_utf8(&name, nullptr)).starts_with("Interrupted");
}

bool is_transient_error(std::uint32_t code) {
  switch (code) {
    case 6:      // HostUnreachable
    case 7:      // HostNotFound
    case 24:     // LockTimeout
    case 50:     // MaxTimeMSExpired
    case 64:     // WriteConcernFailed
    case 89:     // NetworkTimeout
    case 91:     // ShutdownInProgress
    case 107:    // LockFailed
    case 112:    // WriteConflict
    case 117:    // ConflictingOperationInProgress
    case 133:    // FailedToSatisfyReadPreference: no primary that a mongos could reach
    case 134:    // ReadConcernMajorityNotAvailableYet
    case 175:    // QueryPlanKilled
    case 189:    // PrimarySteppedDown
    case 202:    // NetworkInterfaceExceededTimeLimit
    case 211:    // KeyNotFound: of the cluster's time, after a start or a new key
    case 246:    // SnapshotUnavailable
    case 251:    // NoSuchTransaction
    case 262:    // ExceededTimeLimit
    case 264:    // TooManyFilesOpen
    case 290:    // TransactionExceededLifetimeLimitSeconds
    case 355:    // InterruptedDueToStorageChange
    case 365:    // TemporarilyUnavailable
    case 433:    // AdmissionQueueOverflow
    case 449:    // RateLimitExceeded
    case 450:    // PooledConnectionAcquisitionRejected
    case 453:    // InterruptedDueToReshardingCriticalSection
    case 462:    // IngressRequestRateLimitExceeded
    case 463:    // overload of newer servers
    case 473:    // an interruption of newer servers
    case 9001:   // SocketException
    case 10107:  // NotWritablePrimary
    case 11600:  // InterruptedAtShutdown
    case 11601:  // Interrupted
    case 11602:  // InterruptedDueToReplStateChange
    case 13435:  // NotPrimaryNoSecondaryOk
    case 13436:  // NotPrimaryOrSecondary
    case 16500:  // Cosmos DB: too many requests
    // RetriableRemoteCommandFailure, InterruptedDueToFCVChange
    case 91331:
    case 10045600:
      return true;
    default:
      return false;
  }
}

bool is_conflict(std::uint32_t code) {
  // SnapshotUnavailable: another one has just created the collection. Not LockTimeout (24): a
  // server that is frozen for a backup, or has no tickets left, reports it for as long as that is.
  return code == kMongoWriteConflict || code == 246;
}

}  // namespace seqd
