#include "daemon/store/mongo/register/mongo_register_reads.h"

namespace seqd {
namespace {

constexpr std::uint32_t kNoMajorityReads = 148;  // enableMajorityReadConcern: false, up to 4.4

Document reading(const MongoClients& clients, const char* level) {
  return std::move(Document()
                       .add("maxTimeMS", static_cast<std::int64_t>(clients.target().timeout_ms))
                       .add("readConcern", Document().add("level", level)));
}

Result<std::vector<Document>> all_of(const MongoClients& clients, const CursorHandle& cursor,
                                     const std::string& collection, std::uint32_t* code) {
  std::vector<Document> documents;
  const bson_t* found = nullptr;
  while (mongoc_cursor_next(cursor.get(), &found)) documents.emplace_back(found);
  bson_error_t error = {};
  const bson_t* reply = nullptr;
  if (!mongoc_cursor_error_document(cursor.get(), &error, &reply)) return documents;
  if (error.domain == MONGOC_ERROR_SERVER) *code = error.code;
  return clients.status_of(error, collection, reply);
}

// Changes nothing, and ends when everything before it is in the journal. On the connection of the
// read: it does not outlive a server that has lost what was read.
Status wait_for_journal(MongoClients& clients, const std::string& collection,
                        const MongoConnection& connection) {
  MongoWrite nothing;
  nothing.collection = collection;
  nothing.filter.add("_id", "none");
  nothing.remove = true;
  const MongoWriteAnswer answer = clients.find_and_modify(nothing, connection);
  return answer.kind == MongoWriteAnswer::Kind::done ? Status() : answer.error;
}

}  // namespace

Result<std::vector<Document>> read_of_majority(MongoClients& clients, const std::string& collection,
                                               const Document& pipeline) {
  const MongoConnection connection(clients.pool());
  if (connection.get() == nullptr) return clients.no_connection();
  const CollectionHandle handle = connection.collection(clients.target().database, collection);
  const Document stages = std::move(Document().add_array("pipeline", pipeline));
  const ReadPreferenceHandle primary(mongoc_read_prefs_new(MONGOC_READ_PRIMARY));
  const auto read_at = [&](const char* level, std::uint32_t* code) {
    const CursorHandle cursor(
        mongoc_collection_aggregate(handle.get(), MONGOC_QUERY_NONE, stages.get(),
                                    reading(clients, level).get(), primary.get()));
    return all_of(clients, cursor, collection, code);
  };
  std::uint32_t code = 0;
  auto found = read_at("majority", &code);
  return code == kNoMajorityReads ? read_at("linearizable", &code) : std::move(found);
}

Result<std::vector<Document>> read_newest(MongoClients& clients, const std::string& collection,
                                          const Document& filter) {
  const auto server = clients.server(collection);
  if (!server.ok()) return server.status();
  const bool alone = server->kind == MongoServerFacts::Kind::alone;
  const MongoConnection connection(clients.pool());
  if (connection.get() == nullptr) return clients.no_connection();
  const CollectionHandle handle = connection.collection(clients.target().database, collection);
  const ReadPreferenceHandle primary(mongoc_read_prefs_new(MONGOC_READ_PRIMARY));
  const Document options = reading(clients, alone ? "local" : "linearizable");
  const CursorHandle cursor(
      mongoc_collection_find_with_opts(handle.get(), filter.get(), options.get(), primary.get()));
  std::uint32_t code = 0;
  auto found = all_of(clients, cursor, collection, &code);
  if (!alone || !found.ok() || found->empty()) return found;
  Status status = wait_for_journal(clients, collection, connection);
  return status.ok() ? std::move(found) : status;
}

}  // namespace seqd
