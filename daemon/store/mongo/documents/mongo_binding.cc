#include "daemon/store/mongo/documents/mongo_binding.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "daemon/store/mongo/driver/mongo_sharding.h"

namespace seqd {
namespace {

Status bad_name(const char* what, const std::string& name, const char* rule) {
  return {ErrorCode::CONFIG, fmt::format("MongoDB: {} \"{}\": {}", what, name, rule)};
}

Status check_text(const char* what, const std::string& text) {
  if (text.empty()) return bad_name(what, text, "must not be empty");
  if (text.size() > 1024)
    return bad_name(what, text.substr(0, 40) + "...", "must have at most 1,024 bytes");
  if (!bson_utf8_validate(text.data(), text.size(), false)) {
    return {ErrorCode::CONFIG, fmt::format("MongoDB: {} must be UTF-8 without a zero byte", what)};
  }
  return {};
}

Status check_field(const char* what, const std::string& name) {
  if (Status status = check_text(what, name); !status.ok()) return status;
  std::size_t begin = 0;
  while (begin <= name.size()) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    if (end == begin || name[begin] == '$') {
      return bad_name(what, name, "no part between dots may be empty or begin with $");
    }
    begin = end + 1;
  }
  return {};
}

Document integers() {
  return std::move(Document().add("0", "int").add("1", "long"));
}

Document of_type(const Document& types) {
  return std::move(Document().add_array("$type", types));
}

}  // namespace

std::string place_of(const MongoClients& clients, const CounterBinding& binding) {
  const char* const quote = binding.key_type == KeyType::text ? "\"" : "";
  return fmt::format("{}, document {{{}: {}{}{}}}", clients.where(binding.collection),
                     binding.key_field, quote, binding.key, quote);
}

Document key_filter(const CounterBinding& binding) {
  if (binding.key_type == KeyType::text)
    return std::move(Document().add(binding.key_field, binding.key));
  const std::int64_t key = integer_key(binding).value_or(0);
  return std::move(Document().add_shortest(binding.key_field, key));
}

std::optional<std::int64_t> integer_key(const CounterBinding& binding) {
  std::int64_t key = 0;
  const char* const end = binding.key.data() + binding.key.size();
  const auto [at, error] = std::from_chars(binding.key.data(), end, key);
  return error == std::errc() && at == end ? std::optional(key) : std::nullopt;
}

namespace {

Status create_key_index(MongoClients& clients, const CounterBinding& binding) {
  Document index;
  index.add("key", Document().add_shortest(binding.key_field, 1))
      .add("name", binding.key_field + "_1")
      .add("unique", true);
  Document command;
  command.add("createIndexes", binding.collection).add_array("indexes", Document().add("0", index));
  const Status status = clients.run(command, binding.collection, 0);
  if (status.ok()) return {};
  return {status.code(), fmt::format("{}: the unique index on {} cannot be created: {}",
                                     place_of(clients, binding), binding.key_field, status.text())};
}

}  // namespace

Status check_unique_key(MongoClients& clients, const CounterBinding& binding) {
  Status sharded = check_shard_key(clients, binding.collection, binding.key_field);
  if (!sharded.ok() || binding.key_field == "_id") return sharded;
  auto unique = clients.has_unique_index(binding.collection, binding.key_field);
  if (!unique.ok()) return unique.status();
  if (*unique) return {};
  if (binding.create_index) return create_key_index(clients, binding);
  return {ErrorCode::STORE_REFUSED,
          fmt::format("{}: there is no unique index on {}, so there could be two counters of one "
                      "name; create it (create_index = true lets seqd do it): "
                      "db.getCollection(\"{}\").createIndex({{\"{}\": 1}}, {{unique: true}})",
                      place_of(clients, binding), binding.key_field, binding.collection,
                      binding.key_field)};
}

bool is_register_mark(const Document& document, const CounterBinding& binding) {
  bson_iter_t found;
  return find_field(document.get(), binding.counter_field, &found) &&
         BSON_ITER_HOLDS_UTF8(&found) &&
         std::string_view(bson_iter_utf8(&found, nullptr)) == kMongoRegisterMark;
}

Meaning mark_of(const Document& document, const CounterBinding& binding) {
  bson_iter_t found;
  const bool other =
      find_field(document.get(), "seqd.field", &found) &&
      !(BSON_ITER_HOLDS_UTF8(&found) && binding.counter_field == bson_iter_utf8(&found, nullptr));
  return other ? Meaning::unset : read_meaning_mark(document.get());
}

void require_meaning(Document& filter, const CounterBinding& binding, Meaning meaning,
                     bool or_unmarked) {
  // null: also where there is no such field
  const auto null_or = [](const char* text) {
    return std::move(
        Document().add_array("$in", Document().add_null("0").add("1", std::string(text))));
  };
  const Document ours = null_or(binding.counter_field.c_str());
  if (!or_unmarked) {
    filter.add("seqd.meaning", meaning_word(meaning)).add("seqd.field", ours);
    return;
  }
  const Document marked_so =
      std::move(Document().add("seqd.meaning", null_or(meaning_word(meaning))));
  const Document of_another = std::move(Document().add("seqd.field", Document().add("$not", ours)));
  filter.add_array("$or", Document().add("0", marked_so).add("1", of_another));
}

std::string mongo_floor_of(const CounterBinding& binding) {
  return "seqd.floors." + binding.counter_field;
}

Document number_equal(std::int64_t value) {
  return std::move(of_type(integers().add("2", "double")).add("$eq", value));
}

Document number_at_least(std::int64_t value) {
  return std::move(of_type(integers().add("2", "double")).add("$gte", value));
}

Document integer_at_least(std::int64_t value) {
  return std::move(of_type(integers()).add("$gte", value));
}

Document floor_at_most(std::int64_t id) {
  return std::move(Document().add("$not", Document().add("$gt", id)));
}

namespace {

MongoWrite added(const CounterBinding& binding, std::int64_t count) {
  MongoWrite write;
  write.collection = binding.collection;
  write.filter = key_filter(binding);
  write.update.add("$inc", Document().add(binding.counter_field, count));
  write.returned_field = binding.counter_field;
  return write;
}

}  // namespace

MongoWrite counter_touch(const CounterBinding& binding) {
  return added(binding, -1);
}

MongoWrite counter_restored(const CounterBinding& binding) {
  return added(binding, 1);
}

Document whole_number(const std::string& field) {
  constexpr double kExactDoubles = 9007199254740992.0;  // 2^53
  const std::string number = "$" + field;
  const Document type = std::move(Document().add("$type", number));
  const auto compared = [&number](const char* how, double bound) {
    return std::move(Document().add_array(how, Document().add("0", number).add_double("1", bound)));
  };
  Document of_double;
  of_double
      .add("0", Document().add_array(
                    "$eq", Document().add("0", number).add("1", Document().add("$trunc", number))))
      .add("1", compared("$gte", -kExactDoubles))  // NaN is below everything here
      .add("2", compared("$lte", kExactDoubles));
  return std::move(Document().add_array(
      "$cond",
      Document()
          .add("0", Document().add_array("$eq", Document().add("0", type).add("1", "double")))
          .add("1", Document().add_array("$and", of_double))
          .add("2",
               Document().add_array("$in", Document().add("0", type).add_array("1", integers())))));
}

Document number_plus(const std::string& field, std::int64_t more) {
  const Document number = std::move(Document().add("$toLong", "$" + field));
  return std::move(Document().add_array("$add", Document().add("0", number).add("1", more)));
}

MongoWrite creation(const CounterBinding& binding, std::int64_t next_id) {
  const Meaning meaning = meaning_of_new(binding);
  MongoWrite write;
  write.collection = binding.collection;
  write.filter = key_filter(binding);
  write.update.add("$setOnInsert", Document()
                                       .add(binding.counter_field, value_of(next_id - 1, meaning))
                                       .add("seqd", Document()
                                                        .add("meaning", meaning_word(meaning))
                                                        .add("field", binding.counter_field)));
  write.upsert = true;
  return write;
}

Result<MongoCounterState> state_of(const Document& document, const CounterBinding& binding,
                                   const std::string& where) {
  if (is_register_mark(document, binding)) {
    return Status(ErrorCode::WRONG_MODE,
                  fmt::format("{} belongs to a register, whose numbers have keys: lease from a "
                              "counter of another name (sequence.key)",
                              where));
  }
  auto agreed = agreed_meaning(binding.meaning, mark_of(document, binding), where);
  if (!agreed.ok()) return agreed.status();
  CounterNumber number = read_counter_number(document.get(), binding.counter_field);
  const std::int64_t lowest = lowest_value(*agreed);
  if (number.kind == CounterNumber::Kind::other || number.value < lowest) {
    return Status(
        ErrorCode::SEQ_TYPE,
        fmt::format("{}: field {} holds {}; an integer of at least {} is needed. Correct "
                    "it, for example: {{$set: {{\"{}\": NumberLong(...)}}}}",
                    where, binding.counter_field, number.found, lowest, binding.counter_field));
  }
  bson_iter_t kept;
  const std::string floor_field = mongo_floor_of(binding);
  if (!find_field(document.get(), floor_field, &kept))
    return MongoCounterState{*agreed, std::move(number)};
  const CounterNumber found = read_counter_number(document.get(), floor_field);
  const auto floor = floor_of(
      found.kind == CounterNumber::Kind::other ? std::nullopt : std::optional(found.value), where);
  if (!floor.ok()) return floor.status();
  return MongoCounterState{*agreed, std::move(number), *floor};
}

Status check_mongo_binding(const CounterBinding& binding) {
  if (Status status = check_text("collection", binding.collection); !status.ok()) return status;
  if (binding.collection.find('$') != std::string::npos ||
      binding.collection.starts_with("system.") || binding.collection.front() == '.' ||
      binding.collection.back() == '.' || binding.collection.size() > 190) {
    return bad_name(
        "collection", binding.collection,
        "no $, no dot at either end, no name beginning with \"system.\", at most 190 bytes");
  }
  if (Status status = check_field("key_field", binding.key_field); !status.ok()) return status;
  if (Status status = check_field("counter_field", binding.counter_field); !status.ok())
    return status;
  if (Status status = check_text("key", binding.key); !status.ok()) return status;
  if (binding.key_type == KeyType::integer && !integer_key(binding))
    return bad_name("key", binding.key, "must be an integer with key_type = \"integer\"");
  const std::string& counter = binding.counter_field;
  if (counter == binding.key_field || counter == "_id" || counter.starts_with("_id.")) {
    return bad_name("counter_field", counter,
                    "must be a field of its own, neither _id nor the key's");
  }
  for (const std::string& field : {counter, binding.key_field}) {
    if (field == "seqd" || field.starts_with("seqd.")) {
      return bad_name("field", field, "the field \"seqd\" holds seqd's own mark; use another");
    }
  }
  return {};
}

std::optional<LeasedSpan> span_added(const CounterNumber& number, Meaning meaning,
                                     std::int64_t count) {
  if (number.kind != CounterNumber::Kind::integer || number.value < count) return std::nullopt;
  const std::int64_t last = last_issued_of(number.value, meaning);
  if (last == INT64_MAX) return std::nullopt;
  return LeasedSpan{last + 1 - count, last + 1};
}

Result<CounterReading> read_mongo_counter(MongoClients& clients, const CounterBinding& binding) {
  auto read = clients.read(binding.collection, key_filter(binding));
  if (!read.ok()) return read.status();
  CounterReading reading;
  if (!read->has_value()) return reading;
  auto state = state_of(**read, binding, place_of(clients, binding));
  if (!state.ok()) return state.status();
  reading.exists = true;
  reading.meaning = state->meaning;
  reading.next_id = next_id_of(state->number.value, state->meaning);
  reading.floor = state->floor;
  return reading;
}

}  // namespace seqd
