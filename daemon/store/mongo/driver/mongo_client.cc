#include "daemon/store/mongo/driver/mongo_client.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/store/mongo/driver/mongo_attempts.h"
#include "daemon/store/mongo/driver/mongo_authentication.h"

namespace seqd {
namespace {

constexpr std::uint32_t kNoMajorityReads = 148;  // enableMajorityReadConcern: false
constexpr std::uint32_t kNoSuchCommand = 59;

// Index keys with dots are literal names, so this is no path.
bool is_only_key(const Document& key, const std::string& field) {
  bson_iter_t iterator;
  return bson_iter_init(&iterator, key.get()) && bson_iter_next(&iterator) &&
         field == bson_iter_key(&iterator) && !bson_iter_next(&iterator);
}

// The indexes in build that a reply to collStats names.
void add_builds(const bson_t* statistics, std::set<std::string>& names) {
  bson_iter_t builds;
  bson_iter_t each;
  if (!bson_iter_init_find(&builds, statistics, "indexBuilds") || !BSON_ITER_HOLDS_ARRAY(&builds) ||
      !bson_iter_recurse(&builds, &each))
    return;
  while (bson_iter_next(&each))
    if (BSON_ITER_HOLDS_UTF8(&each)) names.emplace(bson_iter_utf8(&each, nullptr));
}

}  // namespace

// The driver selects a server, and copies what it knows of it in a second step; in between another
// thread may have lost it, and then it is "Unknown".
std::optional<MongoServerFacts::Kind> kind_of_server(std::string_view type) {
  using Kind = MongoServerFacts::Kind;
  if (type == "Standalone") return Kind::alone;
  if (type == "Mongos" || type == "LoadBalancer") return Kind::sharded;
  if (type == "RSPrimary" || type == "RSSecondary") return Kind::replica_set;
  return std::nullopt;
}

std::optional<Document> document_in(const bson_t* reply, const char* name) {
  bson_iter_t found;
  return bson_iter_init_find(&found, reply, name) ? document_at(found) : std::nullopt;
}

Result<std::unique_ptr<MongoClients>> MongoClients::open(const MongoDriver&, MongoTarget target) {
  std::unique_ptr<MongoClients> clients(new MongoClients(std::move(target)));
  auto pool = MongoPool::open(clients->target_);
  if (!pool.ok()) return pool.status();
  clients->pool_ = std::move(*pool);
  return clients;
}

std::string MongoClients::where(const std::string& collection) const {
  return fmt::format("MongoDB at {}, collection {}.{}", target_.hosts, target_.database,
                     collection);
}

std::string MongoClients::readable(const bson_error_t& error) const {
  return hide_secrets(error.message, target_.uri.get());
}

Status MongoClients::no_connection() const {
  if (Status failure = pool_->failure(); !failure.ok()) return failure;
  return {ErrorCode::UNAVAILABLE, fmt::format("MongoDB at {}: all connections have been busy for "
                                              "{} ms; the server is slow, or concurrency is "
                                              "too small",
                                              target_.hosts, target_.timeout_ms)};
}

Status MongoClients::status_of(const bson_error_t& error, const std::string& collection,
                               const bson_t* reply) const {
  const std::string what = fmt::format("{}: {}", where(collection), readable(error));
  if (error.domain == MONGOC_ERROR_SERVER) {
    if (is_transient_error(error.code) || (reply != nullptr && is_labelled_transient(reply)))
      return {ErrorCode::UNAVAILABLE, fmt::format("{} (code {})", what, error.code)};
    if (error.code == 13) {
      return {ErrorCode::STORE_REFUSED, what +
                                            "; the user needs find, insert, update, remove, "
                                            "createCollection, createIndex, listIndexes and "
                                            "collStats there (role readWrite)"};
    }
    return {
        ErrorCode::STORE_REFUSED,
        fmt::format("{} (code {}){}", what, error.code,
                    has_no_retryable_writes(error) ? "; add retryWrites=false to the URI" : "")};
  }
  if (!is_of_authentication(error)) return {ErrorCode::UNAVAILABLE, what};
  return {is_refused_authentication(error) ? ErrorCode::STORE_REFUSED : ErrorCode::UNAVAILABLE,
          what + "; check user name, password, authSource and authMechanism of the URI"};
}

MongoWriteAnswer MongoClients::answer_of(bool ok, const bson_t* reply, const bson_error_t& error,
                                         const std::string& collection, bool nothing_applied,
                                         bool only_attempt) const {
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
        only_attempt && !document.has_value() && document_in(reply, "lastErrorObject");
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
  answer.kind = nothing_applied ? MongoWriteAnswer::Kind::refused : MongoWriteAnswer::Kind::unknown;
  answer.error = status_of(error, collection, reply);
  if (error.domain == MONGOC_ERROR_SERVER) answer.server_code = error.code;
  return answer;
}

ChangeOptionsHandle change_options(const MongoWrite& write) {
  ASSERT(!write.upsert || !write.remove);
  ChangeOptionsHandle options(mongoc_find_and_modify_opts_new());
  auto flags = static_cast<unsigned>(write.remove ? MONGOC_FIND_AND_MODIFY_REMOVE
                                                  : MONGOC_FIND_AND_MODIFY_RETURN_NEW);
  if (write.upsert) flags |= static_cast<unsigned>(MONGOC_FIND_AND_MODIFY_UPSERT);
  ASSERT(mongoc_find_and_modify_opts_set_flags(options.get(),
                                               static_cast<mongoc_find_and_modify_flags_t>(flags)));
  if (!write.remove)
    ASSERT(mongoc_find_and_modify_opts_set_update(options.get(), write.update.get()));
  if (!write.returned_field.empty()) {
    ASSERT(mongoc_find_and_modify_opts_set_fields(
        options.get(), Document().add(write.returned_field, true).get()));
  }
  if (!write.lowest_of.empty()) {
    ASSERT(mongoc_find_and_modify_opts_set_sort(
        options.get(), Document().add(write.lowest_of, std::int64_t{1}).get()));
  }
  if (write.max_time_ms > 0)
    ASSERT(mongoc_find_and_modify_opts_set_max_time_ms(options.get(), write.max_time_ms));
  return options;
}

MongoWriteAnswer MongoClients::find_and_modify(const MongoWrite& write) {
  return find_and_modify(write, MongoConnection(pool()));
}

MongoWriteAnswer MongoClients::find_and_modify(const MongoWrite& write,
                                               const MongoConnection& connection) {
  if (connection.get() == nullptr) {
    MongoWriteAnswer answer;
    answer.kind = MongoWriteAnswer::Kind::refused;
    answer.error = no_connection();
    return answer;
  }
  const CollectionHandle collection = connection.collection(target_.database, write.collection);
  mongoc_collection_set_write_concern(collection.get(), target_.write_concern.get());
  const ChangeOptionsHandle options = change_options(write);
  static_cast<void>(through_mongos(connection));
  const AttemptScope scope;
  MongoReply reply;
  bson_error_t error = {};
  const bool ok = mongoc_collection_find_and_modify_with_opts(
      collection.get(), write.filter.get(), options.get(), reply.uninitialised(), &error);
  const CommandAttempts& attempts = scope.attempts();
  const bool is_through_mongos = through_mongos(connection);
  const bool nothing_applied = !ok && attempts.nothing_applied(is_through_mongos);
  MongoWriteAnswer answer =
      answer_of(ok, reply.get(), error, write.collection, nothing_applied, attempts.started == 1);
  answer.is_open = attempts.has_open_attempt(is_through_mongos);
  return answer;
}

bool MongoClients::through_mongos(const MongoConnection& connection) {
  std::size_t count = 0;
  mongoc_server_description_t** const servers =
      mongoc_client_get_server_descriptions(connection.get(), &count);
  Mongos seen = Mongos::unknown;
  for (std::size_t at = 0; at < count; ++at) {
    const std::string_view type = mongoc_server_description_type(servers[at]);
    if (type == "Mongos" || type == "LoadBalancer") seen = Mongos::yes;
    if (seen == Mongos::unknown && type != "Unknown") seen = Mongos::no;
  }
  mongoc_server_descriptions_destroy_all(servers, count);
  if (seen != Mongos::unknown) mongos_ = seen;
  return mongos_ != Mongos::no;
}

Status MongoClients::was_lost(const std::string& collection) const {
  return {ErrorCode::UNAVAILABLE,
          fmt::format("{}: the connection was lost just now", where(collection))};
}

Result<MongoServerFacts> MongoClients::server(const std::string& collection) {
  const MongoConnection connection(pool());
  if (connection.get() == nullptr) return no_connection();
  bson_error_t error = {};
  const ServerHandle server(mongoc_client_select_server(connection.get(), true, nullptr, &error));
  if (!server) return status_of(error, collection);
  MongoServerFacts facts;
  const auto kind = kind_of_server(mongoc_server_description_type(server.get()));
  if (!kind) return was_lost(collection);
  facts.kind = *kind;
  bson_iter_t found;
  if (bson_iter_init_find(&found, mongoc_server_description_hello_response(server.get()),
                          "maxWireVersion") &&
      BSON_ITER_HOLDS_INT(&found)) {
    facts.wire_version = bson_iter_as_int64(&found);
  }
  return facts;
}

Status MongoClients::run(const Document& command, const std::string& collection,
                         std::uint32_t accepted_code) {
  const MongoConnection connection(pool());
  if (connection.get() == nullptr) return no_connection();
  MongoReply reply;
  bson_error_t error = {};
  if (mongoc_client_command_simple(connection.get(), target_.database.c_str(), command.get(),
                                   nullptr, reply.uninitialised(), &error)) {
    return {};
  }
  if (error.domain == MONGOC_ERROR_SERVER && error.code == accepted_code) return {};
  return status_of(error, collection, reply.get());
}

Result<std::optional<Document>> MongoClients::read(const std::string& collection,
                                                   const Document& filter) {
  const MongoConnection connection(pool());
  if (connection.get() == nullptr) return no_connection();
  bson_error_t error = {};
  const ServerHandle server(mongoc_client_select_server(connection.get(), true, nullptr, &error));
  if (!server) return status_of(error, collection);
  const auto kind = kind_of_server(mongoc_server_description_type(server.get()));
  if (!kind) return was_lost(collection);
  const bool alone = *kind == MongoServerFacts::Kind::alone;
  const CollectionHandle handle = connection.collection(target_.database, collection);
  const Document options =
      std::move(Document()
                    .add("limit", std::int64_t{1})
                    .add("singleBatch", true)
                    .add("maxTimeMS", static_cast<std::int64_t>(target_.timeout_ms))
                    .add("readConcern", Document().add("level", alone ? "local" : "linearizable")));
  const ReadPreferenceHandle primary(mongoc_read_prefs_new(MONGOC_READ_PRIMARY));
  const CursorHandle cursor(
      mongoc_collection_find_with_opts(handle.get(), filter.get(), options.get(), primary.get()));
  return first_of(cursor, collection);
}

Result<std::optional<Document>> MongoClients::aggregate(const std::string& collection,
                                                        const Document& pipeline) {
  const MongoConnection connection(pool());
  if (connection.get() == nullptr) return no_connection();
  const CollectionHandle handle = connection.collection(target_.database, collection);
  const Document stages = std::move(Document().add_array("pipeline", pipeline));
  const ReadPreferenceHandle primary(mongoc_read_prefs_new(MONGOC_READ_PRIMARY));
  const auto cursor_of = [&](const char* level) {
    const Document options =
        std::move(Document()
                      .add("maxTimeMS", static_cast<std::int64_t>(target_.timeout_ms))
                      .add("readConcern", Document().add("level", level)));
    return CursorHandle(mongoc_collection_aggregate(handle.get(), MONGOC_QUERY_NONE, stages.get(),
                                                    options.get(), primary.get()));
  };
  std::uint32_t code = 0;
  auto found = first_of(cursor_of("majority"), collection, &code);
  // Servers up to 4.4 can be configured so; linearizable they read all the same.
  if (code == kNoMajorityReads) return first_of(cursor_of("linearizable"), collection);
  return found;
}

Result<std::optional<Document>> MongoClients::first_of(const CursorHandle& cursor,
                                                       const std::string& collection,
                                                       std::uint32_t* server_code) const {
  const bson_t* found = nullptr;
  if (mongoc_cursor_next(cursor.get(), &found)) return std::optional<Document>(Document(found));
  bson_error_t error = {};
  const bson_t* reply = nullptr;
  if (mongoc_cursor_error_document(cursor.get(), &error, &reply)) {
    if (server_code != nullptr && error.domain == MONGOC_ERROR_SERVER) *server_code = error.code;
    return status_of(error, collection, reply);
  }
  return std::optional<Document>();
}

Result<bool> MongoClients::has_unique_index(const std::string& collection,
                                            const std::string& field) {
  const MongoConnection connection(pool());
  if (connection.get() == nullptr) return no_connection();
  const CollectionHandle handle = connection.collection(target_.database, collection);
  const CursorHandle cursor(mongoc_collection_find_indexes_with_opts(handle.get(), nullptr));
  const bson_t* index = nullptr;
  std::set<std::string> found;
  while (mongoc_cursor_next(cursor.get(), &index)) {
    const auto key = document_in(index, "key");
    bson_iter_t iterator;
    const bool unique =
        bson_iter_init_find(&iterator, index, "unique") && bson_iter_as_bool(&iterator);
    const bool partial = bson_iter_init_find(&iterator, index, "partialFilterExpression");
    if (key && unique && !partial && is_only_key(*key, field) &&
        bson_iter_init_find(&iterator, index, "name") && BSON_ITER_HOLDS_UTF8(&iterator))
      found.insert(bson_iter_utf8(&iterator, nullptr));
  }
  bson_error_t error = {};
  const bson_t* reply = nullptr;
  if (mongoc_cursor_error_document(cursor.get(), &error, &reply)) {
    if (error.domain == MONGOC_ERROR_SERVER && error.code == 26)
      return false;  // no such collection
    return status_of(error, collection, reply);
  }
  if (found.empty()) return false;
  if (Status status = leave_built(connection, collection, found); !status.ok()) return status;
  return !found.empty();
}

// Duplicates are let in until the build of an index ends. Where it cannot be known whether it has,
// the index is not taken for a unique one.
Status MongoClients::leave_built(const MongoConnection& connection, const std::string& collection,
                                 std::set<std::string>& indexes) const {
  const Document command = std::move(Document().add("collStats", collection));
  MongoReply reply;
  bson_error_t error = {};
  if (!mongoc_client_command_simple(connection.get(), target_.database.c_str(), command.get(),
                                    nullptr, reply.uninitialised(), &error)) {
    // A server that is another one, without builds that can be seen.
    if (error.domain == MONGOC_ERROR_SERVER && error.code == kNoSuchCommand) return {};
    return status_of(error, collection, reply.get());
  }
  std::set<std::string> building;
  add_builds(reply.get(), building);
  // A mongos has them with each shard.
  bson_iter_t shard;
  if (const auto shards = document_in(reply.get(), "shards");
      shards && bson_iter_init(&shard, shards->get())) {
    while (bson_iter_next(&shard)) {
      if (const auto one = document_in(shards->get(), bson_iter_key(&shard)))
        add_builds(one->get(), building);
    }
  }
  const auto sizes = document_in(reply.get(), "indexSizes");
  std::string first;
  std::erase_if(indexes, [&](const std::string& index) {
    // Its build has failed since it was listed.
    bson_iter_t size;
    if (sizes && !bson_iter_init_find(&size, sizes->get(), index.c_str())) return true;
    if (!building.contains(index)) return false;
    first = index;
    return true;
  });
  if (first.empty() || !indexes.empty()) return {};
  return {ErrorCode::UNAVAILABLE,
          fmt::format("{}: the unique index {} is being built; the request is repeated",
                      where(collection), first)};
}

}  // namespace seqd
