#include "daemon/store/mongo/mongo_purge.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <thread>
#include <utility>

#include "daemon/store/mongo/documents/mongo_binding.h"
#include "daemon/store/mongo/driver/mongo_transaction.h"
#include "daemon/store/mongo/lease/mongo_parked.h"

namespace seqd {
namespace {

using Kind = RemovalOutcome::Kind;

// How long one call continues to the next counter.
constexpr std::chrono::milliseconds kPatience(2'000);
// Ranges of one counter that are parked in the collection for them.
constexpr int kMostParked = 10'000;
constexpr std::size_t kMostDigits = 19;
constexpr int kMostAttempts = 3;  // of a transaction that may be tried again

Document numbers() {
  return std::move(Document().add("0", "int").add("1", "long").add("2", "double"));
}

// A key within an array would be found, too, and is not the document's.
Document no_array() {
  return std::move(Document().add("$type", "array"));
}

// Stands for itself in a regular expression.
std::string quoted(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    // Bytes above ASCII are letters of UTF-8.
    if (!plain && static_cast<unsigned char>(c) < 0x80) out += '\\';
    out += c;
  }
  return out;
}

// The server selects keys by form and length, so that the last key of a page is never longer than
// one of ours. The caller checks them.
Document text_keys(const CounterQuery& query) {
  Document keys;
  keys.add("$type", "string").add("$not", no_array());
  keys.add("$regex", fmt::format("^{}[ -~]{{{}}}{}\\z", quoted(query.form.before),
                                 query.form.period, quoted(query.form.behind)));
  if (!query.after.empty()) keys.add("$gt", query.after);
  return keys;
}

Document integer_keys(const CounterQuery& query) {
  CounterBinding after;
  after.key = query.after;
  Document keys;
  keys.add_array("$type", numbers()).add("$not", no_array());
  const std::optional<std::int64_t> behind = integer_key(after);
  keys.add(behind ? "$gt" : "$gte", behind.value_or(0));
  if (query.form.length() >= kMostDigits) return keys;  // no number has more
  std::int64_t end = 1;
  for (std::size_t digit = 0; digit < query.form.length(); ++digit) end *= 10;
  keys.add("$lt", end);
  return keys;
}

Document filter_of(const CounterQuery& query) {
  const std::string& field = query.binding.key_field;
  Document filter;
  if (query.binding.key_type == KeyType::text)
    return std::move(filter.add(field, text_keys(query)));
  return std::move(filter.add(field, integer_keys(query)).add("$expr", whole_number(field)));
}

Document find_options(const CounterQuery& query, int timeout_ms) {
  const std::string& field = query.binding.key_field;
  Document wanted;
  wanted.add(field, true)
      .add(query.binding.counter_field, true)
      .add("seqd.meaning", true)
      .add("seqd.field", true)
      .add(mongo_floor_of(query.binding), true);
  if (field != "_id") wanted.add("_id", false);
  return std::move(Document()
                       .add("projection", wanted)
                       .add("sort", Document().add(field, std::int64_t{1}))
                       .add("limit", static_cast<std::int64_t>(query.limit))
                       .add("maxTimeMS", static_cast<std::int64_t>(timeout_ms))
                       .add("readConcern", Document().add("level", "majority")));
}

std::optional<std::string> key_in(const bson_t* document, const CounterBinding& binding) {
  bson_iter_t found;
  if (!find_field(document, binding.key_field, &found)) return std::nullopt;
  if (binding.key_type == KeyType::text) {
    if (!BSON_ITER_HOLDS_UTF8(&found)) return std::nullopt;
    std::uint32_t size = 0;
    const char* const text = bson_iter_utf8(&found, &size);
    return std::string(text, size);
  }
  const CounterNumber number = read_counter_number(document, binding.key_field);
  if (number.kind == CounterNumber::Kind::other) return std::nullopt;
  return std::to_string(number.value);
}

FoundCounter counter_in(const Document& document, CounterBinding binding, std::string key,
                        const MongoClients& clients) {
  FoundCounter counter;
  binding.key = key;
  counter.key = std::move(key);
  const auto state = state_of(document, binding, place_of(clients, binding));
  if (!state.ok()) {
    counter.problem = state.status().text();
    return counter;
  }
  counter.number = state->number.value;
  counter.last = last_issued_of(counter.number, state->meaning);
  return counter;
}

// The document as it was found, and no other.
MongoWrite removal_of(const CounterBinding& binding, const FoundCounter& counter) {
  MongoWrite write;
  write.collection = binding.collection;
  Document key;
  if (binding.key_type == KeyType::text) {
    key.add("$eq", binding.key);
  } else {
    key.add("$eq", integer_key(binding).value_or(0)).add_array("$type", numbers());
  }
  key.add("$not", no_array());
  write.filter.add(binding.key_field, key).add(binding.counter_field, number_equal(counter.number));
  write.remove = true;
  write.returned_field = binding.key_field;
  return write;
}

CounterBinding with_key(const CounterBinding& binding, const std::string& key) {
  CounterBinding out = binding;
  out.key = key;
  return out;
}

}  // namespace

Result<std::int64_t> MongoPurge::server_clock_s(const MongoConnection& connection,
                                                const std::string& collection) {
  MongoReply reply;
  bson_error_t error = {};
  const ReadPreferenceHandle primary(mongoc_read_prefs_new(MONGOC_READ_PRIMARY));
  // The name that every server knows.
  const Document hello = std::move(Document().add_shortest("isMaster", 1));
  if (!mongoc_client_command_simple(connection.get(), "admin", hello.get(), primary.get(),
                                    reply.uninitialised(), &error)) {
    return clients_.status_of(error, collection, reply.get());
  }
  bson_iter_t found;
  if (find_field(reply.get(), "localTime", &found) && BSON_ITER_HOLDS_DATE_TIME(&found))
    return bson_iter_date_time(&found) / 1'000;
  return Status(ErrorCode::STORE_REFUSED,
                fmt::format("{}: the server does not report its time (localTime of hello), which "
                            "is needed to determine the ended periods; nothing is removed",
                            clients_.where(collection)));
}

Result<CounterPage> MongoPurge::find(const CounterQuery& query) {
  const std::string& collection = query.binding.collection;
  const MongoConnection connection(clients_.pool());
  if (connection.get() == nullptr) return clients_.no_connection();
  CounterPage page;
  // Before the keys are read: an earlier time leaves more of them.
  auto clock_s = server_clock_s(connection, collection);
  if (!clock_s.ok()) return clock_s.status();
  page.clock_s = *clock_s;
  const CollectionHandle handle = connection.collection(clients_.target().database, collection);
  const ReadPreferenceHandle primary(mongoc_read_prefs_new(MONGOC_READ_PRIMARY));
  const Document filter = filter_of(query);
  const Document options = find_options(query, clients_.target().timeout_ms);
  const CursorHandle cursor(
      mongoc_collection_find_with_opts(handle.get(), filter.get(), options.get(), primary.get()));
  const bson_t* document = nullptr;
  std::size_t looked_at = 0;
  while (mongoc_cursor_next(cursor.get(), &document)) {
    ++looked_at;
    const std::optional<std::string> key = key_in(document, query.binding);
    if (!key) continue;
    page.after = *key;
    page.counters.push_back(counter_in(Document(document), query.binding, *key, clients_));
  }
  bson_error_t error = {};
  const bson_t* reply = nullptr;
  if (mongoc_cursor_error_document(cursor.get(), &error, &reply))
    return clients_.status_of(error, collection, reply);
  page.more = looked_at == query.limit && !page.counters.empty();
  return page;
}

std::vector<RemovalOutcome> MongoPurge::remove(const CounterRemoval& removal) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  const auto server = clients_.server(removal.binding.collection);
  if (!server.ok()) return {{Kind::failed, server.status()}};
  // In any lease mode: other hosts may keep parked ranges in the collection for them.
  const bool transactions = server->kind == MongoServerFacts::Kind::replica_set &&
                            server->wire_version >= kMongoWireOfPipelines;
  std::vector<RemovalOutcome> outcomes;
  for (const FoundCounter& counter : removal.counters) {
    const CounterBinding binding = with_key(removal.binding, counter.key);
    outcomes.push_back(transactions ? remove_in_transaction(binding, counter)
                                    : remove_alone(binding, counter));
    if (outcomes.back().kind == Kind::failed || std::chrono::steady_clock::now() > deadline) break;
  }
  return outcomes;
}

RemovalOutcome MongoPurge::outcome_of(const MongoWriteAnswer& answer) const {
  switch (answer.kind) {
    case MongoWriteAnswer::Kind::done:
      return {answer.document ? Kind::removed : Kind::changed, {}};
    case MongoWriteAnswer::Kind::refused:
      return {Kind::failed, answer.error};
    case MongoWriteAnswer::Kind::unknown:
      break;
  }
  return {Kind::failed,
          {answer.error.code(),
           answer.error.text() + "; it may have been removed: list the counters again"}};
}

// What is parked lies in the document then. Documents of seqd_returned are of a time when the
// server was another one; no lease takes them any more.
RemovalOutcome MongoPurge::remove_alone(const CounterBinding& binding,
                                        const FoundCounter& counter) {
  for (int parked = 0; parked < kMostParked; ++parked) {
    const MongoWriteAnswer answer = clients_.find_and_modify(unparking(binding));
    if (answer.kind != MongoWriteAnswer::Kind::done) return {Kind::failed, answer.error};
    if (!answer.document) break;
  }
  return outcome_of(clients_.find_and_modify(removal_of(binding, counter)));
}

RemovalOutcome MongoPurge::remove_in_transaction(const CounterBinding& binding,
                                                 const FoundCounter& counter) {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(clients_.target().timeout_ms);
  RemovalOutcome last;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    if (attempt > 0) std::this_thread::sleep_for(std::chrono::milliseconds(5 * attempt));
    MongoTransaction transaction(clients_);
    if (Status status = transaction.begin(); !status.ok()) return {Kind::failed, std::move(status)};
    MongoWriteAnswer answer = transaction.find_and_modify(removal_of(binding, counter));
    if (answer.kind == MongoWriteAnswer::Kind::done && !answer.document) return {Kind::changed, {}};
    int parked = 0;
    while (answer.kind == MongoWriteAnswer::Kind::done && answer.document &&
           parked++ < kMostParked) {
      answer = transaction.find_and_modify(unparking(binding));
    }
    if (parked > kMostParked) {
      return {Kind::failed,
              {ErrorCode::STORE_REFUSED,
               fmt::format("{}: more than {} ranges of it are parked in {}; remove them by hand",
                           place_of(clients_, binding), kMostParked, kMongoReturned)}};
    }
    if (answer.kind == MongoWriteAnswer::Kind::done) {
      answer = transaction.commit(binding.collection, deadline);
      if (answer.kind == MongoWriteAnswer::Kind::done) return {Kind::removed, {}};
    }
    if (answer.kind == MongoWriteAnswer::Kind::unknown || !answer.again) return outcome_of(answer);
    last = {Kind::failed, answer.error};
    // A program that changes the counter during every attempt uses it.
    if (answer.server_code == kMongoWriteConflict) last = {Kind::changed, {}};
  }
  return last;
}

}  // namespace seqd
