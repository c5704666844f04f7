#include "daemon/store/mongo/driver/mongo_sharding.h"

#include <fmt/format.h>

namespace seqd {
namespace {

constexpr std::uint32_t kUnauthorized = 13;

// Collections of mongos before 5.0 stay in the list when they are dropped.
bool is_dropped(const bson_t* entry) {
  bson_iter_t found;
  return bson_iter_init_find(&found, entry, "dropped") && bson_iter_as_bool(&found);
}

bool is_sharded_by_id(const bson_t* entry) {
  const auto key = document_in(entry, "key");
  return key && bson_count_keys(key->get()) == 1 && bson_has_field(key->get(), "_id");
}

Status judge(const MongoClients& clients, const std::string& collection, const bson_t* entry) {
  if (is_dropped(entry) || is_sharded_by_id(entry)) return {};
  const auto key = document_in(entry, "key");
  char* text = key ? bson_as_relaxed_extended_json(key->get(), nullptr) : nullptr;
  const Status refused(
      ErrorCode::STORE_REFUSED,
      fmt::format("{}: the collection is sharded by {}, so each shard may hold the same _id once; "
                  "shard it by _id alone, or keep it on one shard",
                  clients.where(collection), text == nullptr ? "an unknown key" : text));
  bson_free(text);
  return refused;
}

}  // namespace

Status check_unique_id(MongoClients& clients, const std::string& collection) {
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
  if (mongoc_cursor_next(cursor.get(), &entry)) return judge(clients, collection, entry);
  bson_error_t error = {};
  if (!mongoc_cursor_error(cursor.get(), &error)) return {};  // not sharded
  if (error.domain != MONGOC_ERROR_SERVER || error.code != kUnauthorized)
    return clients.status_of(error, collection);
  return {ErrorCode::STORE_REFUSED,
          fmt::format("{}: whether it is sharded by another key than _id cannot be read: allow the "
                      "user to find in config.collections ({})",
                      clients.where(collection), clients.readable(error))};
}

}  // namespace seqd
