#include "daemon/store/mongo_counter.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace seqd {
namespace {

constexpr int kMostAttempts = 20;  // steps of one lease; 1 or 3 are the rule
constexpr int kMostDuplicates = 5;

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

// Host, collection and document, for people.
std::string place_of(const MongoClients& clients, const CounterBinding& binding) {
  return fmt::format("{}, document {{{}: \"{}\"}}", clients.where(binding.collection),
                     binding.key_field, binding.key);
}

Document key_filter(const CounterBinding& binding) {
  return std::move(Document().add(binding.key_field, binding.key));
}

struct CounterState {
  Meaning meaning = Meaning::unset;
  CounterNumber number;  // integral, and not below the lowest legal one
};

// What a counter's document says; an error says what is wrong with it.
Result<CounterState> state_of(const Document& document, const CounterBinding& binding,
                              const std::string& where) {
  auto agreed = agreed_meaning(binding.meaning, read_meaning_mark(document.get()), where);
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
  return CounterState{*agreed, std::move(number)};
}

}  // namespace

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
  return reading;
}

MongoCounter::MongoCounter(MongoClients& clients, const LeaseRequest& request)
    : clients_(clients),
      request_(request),
      binding_(request.binding),
      where_(place_of(clients, request.binding)),
      deadline_(std::chrono::steady_clock::now() +
                2 * std::chrono::milliseconds(clients.target().timeout_ms)),
      meaning_(binding_.meaning == Meaning::unset ? Meaning::last : binding_.meaning),
      count_(std::min(request.count, highest_id(request))) {}

LeaseOutcome MongoCounter::lease(bool index_known) {
  if (!index_known) {
    if (Status status = check_index(); !status.ok()) return refused(std::move(status));
  }
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    if (attempt > 0 && std::chrono::steady_clock::now() > deadline_) break;
    if (Step ended = increment(); ended.has_value()) return std::move(*ended);
    if (Step ended = diagnose(); ended.has_value()) return std::move(*ended);
  }
  return refused(
      {ErrorCode::UNAVAILABLE,
       fmt::format("{}: others changed the counter at every attempt, or the server is slow",
                   where_)});
}

Status MongoCounter::check_index() {
  if (binding_.key_field == "_id") return {};
  auto unique = clients_.has_unique_index(binding_.collection, binding_.key_field);
  if (!unique.ok()) return unique.status();
  if (*unique) return {};
  return {ErrorCode::STORE_REFUSED,
          fmt::format("{}: there is no unique index on {}, so there could be two counters of one "
                      "name; create it: "
                      "db.getCollection(\"{}\").createIndex({{\"{}\": 1}}, {{unique: true}})",
                      where_, binding_.key_field, binding_.collection, binding_.key_field)};
}

// The lease itself. Nothing is returned when nothing matched: then the document says why.
MongoCounter::Step MongoCounter::increment() {
  const std::int64_t lowest = std::max(
      lowest_value(meaning_), request_.guard > 0 ? value_of(request_.guard - 1, meaning_) : 0);
  const std::int64_t highest = value_of(highest_id(request_) - count_, meaning_);
  MongoWrite write;
  write.collection = binding_.collection;
  write.filter = key_filter(binding_);
  write.filter.add(binding_.counter_field,
                   Document()
                       .add_array("$type", Document().add("0", "int").add("1", "long"))
                       .add("$gte", lowest)
                       .add("$lte", highest));
  if (binding_.meaning == Meaning::unset) {
    write.filter.add("seqd.meaning", meaning_word(meaning_));
  } else {  // null: also where there is no mark
    write.filter.add("seqd.meaning", Document().add_array("$in", Document().add_null("0").add(
                                                                     "1", meaning_word(meaning_))));
  }
  write.update.add("$inc", Document().add(binding_.counter_field, count_));
  write.returned_field = binding_.counter_field;
  MongoWriteAnswer answer = clients_.find_and_modify(write);
  switch (answer.kind) {
    case MongoWriteAnswer::Kind::unknown:
      return unknown_outcome(std::move(answer.error));
    case MongoWriteAnswer::Kind::refused:
      // An array of integers passes the filter and is refused by $inc: the document says it better.
      if (answer.server_code == kMongoTypeMismatch) return std::nullopt;
      return refused(std::move(answer.error));
    case MongoWriteAnswer::Kind::done:
      break;
  }
  if (!answer.document) return std::nullopt;
  return grant(*answer.document);
}

LeaseOutcome MongoCounter::grant(const Document& document) const {
  const CounterNumber number = read_counter_number(document.get(), binding_.counter_field);
  if (number.kind != CounterNumber::Kind::integer || number.value < count_) {
    return unknown_outcome(
        {ErrorCode::SEQ_TYPE,
         fmt::format("{}: after adding {} the server returned {}", where_, count_, number.found)});
  }
  const std::int64_t end = last_issued_of(number.value, meaning_) + 1;
  const LeasedSpan span{end - count_, end};
  if (span.begin < std::max<std::int64_t>(1, request_.guard) ||
      span.end - 1 > highest_id(request_)) {
    return unknown_outcome(
        {ErrorCode::SEQ_REGRESSED,
         fmt::format("{}: the server returned the range {} .. {}, which its own filter excludes",
                     where_, span.begin, span.end - 1)});
  }
  return granted(span);
}

// Why did nothing match? Ends the lease with the reason, or prepares the next attempt.
MongoCounter::Step MongoCounter::diagnose() {
  auto read = clients_.read(binding_.collection, key_filter(binding_));
  if (!read.ok()) return refused(read.status());
  if (!read->has_value()) return create();
  auto state = state_of(**read, binding_, where_);
  if (!state.ok()) return refused(state.status());
  meaning_ = state->meaning;
  const CounterNumber& number = state->number;
  auto span = span_after(last_issued_of(number.value, meaning_), request_, where_);
  if (!span.ok()) return refused(span.status());
  count_ = span->end - span->begin;
  if (number.kind == CounterNumber::Kind::integral_double)
    return convert(number.as_double, number.value);
  return std::nullopt;
}

MongoCounter::Step MongoCounter::create() {
  if (request_.guard > 0) return refused(missing_counter(request_, where_));
  if (!binding_.create) return refused(creation_not_allowed(where_));
  // The index may have been dropped since it was seen, and a second document is for ever.
  if (Status status = check_index(); !status.ok()) return refused(std::move(status));
  meaning_ = binding_.meaning == Meaning::unset ? Meaning::last : binding_.meaning;
  MongoWrite write;
  write.collection = binding_.collection;
  write.filter = key_filter(binding_);
  write.update.add("$setOnInsert",
                   Document()
                       .add(binding_.counter_field, value_of(binding_.first_id - 1, meaning_))
                       .add("seqd", Document().add("meaning", meaning_word(meaning_))));
  write.upsert = true;
  MongoWriteAnswer answer = clients_.find_and_modify(write);
  if (answer.kind == MongoWriteAnswer::Kind::done) return std::nullopt;
  if (is_our_duplicate(answer) && ++duplicates_ <= kMostDuplicates) return std::nullopt;
  // Unknown is as good as refused here: a counter may stand there now, but nothing was leased.
  return refused(std::move(answer.error));
}

// Whether somebody else inserted this very key at the same moment. Any other duplicate key (a
// unique index on a field we do not write) will not go away by trying again.
bool MongoCounter::is_our_duplicate(const MongoWriteAnswer& answer) const {
  if (answer.server_code != kMongoDuplicateKey) return false;
  bson_iter_t found;
  if (!bson_iter_init_find(&found, answer.reply.get(), "keyValue")) {
    // Servers before 4.4 tell only in words.
    return binding_.key_field == "_id" &&
           answer.error.text().find(" index: _id_ ") != std::string::npos;
  }
  bson_iter_t inner;
  if (!BSON_ITER_HOLDS_DOCUMENT(&found) || !bson_iter_recurse(&found, &inner) ||
      !bson_iter_next(&inner))
    return false;
  const bool same_field =
      binding_.key_field == bson_iter_key(&inner) && BSON_ITER_HOLDS_UTF8(&inner);
  return same_field && binding_.key == bson_iter_utf8(&inner, nullptr) && !bson_iter_next(&inner);
}

// Writes an integral double as int64, on condition that it is still exactly that double.
MongoCounter::Step MongoCounter::convert(double from, std::int64_t to) {
  MongoWrite write;
  write.collection = binding_.collection;
  write.filter = key_filter(binding_);
  write.filter.add(binding_.counter_field,
                   Document().add("$type", "double").add_double("$eq", from));
  write.update.add("$set", Document().add(binding_.counter_field, to));
  write.returned_field = binding_.counter_field;
  MongoWriteAnswer answer = clients_.find_and_modify(write);
  if (answer.kind == MongoWriteAnswer::Kind::done) return std::nullopt;
  // Unknown or not: the number is the same, and nothing was leased.
  return refused(std::move(answer.error));
}

}  // namespace seqd
