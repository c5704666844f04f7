#include "tests/seeds/counter_document.h"

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "tests/seeds/issue_log.h"

namespace seqd::seeds {
namespace {

// Owned.
class Bson {
 public:
  Bson() : bson_(bson_new()) {}
  ~Bson() { bson_destroy(bson_); }
  Bson(const Bson&) = delete;
  Bson& operator=(const Bson&) = delete;
  bson_t* get() const { return bson_; }

 private:
  bson_t* const bson_;
};

struct DestroyOptions {
  void operator()(mongoc_find_and_modify_opts_t* object) const {
    mongoc_find_and_modify_opts_destroy(object);
  }
};

std::optional<std::int64_t> whole_number(const bson_t* reply, const std::string& field) {
  bson_iter_t value;
  bson_iter_t number;
  if (!bson_iter_init_find(&value, reply, "value") || !BSON_ITER_HOLDS_DOCUMENT(&value))
    return std::nullopt;
  if (!bson_iter_recurse(&value, &number) || !bson_iter_find(&number, field.c_str()))
    give_up("the document has no field " + field);
  if (BSON_ITER_HOLDS_INT32(&number) || BSON_ITER_HOLDS_INT64(&number))
    return bson_iter_as_int64(&number);
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (!BSON_ITER_HOLDS_DOUBLE(&number)) give_up(field + " is not a number");
  const double real = bson_iter_double(&number);
  if (std::trunc(real) != real || std::fabs(real) > kExact)
    give_up(field + " is " + std::to_string(real) + ", which is no whole number");
  return static_cast<std::int64_t>(real);
}

}  // namespace

void append_number(bson_t* document, const std::string& field, std::int64_t number,
                   Written written) {
  const bool small = number >= std::numeric_limits<std::int32_t>::min() &&
                     number <= std::numeric_limits<std::int32_t>::max();
  if (small && written == Written::int32) {
    bson_append_int32(document, field.c_str(), -1, static_cast<std::int32_t>(number));
  } else {
    bson_append_double(document, field.c_str(), -1, static_cast<double>(number));
  }
}

CounterDocument::CounterDocument(mongoc_client_t* client, const std::string& database,
                                 CounterPlace place, Written written)
    : place_(std::move(place)),
      written_(written),
      documents_(
          mongoc_client_get_collection(client, database.c_str(), place_.collection.c_str())) {}

void CounterDocument::make(std::int64_t number) {
  const Bson document;
  bson_append_utf8(document.get(), "_id", -1, place_.name.c_str(), -1);
  append_number(document.get(), place_.field, number, written_);
  bson_error_t error;
  if (!mongoc_collection_insert_one(documents_.get(), document.get(), nullptr, nullptr, &error) &&
      error.code != kDuplicateKey)
    give_up(std::string("the counter cannot be made: ") + error.message);
}

void make_unique(mongoc_client_t* client, const std::string& database,
                 const std::string& collection, const std::string& field) {
  const std::string json = R"({"createIndexes": ")" + collection + R"(", "indexes": [{"key": {")" +
                           field + R"(": 1}, "name": ")" + field + R"(_1", "unique": true}]})";
  bson_error_t error;
  bson_t* const command =
      bson_new_from_json(reinterpret_cast<const std::uint8_t*>(json.c_str()), -1, &error);
  if (!mongoc_client_write_command_with_opts(client, database.c_str(), command, nullptr, nullptr,
                                             &error))
    give_up(std::string("the index cannot be made: ") + error.message);
  bson_destroy(command);
}

void remove_below(mongoc_client_t* client, const std::string& database,
                  const std::string& collection, const std::string& field, std::int64_t number) {
  const Bson filter;
  const Bson below;
  append_number(below.get(), "$lt", number, Written::int32);
  bson_append_document(filter.get(), field.c_str(), -1, below.get());
  mongoc_collection_t* const documents =
      mongoc_client_get_collection(client, database.c_str(), collection.c_str());
  bson_error_t error;
  if (!mongoc_collection_delete_many(documents, filter.get(), nullptr, nullptr, &error))
    give_up(std::string("old documents cannot be removed: ") + error.message);
  mongoc_collection_destroy(documents);
}

Moved CounterDocument::add(std::int64_t amount, bool upsert, bool version_key) {
  const Bson query;
  if (place_.key_is_number) {
    append_number(query.get(), place_.key, std::stoll(place_.name), Written::int32);
  } else {
    bson_append_utf8(query.get(), place_.key.c_str(), -1, place_.name.c_str(), -1);
  }
  const Bson update;
  const Bson more;
  append_number(more.get(), place_.field, amount, written_);
  bson_append_document(update.get(), "$inc", -1, more.get());
  if (version_key) {
    const Bson made;
    bson_append_int32(made.get(), "__v", -1, 0);
    bson_append_document(update.get(), "$setOnInsert", -1, made.get());
  }
  const std::unique_ptr<mongoc_find_and_modify_opts_t, DestroyOptions> options(
      mongoc_find_and_modify_opts_new());
  int flags = MONGOC_FIND_AND_MODIFY_RETURN_NEW;
  if (upsert) flags |= MONGOC_FIND_AND_MODIFY_UPSERT;
  mongoc_find_and_modify_opts_set_update(options.get(), update.get());
  mongoc_find_and_modify_opts_set_flags(options.get(),
                                        static_cast<mongoc_find_and_modify_flags_t>(flags));
  bson_t reply;
  bson_error_t error;
  const bool done = mongoc_collection_find_and_modify_with_opts(documents_.get(), query.get(),
                                                                options.get(), &reply, &error);
  Moved moved;
  if (!done) {
    moved.kind = error.code == kDuplicateKey ? Moved::Kind::duplicate : Moved::Kind::failed;
    moved.error = error.message;
  } else if (const auto number = whole_number(&reply, place_.field)) {
    moved.kind = Moved::Kind::moved;
    moved.number = *number;
  } else {
    moved.kind = Moved::Kind::missing;
    moved.error = "there is no document " + place_.name + " in " + place_.collection;
  }
  bson_destroy(&reply);
  return moved;
}

}  // namespace seqd::seeds
