#include "daemon/store/mongo/register/mongo_register_setup.h"

#include <fmt/format.h>

#include <set>
#include <string>

#include "daemon/store/mongo/documents/mongo_binding.h"
#include "daemon/store/mongo/driver/mongo_sharding.h"
#include "daemon/store/mongo/register/mongo_register_format.h"

namespace seqd {
namespace {

constexpr std::uint32_t kNamespaceNotFound = 26;
constexpr char kByKey[] = "seqd_register_by_key";

Document key_of_index() {
  return std::move(Document().add_shortest("counter", 1).add_shortest("key", 1));
}

Document with_a_key() {
  return std::move(Document().add("key", Document().add("$exists", true)));
}

bool has_same(const bson_t* index, const char* field, const Document& wanted) {
  const auto found = document_in(index, field);
  return found && bson_equal(found->get(), wanted.get());
}

// Numbers of an index key may be of any type; they say the order.
bool is_key_of(const bson_t* index, std::initializer_list<const char*> fields) {
  const auto key = document_in(index, "key");
  bson_iter_t each;
  if (!key || !bson_iter_init(&each, key->get())) return false;
  for (const char* field : fields) {
    if (!bson_iter_next(&each) || std::string_view(field) != bson_iter_key(&each) ||
        !BSON_ITER_HOLDS_NUMBER(&each))
      return false;
  }
  return !bson_iter_next(&each);
}

// Whether the server keeps the key of a register unique, and compares it to the byte.
Result<bool> has_indexes(MongoClients& clients) {
  const MongoConnection connection(clients.pool());
  if (connection.get() == nullptr) return clients.no_connection();
  const CollectionHandle handle = connection.collection(clients.target().database, kMongoRegister);
  const CursorHandle cursor(mongoc_collection_find_indexes_with_opts(handle.get(), nullptr));
  bool numbers_are_unique = false;
  std::set<std::string> by_key;
  const bson_t* index = nullptr;
  while (mongoc_cursor_next(cursor.get(), &index)) {
    bson_iter_t found;
    if (bson_has_field(index, "collation")) continue;  // not to the byte
    if (is_key_of(index, {"_id"})) numbers_are_unique = true;
    if (is_key_of(index, {"counter", "key"}) &&
        has_same(index, "partialFilterExpression", with_a_key()) &&
        bson_iter_init_find(&found, index, "unique") && bson_iter_as_bool(&found) &&
        bson_iter_init_find(&found, index, "name") && BSON_ITER_HOLDS_UTF8(&found))
      by_key.insert(bson_iter_utf8(&found, nullptr));
  }
  bson_error_t error = {};
  const bson_t* reply = nullptr;
  if (mongoc_cursor_error_document(cursor.get(), &error, &reply)) {
    if (error.domain == MONGOC_ERROR_SERVER && error.code == kNamespaceNotFound) return false;
    return clients.status_of(error, kMongoRegister, reply);
  }
  if (by_key.empty() || !numbers_are_unique) return false;
  if (Status status = clients.leave_built(connection, kMongoRegister, by_key); !status.ok())
    return status;
  return !by_key.empty();
}

Document simple_collation() {
  return std::move(Document().add("locale", "simple"));
}

// And one that finds what is free without a look at every number.
Status create_indexes(MongoClients& clients) {
  const Document by_key = std::move(Document()
                                        .add("key", key_of_index())
                                        .add("name", kByKey)
                                        .add("unique", true)
                                        .add("collation", simple_collation())
                                        .add("partialFilterExpression", with_a_key()));
  const Document free =
      std::move(Document()
                    .add("key", Document()
                                    .add_shortest("counter", 1)
                                    .add_shortest("_id.period", 1)
                                    .add_shortest("_id.number", 1))
                    .add("name", "seqd_register_free")
                    .add("collation", simple_collation())
                    .add("partialFilterExpression",
                         Document().add("state", number_state_word(NumberState::free))));
  Document command;
  command.add("createIndexes", kMongoRegister)
      .add_array("indexes", Document().add("0", by_key).add("1", free));
  clients.target().add_write_concern(command);
  return clients.run(command, kMongoRegister, 0);
}

std::string first_field_of(const CounterBinding& binding) {
  return "seqd.first." + binding.counter_field;
}

Status judge_mark(const Document& counter, const CounterBinding& binding,
                  const std::string& where) {
  if (!is_register_mark(counter, binding)) {
    return {ErrorCode::WRONG_MODE,
            fmt::format("{}: it is a counter of this store, from which IDs were leased: give the "
                        "register another name (sequence.key)",
                        where)};
  }
  const CounterNumber first = read_counter_number(counter.get(), first_field_of(binding));
  if (first.kind != CounterNumber::Kind::other && first.value == binding.first_id) return {};
  return {ErrorCode::CONFIG,
          fmt::format("{}: first_id is {}, and another host was about to begin the register with "
                      "{}: give every host the same first_id, or remove that document while the "
                      "register has no number",
                      where, binding.first_id, first.found)};
}

}  // namespace

Status check_register_indexes(MongoClients& clients) {
  if (Status status = check_shard_key(clients, kMongoRegister, "counter"); !status.ok())
    return status;
  auto found = has_indexes(clients);
  if (found.ok() && *found) return {};
  if (!found.ok() && found.status().code() != ErrorCode::UNAVAILABLE) return found.status();
  auto any = clients.read(kMongoRegister, Document());
  if (!any.ok()) return any.status();
  if (!any->has_value()) {
    if (Status status = create_indexes(clients); !status.ok()) {
      return {status.code(), "the indexes of the registers cannot be created: " + status.text()};
    }
  }
  // Also where there are documents now: the host that has added them made the index before.
  found = has_indexes(clients);
  if (!found.ok()) return found.status();
  if (*found) return {};
  return {ErrorCode::STORE_REFUSED,
          fmt::format("{0}: its unique index of keys is missing or another one, or it has a "
                      "collation, so a key could get two numbers; nothing is written before it is "
                      "there: db.{1}.createIndex({{counter: 1, key: 1}}, {{name: \"{2}\", unique: "
                      "true, partialFilterExpression: {{key: {{$exists: true}}}}}})",
                      clients.where(kMongoRegister), kMongoRegister, kByKey)};
}

Status claim_register_name(MongoClients& clients, const RegisterPlace& place) {
  CounterBinding binding = place.binding;
  binding.key = mongo_register_name(place);
  if (Status status = check_mongo_binding(binding); !status.ok()) return status;
  if (Status status = check_unique_key(clients, binding); !status.ok()) return status;
  const std::string where = place_of(clients, binding);
  MongoWrite write;
  write.collection = binding.collection;
  write.filter = key_filter(binding);
  write.filter.add(binding.counter_field, Document().add("$exists", false));
  write.update.add("$set", Document()
                               .add(binding.counter_field, kMongoRegisterMark)
                               .add(first_field_of(binding), binding.first_id));
  write.upsert = true;
  const MongoWriteAnswer answer = clients.find_and_modify(write);
  if (answer.kind == MongoWriteAnswer::Kind::done && answer.document)
    return judge_mark(*answer.document, binding, where);
  // It has that field.
  if (answer.server_code != kMongoDuplicateKey) return answer.error;
  const auto counter = clients.read(binding.collection, key_filter(binding));
  if (!counter.ok()) return counter.status();
  return *counter ? judge_mark(**counter, binding, where) : answer.error;
}

}  // namespace seqd
