// The part of mongo_insert.h about documents with a unique field: whether it is, and what is there.
#include <fmt/format.h>

#include "daemon/store/mongo/insert/mongo_insert.h"

namespace seqd {

Status MongoInsert::prepare_unique(const std::string& field, Pending& pending) {
  if (field.empty()) return {};
  bson_iter_t value;
  if (!bson_iter_init_find(&value, pending.body.get(), field.c_str()))
    return {ErrorCode::DOCUMENT_REFUSED,
            fmt::format("the document has no field \"{}\", which must be unique", field)};
  const bson_type_t type = bson_iter_type(&value);
  if (type != BSON_TYPE_UTF8 && type != BSON_TYPE_BINARY && type != BSON_TYPE_INT32 &&
      type != BSON_TYPE_INT64 && type != BSON_TYPE_DATE_TIME)
    return {ErrorCode::DOCUMENT_REFUSED, fmt::format("the field \"{}\", which must be unique, is "
                                                     "neither a text, bytes, an integer nor a date",
                                                     field)};
  const auto [known, fresh] = unique_fields_.try_emplace(field);
  if (fresh) {
    const Result<bool> unique = clients_.has_unique_index(batch_.collection, field);
    known->second = unique.status();
    if (unique.ok() && !*unique) {
      known->second = {
          ErrorCode::CONFIG,
          fmt::format("{}: there is no unique index on {}, so it cannot keep a "
                      "document from being inserted twice; create it: "
                      "db.{}.createIndex({{{}: 1}}, {{unique: true}})",
                      clients_.where(batch_.collection), field, batch_.collection, field)};
    }
  }
  if (!known->second.ok()) return known->second;
  ASSERT(bson_append_iter(pending.unique.get(), field.c_str(), -1, &value));
  return {};
}

bool MongoInsert::take_found() {
  const auto found = clients_.read(batch_.collection, pending_.front().unique);
  InsertOutcome& outcome = outcomes_[pending_.front().index];
  if (!found.ok()) {
    // It was not inserted now, and may have been before: the caller has to repeat it.
    outcome = {
        Kind::unknown, 0,
        Status(ErrorCode::OUTCOME_UNKNOWN,
               "a document with the same unique field exists, and its _id could not be read: " +
                   found.status().text())};
  } else if (!*found) {
    return false;
  } else {
    bson_iter_t id;
    const bool numbered = bson_iter_init_find(&id, (*found)->get(), "_id") &&
                          (BSON_ITER_HOLDS_INT32(&id) || BSON_ITER_HOLDS_INT64(&id));
    outcome = numbered ? InsertOutcome{Kind::inserted, bson_iter_as_int64(&id), {}}
                       : InsertOutcome{Kind::refused, 0,
                                       Status(ErrorCode::DOCUMENT_REFUSED,
                                              "a document with the same unique field exists, and "
                                              "its _id is not an integer")};
  }
  pending_.erase(pending_.begin());
  return true;
}

}  // namespace seqd
