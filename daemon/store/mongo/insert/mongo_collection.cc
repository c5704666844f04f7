#include "daemon/store/mongo/insert/mongo_collection.h"

#include <fmt/format.h>

#include <string_view>

namespace seqd {

Status MongoCollections::check(MongoClients& clients, const std::string& collection, bool again) {
  if (!again) {
    const std::lock_guard lock(mutex_);
    if (known_.contains(collection)) return {};
  }
  const MongoConnection connection(clients.pool());
  if (connection.get() == nullptr) return clients.no_connection();
  // Asked so, no user needs a further right for it.
  const Document command = std::move(Document()
                                         .add("listCollections", std::int64_t{1})
                                         .add("filter", Document().add("name", collection))
                                         .add("nameOnly", true)
                                         .add("authorizedCollections", true));
  MongoReply reply;
  bson_error_t error = {};
  if (!mongoc_client_command_simple(connection.get(), clients.target().database.c_str(),
                                    command.get(), nullptr, reply.uninitialised(), &error))
    return clients.status_of(error, collection, reply.get());
  bson_iter_t type;
  if (!find_field(reply.get(), "cursor.firstBatch.0.type", &type) || !BSON_ITER_HOLDS_UTF8(&type))
    return {};
  const std::string_view found = bson_iter_utf8(&type, nullptr);
  if (found == "collection") {
    const std::lock_guard lock(mutex_);
    known_.insert(collection);
    return {};
  }
  return {ErrorCode::STORE_REFUSED,
          fmt::format("{}: it is a {}, which does not keep its _id unique; mode = \"insert\" needs "
                      "a collection",
                      clients.where(collection), found)};
}

}  // namespace seqd
