#include "daemon/store/mongo_client.h"

#include <fmt/format.h>
#include <strings.h>

#include <utility>

namespace seqd {

// What happened to each attempt of one findAndModify; the driver itself reports only the last.
struct CommandTrace {
  int started = 0;    // handed to a connection: may have been sent
  int succeeded = 0;  // answered with ok: 1, applied as far as that server goes
  int disproved = 0;  // answered with an error that is raised before anything is written
};

namespace {

// The driver calls its observers on the thread of the command.
thread_local CommandTrace* current_trace = nullptr;

bool is_find_and_modify(const char* command) {
  return strcasecmp(command, "findAndModify") == 0;
}

// Errors the server raises before it writes. Short on purpose: an error that is missing here costs
// a gap, one too many could cost a duplicate.
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
    case 66:     // ImmutableField
    case 72:     // InvalidOptions
    case 73:     // InvalidNamespace
    case 121:    // DocumentValidationFailure
    case 166:    // CommandNotSupportedOnView
    case 10107:  // NotWritablePrimary
    case 11000:  // DuplicateKey
    case 13435:  // NotPrimaryNoSecondaryOk
      return true;
    default:
      return false;
  }
}

// Failures that pass by themselves; the others have to be mended by somebody.
bool is_transient(std::uint32_t code) {
  switch (code) {
    case 6:      // HostUnreachable
    case 7:      // HostNotFound
    case 50:     // MaxTimeMSExpired
    case 64:     // WriteConcernFailed
    case 89:     // NetworkTimeout
    case 91:     // ShutdownInProgress
    case 112:    // WriteConflict
    case 189:    // PrimarySteppedDown
    case 202:    // NetworkInterfaceExceededTimeLimit
    case 262:    // ExceededTimeLimit
    case 9001:   // SocketException
    case 10107:  // NotWritablePrimary
    case 11600:  // InterruptedAtShutdown
    case 11602:  // InterruptedDueToReplStateChange
    case 13435:  // NotPrimaryNoSecondaryOk
    case 13436:  // NotPrimaryOrSecondary
      return true;
    default:
      return false;
  }
}

void on_started(const mongoc_apm_command_started_t* event) {
  if (current_trace != nullptr &&
      is_find_and_modify(mongoc_apm_command_started_get_command_name(event))) {
    ++current_trace->started;
  }
}

void on_succeeded(const mongoc_apm_command_succeeded_t* event) {
  if (current_trace != nullptr &&
      is_find_and_modify(mongoc_apm_command_succeeded_get_command_name(event))) {
    ++current_trace->succeeded;
  }
}

void on_failed(const mongoc_apm_command_failed_t* event) {
  if (current_trace == nullptr ||
      !is_find_and_modify(mongoc_apm_command_failed_get_command_name(event)))
    return;
  bson_error_t error;
  mongoc_apm_command_failed_get_error(event, &error);
  if (error.domain == MONGOC_ERROR_SERVER && raised_before_writing(error.code))
    ++current_trace->disproved;
}

class TraceScope {
 public:
  TraceScope() { current_trace = &trace_; }
  ~TraceScope() { current_trace = nullptr; }
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;
  const CommandTrace& trace() const { return trace_; }

 private:
  CommandTrace trace_;
};

struct CollectionDestroyer {
  void operator()(mongoc_collection_t* collection) const { mongoc_collection_destroy(collection); }
};
struct CursorDestroyer {
  void operator()(mongoc_cursor_t* cursor) const { mongoc_cursor_destroy(cursor); }
};
struct OptionsDestroyer {
  void operator()(mongoc_find_and_modify_opts_t* options) const {
    mongoc_find_and_modify_opts_destroy(options);
  }
};
struct ServerDestroyer {
  void operator()(mongoc_server_description_t* server) const {
    mongoc_server_description_destroy(server);
  }
};
using CollectionHandle = std::unique_ptr<mongoc_collection_t, CollectionDestroyer>;
using CursorHandle = std::unique_ptr<mongoc_cursor_t, CursorDestroyer>;
using OptionsHandle = std::unique_ptr<mongoc_find_and_modify_opts_t, OptionsDestroyer>;
using ServerHandle = std::unique_ptr<mongoc_server_description_t, ServerDestroyer>;

// Initialised by the driver whatever happens, and owned here.
class Reply {
 public:
  Reply() { bson_init(&bson_); }
  ~Reply() { bson_destroy(&bson_); }
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;
  bson_t* get() { return &bson_; }
  // For functions that initialise what they are given.
  bson_t* uninitialised() {
    bson_destroy(&bson_);
    return &bson_;
  }

 private:
  bson_t bson_;
};

std::optional<Document> document_in(const bson_t* reply, const char* name) {
  bson_iter_t found;
  if (!bson_iter_init_find(&found, reply, name) || !BSON_ITER_HOLDS_DOCUMENT(&found))
    return std::nullopt;
  const std::uint8_t* data = nullptr;
  std::uint32_t size = 0;
  bson_iter_document(&found, &size, &data);
  bson_t view;
  if (!bson_init_static(&view, data, size)) return std::nullopt;
  return Document(&view);
}

// Index keys with dots are literal names, so this is no path.
bool is_only_key(const Document& key, const std::string& field) {
  bson_iter_t iterator;
  return bson_iter_init(&iterator, key.get()) && bson_iter_next(&iterator) &&
         field == bson_iter_key(&iterator) && !bson_iter_next(&iterator);
}

}  // namespace

// A connection taken from the pool and given back.
class MongoClients::Connection {
 public:
  explicit Connection(MongoClients& clients)
      : pool_(clients.pool_), client_(mongoc_client_pool_pop(pool_)) {}
  ~Connection() {
    if (client_ != nullptr) mongoc_client_pool_push(pool_, client_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  mongoc_client_t* get() const { return client_; }
  CollectionHandle collection(const MongoTarget& target, const std::string& name) const {
    return CollectionHandle(
        mongoc_client_get_collection(client_, target.database.c_str(), name.c_str()));
  }

 private:
  mongoc_client_pool_t* const pool_;
  mongoc_client_t* const client_;
};

Result<std::unique_ptr<MongoClients>> MongoClients::open(const MongoDriver&, MongoTarget target) {
  bson_error_t error;
  mongoc_client_pool_t* pool = mongoc_client_pool_new_with_error(target.uri.get(), &error);
  if (pool == nullptr) {
    return Status(ErrorCode::CONFIG, fmt::format("MongoDB at {}: {}", target.hosts,
                                                 hide_secrets(error.message, target.uri.get())));
  }
  CHECK(mongoc_client_pool_set_error_api(pool, MONGOC_ERROR_API_VERSION_2));
  mongoc_apm_callbacks_t* observers = mongoc_apm_callbacks_new();
  mongoc_apm_set_command_started_cb(observers, on_started);
  mongoc_apm_set_command_succeeded_cb(observers, on_succeeded);
  mongoc_apm_set_command_failed_cb(observers, on_failed);
  CHECK(mongoc_client_pool_set_apm_callbacks(pool, observers, nullptr));
  mongoc_apm_callbacks_destroy(observers);
  return std::unique_ptr<MongoClients>(new MongoClients(std::move(target), pool));
}

MongoClients::~MongoClients() {
  mongoc_client_pool_destroy(pool_);
}

std::string MongoClients::where(const std::string& collection) const {
  return fmt::format("MongoDB at {}, collection {}.{}", target_.hosts, target_.database,
                     collection);
}

Status MongoClients::no_connection() const {
  return {ErrorCode::UNAVAILABLE, fmt::format("MongoDB at {}: all connections have been busy for "
                                              "{} ms; the server is slow, or concurrency is "
                                              "too small",
                                              target_.hosts, target_.timeout_ms)};
}

Status MongoClients::status_of(const bson_error_t& error, const std::string& collection) const {
  const std::string what =
      fmt::format("{}: {}", where(collection), hide_secrets(error.message, target_.uri.get()));
  if (error.domain == MONGOC_ERROR_SERVER) {
    if (is_transient(error.code))
      return {ErrorCode::UNAVAILABLE, fmt::format("{} (code {})", what, error.code)};
    if (error.code == 13) {
      return {
          ErrorCode::STORE_REFUSED,
          what + "; the user needs find, insert, update and listIndexes there (role readWrite)"};
    }
    return {ErrorCode::STORE_REFUSED, fmt::format("{} (code {})", what, error.code)};
  }
  const bool authentication =
      error.domain == MONGOC_ERROR_SASL || error.domain == MONGOC_ERROR_SCRAM ||
      (error.domain == MONGOC_ERROR_CLIENT && error.code == MONGOC_ERROR_CLIENT_AUTHENTICATE);
  if (authentication) {
    return {ErrorCode::STORE_REFUSED,
            what + "; check user name, password, authSource and authMechanism of the URI"};
  }
  return {ErrorCode::UNAVAILABLE, what};
}

MongoWriteAnswer MongoClients::answer_of(bool ok, const bson_t* reply, const bson_error_t& error,
                                         const std::string& collection,
                                         const CommandTrace& trace) const {
  MongoWriteAnswer answer;
  answer.reply = Document(reply);
  const auto concern = document_in(reply, "writeConcernError");
  auto document = document_in(reply, "value");
  if (ok && !concern) {
    answer.kind = MongoWriteAnswer::Kind::done;
    answer.document = std::move(document);
    return answer;
  }
  if (concern) {
    // The server changed the document but cannot say that it will stay so. Where it matched nothing
    // at the only attempt, nothing was changed.
    const bool nothing_matched =
        trace.started == 1 && !document.has_value() && document_in(reply, "lastErrorObject");
    answer.kind =
        nothing_matched ? MongoWriteAnswer::Kind::refused : MongoWriteAnswer::Kind::unknown;
    bson_iter_t text;
    const bool has_text =
        find_field(concern->get(), "errmsg", &text) && BSON_ITER_HOLDS_UTF8(&text);
    answer.error = {
        ErrorCode::UNAVAILABLE,
        fmt::format("{}: the write was not confirmed by a majority: {}", where(collection),
                    has_text ? bson_iter_utf8(&text, nullptr) : "no reason given")};
    return answer;
  }
  const bool nothing_applied = trace.succeeded == 0 && trace.disproved == trace.started;
  answer.kind = nothing_applied ? MongoWriteAnswer::Kind::refused : MongoWriteAnswer::Kind::unknown;
  answer.error = status_of(error, collection);
  if (error.domain == MONGOC_ERROR_SERVER) answer.server_code = error.code;
  return answer;
}

MongoWriteAnswer MongoClients::find_and_modify(const MongoWrite& write) {
  Connection connection(*this);
  if (connection.get() == nullptr) {
    MongoWriteAnswer answer;
    answer.kind = MongoWriteAnswer::Kind::refused;
    answer.error = no_connection();
    return answer;
  }
  const CollectionHandle collection = connection.collection(target_, write.collection);
  mongoc_collection_set_write_concern(collection.get(), target_.write_concern.get());
  const OptionsHandle options(mongoc_find_and_modify_opts_new());
  auto flags = static_cast<unsigned>(MONGOC_FIND_AND_MODIFY_RETURN_NEW);
  if (write.upsert) flags |= static_cast<unsigned>(MONGOC_FIND_AND_MODIFY_UPSERT);
  CHECK(mongoc_find_and_modify_opts_set_flags(options.get(),
                                              static_cast<mongoc_find_and_modify_flags_t>(flags)));
  CHECK(mongoc_find_and_modify_opts_set_update(options.get(), write.update.get()));
  if (!write.returned_field.empty()) {
    CHECK(mongoc_find_and_modify_opts_set_fields(options.get(),
                                                 Document().add(write.returned_field, true).get()));
  }
  const TraceScope scope;
  Reply reply;
  bson_error_t error = {};
  const bool ok = mongoc_collection_find_and_modify_with_opts(
      collection.get(), write.filter.get(), options.get(), reply.uninitialised(), &error);
  return answer_of(ok, reply.get(), error, write.collection, scope.trace());
}

Result<std::optional<Document>> MongoClients::read(const std::string& collection,
                                                   const Document& filter) {
  Connection connection(*this);
  if (connection.get() == nullptr) return no_connection();
  bson_error_t error = {};
  const ServerHandle server(mongoc_client_select_server(connection.get(), true, nullptr, &error));
  if (!server) return status_of(error, collection);
  const bool alone = std::string(mongoc_server_description_type(server.get())) == "Standalone";
  const CollectionHandle handle = connection.collection(target_, collection);
  const Document options =
      std::move(Document()
                    .add("limit", std::int64_t{1})
                    .add("singleBatch", true)
                    .add("maxTimeMS", static_cast<std::int64_t>(target_.timeout_ms))
                    .add("readConcern", Document().add("level", alone ? "local" : "linearizable")));
  const std::unique_ptr<mongoc_read_prefs_t, void (*)(mongoc_read_prefs_t*)> primary(
      mongoc_read_prefs_new(MONGOC_READ_PRIMARY), mongoc_read_prefs_destroy);
  const CursorHandle cursor(
      mongoc_collection_find_with_opts(handle.get(), filter.get(), options.get(), primary.get()));
  const bson_t* found = nullptr;
  if (mongoc_cursor_next(cursor.get(), &found)) return std::optional<Document>(Document(found));
  if (mongoc_cursor_error(cursor.get(), &error)) return status_of(error, collection);
  return std::optional<Document>();
}

Result<bool> MongoClients::has_unique_index(const std::string& collection,
                                            const std::string& field) {
  Connection connection(*this);
  if (connection.get() == nullptr) return no_connection();
  const CollectionHandle handle = connection.collection(target_, collection);
  const CursorHandle cursor(mongoc_collection_find_indexes_with_opts(handle.get(), nullptr));
  const bson_t* index = nullptr;
  bool found = false;
  while (mongoc_cursor_next(cursor.get(), &index)) {
    const auto key = document_in(index, "key");
    bson_iter_t iterator;
    const bool unique =
        bson_iter_init_find(&iterator, index, "unique") && bson_iter_as_bool(&iterator);
    const bool partial = bson_iter_init_find(&iterator, index, "partialFilterExpression");
    if (key && unique && !partial && is_only_key(*key, field)) found = true;
  }
  bson_error_t error = {};
  if (mongoc_cursor_error(cursor.get(), &error)) {
    if (error.domain == MONGOC_ERROR_SERVER && error.code == 26)
      return false;  // no such collection
    return status_of(error, collection);
  }
  return found;
}

}  // namespace seqd
