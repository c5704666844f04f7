#include "daemon/store/mongo/driver/mongo_sharding.h"

#include <fmt/format.h>

namespace seqd {
namespace {

constexpr std::uint32_t kUnauthorized = 13;
constexpr std::uint32_t kNamespaceNotFound = 26;  // nothing there yet, and so nothing sharded

bool is_set(const bson_t* document, const char* name) {
  bson_iter_t found;
  return bson_iter_init_find(&found, document, name) && bson_iter_as_bool(&found);
}

bool is_sharded_by(const bson_t* entry, const std::string& field) {
  const auto key = document_in(entry, "key");
  return key && bson_count_keys(key->get()) == 1 && bson_has_field(key->get(), field.c_str());
}

Status judge(const MongoClients& clients, const std::string& collection, const std::string& field,
             const bson_t* entry) {
  // Collections of mongos before 5.0 stay in the list when they are dropped. One that cannot be
  // split is on one shard, with any key.
  if (is_set(entry, "dropped") || is_set(entry, "unsplittable") || is_sharded_by(entry, field))
    return {};
  const auto key = document_in(entry, "key");
  char* text = key ? bson_as_relaxed_extended_json(key->get(), nullptr) : nullptr;
  const Status refused(
      ErrorCode::STORE_REFUSED,
      fmt::format("{}: the collection is sharded by {}, so each shard may hold the same {} once; "
                  "shard it by {} alone, or keep it on one shard",
                  clients.where(collection), text == nullptr ? "an unknown key" : text, field,
                  field));
  bson_free(text);
  return refused;
}

// For a user that may not read the cluster's list: whether the collection is sharded at all.
bool is_known_unsharded(const MongoConnection& connection, const MongoClients& clients,
                        const std::string& collection) {
  const Document command = std::move(Document().add("collStats", collection));
  MongoReply reply;
  bson_error_t error = {};
  if (!mongoc_client_command_simple(connection.get(), clients.target().database.c_str(),
                                    command.get(), nullptr, reply.uninitialised(), &error))
    return error.domain == MONGOC_ERROR_SERVER && error.code == kNamespaceNotFound;
  bson_iter_t found;
  return bson_iter_init_find(&found, reply.get(), "sharded") && !bson_iter_as_bool(&found);
}

}  // namespace

Status check_shard_key(MongoClients& clients, const std::string& collection,
                       const std::string& field) {
  const Result<MongoServerFacts> server = clients.server(collection);
  if (!server.ok()) return server.status();
  if (server->kind != MongoServerFacts::Kind::sharded) return {};
  const MongoConnection connection(clients.pool());
  if (connection.get() == nullptr) return clients.no_connection();
  const CollectionHandle list = connection.collection("config", "collections");
  const Document name =
      std::move(Document().add("_id", clients.target().database + "." + collection));
  const Document options =
      std::move(Document()
                    .add("limit", std::int64_t{1})
                    .add("singleBatch", true)
                    .add("maxTimeMS", static_cast<std::int64_t>(clients.target().timeout_ms))
                    .add("readConcern", Document().add("level", "majority")));
  const ReadPreferenceHandle primary(mongoc_read_prefs_new(MONGOC_READ_PRIMARY));
  const CursorHandle cursor(
      mongoc_collection_find_with_opts(list.get(), name.get(), options.get(), primary.get()));
  const bson_t* entry = nullptr;
  if (mongoc_cursor_next(cursor.get(), &entry)) return judge(clients, collection, field, entry);
  bson_error_t error = {};
  const bson_t* reply = nullptr;
  if (!mongoc_cursor_error_document(cursor.get(), &error, &reply)) return {};  // not sharded
  if (error.domain != MONGOC_ERROR_SERVER || error.code != kUnauthorized)
    return clients.status_of(error, collection, reply);
  if (is_known_unsharded(connection, clients, collection)) return {};
  return {ErrorCode::STORE_REFUSED,
          fmt::format("{}: whether it is sharded by another key than {} cannot be read: allow the "
                      "user to find in config.collections ({})",
                      clients.where(collection), field, clients.readable(error))};
}

}  // namespace seqd
