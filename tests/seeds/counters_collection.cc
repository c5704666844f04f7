#include <utility>

#include "tests/seeds/old_code.h"

namespace seqd::seeds {

CountersCollection::CountersCollection(const Database& database, const std::string& name, Ways ways,
                                       IssueLog& log)
    : log_(log),
      ways_(std::move(ways)),
      counter_(database.client, database.name, {"counters", name, "seq"}, ways_.written),
      users_(mongoc_client_get_collection(database.client, database.name.c_str(),
                                          ways_.into.c_str())) {
  if (!ways_.upsert) counter_.make(0);
}

std::optional<std::int64_t> CountersCollection::next() {
  const std::lock_guard lock(mutex_);
  log_.ask();
  Moved moved = counter_.add(1, ways_.upsert, ways_.version_key);
  while (moved.kind == Moved::Kind::duplicate) {
    log_.failed();
    log_.ask();
    moved = counter_.add(1, ways_.upsert, ways_.version_key);
  }
  if (moved.kind == Moved::Kind::missing) give_up(moved.error);
  if (moved.kind == Moved::Kind::failed) {
    log_.failed();
    return std::nullopt;
  }
  const std::int64_t id = moved.number;
  log_.block(id, id + 1);
  bson_t document;
  bson_init(&document);
  append_number(&document, "_id", id, ways_.written);
  bson_error_t error;
  if (!mongoc_collection_insert_one(users_.get(), &document, nullptr, nullptr, &error))
    give_up("document " + std::to_string(id) + " cannot be inserted: " + error.message);
  bson_destroy(&document);
  log_.id(id);
  return id;
}

}  // namespace seqd::seeds
