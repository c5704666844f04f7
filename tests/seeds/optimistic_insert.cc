#include <utility>

#include "tests/seeds/old_code.h"

namespace seqd::seeds {
namespace {

constexpr char kNumber[] = "n";

}  // namespace

OptimisticInsert::OptimisticInsert(const Database& database, const std::string& name,
                                   std::string label, IssueLog& log)
    : log_(log),
      label_(std::move(label)),
      documents_(
          mongoc_client_get_collection(database.client, database.name.c_str(), name.c_str())) {}

std::int64_t OptimisticInsert::highest() {
  bson_t* options = BCON_NEW("sort", "{", "_id", BCON_INT32(-1), "}", "limit", BCON_INT64(1));
  bson_t all = BSON_INITIALIZER;
  mongoc_cursor_t* cursor =
      mongoc_collection_find_with_opts(documents_.get(), &all, options, nullptr);
  const bson_t* found = nullptr;
  bson_iter_t id;
  std::int64_t number = 0;
  if (mongoc_cursor_next(cursor, &found) && bson_iter_init_find(&id, found, "_id"))
    number = bson_iter_as_int64(&id);
  bson_error_t error;
  if (mongoc_cursor_error(cursor, &error))
    give_up(std::string("the highest _id cannot be read: ") + error.message);
  mongoc_cursor_destroy(cursor);
  bson_destroy(options);
  return number;
}

// The loop of the old code: whoever was faster has the number, so it looks again.
std::optional<std::int64_t> OptimisticInsert::next() {
  const std::lock_guard lock(mutex_);
  ++number_;
  while (true) {
    const std::int64_t id = highest() + 1;
    bson_t document = BSON_INITIALIZER;
    append_number(&document, "_id", id, Written::int32);
    bson_append_utf8(&document, "by", -1, label_.c_str(), -1);
    append_number(&document, kNumber, number_, Written::int32);
    log_.ask();
    bson_error_t error;
    const bool done =
        mongoc_collection_insert_one(documents_.get(), &document, nullptr, nullptr, &error);
    bson_destroy(&document);
    if (done) {
      log_.block(id, id + 1);
      log_.id(id);
      return id;
    }
    log_.failed();
    if (error.code != kDuplicateKey)
      give_up(std::string("a document cannot be inserted: ") + error.message);
  }
}

}  // namespace seqd::seeds
