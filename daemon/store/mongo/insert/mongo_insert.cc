#include "daemon/store/mongo/insert/mongo_insert.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/store/mongo/documents/mongo_binding.h"
#include "daemon/store/mongo/driver/bson_conversion.h"
#include "daemon/store/mongo/driver/mongo_attempts.h"
#include "daemon/store/mongo/driver/mongo_sharding.h"

namespace seqd {
namespace {

using Clock = std::chrono::steady_clock;

// Of the documents in one command, which has to stay below 16 MiB; a larger one goes alone.
constexpr std::size_t kMostCommandBytes = 8 * 1024 * 1024;
constexpr std::chrono::milliseconds kFirstPause(50);
constexpr std::chrono::milliseconds kLongestPause(500);

Document only(const char* name, const Document& value) {
  return std::move(Document().add(name, value));
}

Document with_id(std::int64_t id, bool shortest, const Document& body) {
  Document out;
  if (shortest)
    out.add_shortest("_id", id);
  else
    out.add("_id", id);
  ASSERT(bson_concat(out.get(), body.get()));
  return out;
}

std::uint32_t code_of(const Document& refusal) {
  return static_cast<std::uint32_t>(number_in(refusal.get(), "code"));
}

std::optional<Document> refusal_in(const bson_t* reply) {
  bson_iter_t found;
  return find_field(reply, "writeErrors.0", &found) ? document_at(found) : std::nullopt;
}

// Whether a duplicate key is that of _id, and no other unique index is meant.
bool is_our_id(const Document& refusal, std::int64_t id) {
  if (const auto pattern = document_in(refusal.get(), "keyPattern")) {
    const bool alone =
        bson_count_keys(pattern->get()) == 1 && bson_has_field(pattern->get(), "_id");
    const auto value = document_in(refusal.get(), "keyValue");
    return alone && (!value || number_in(value->get(), "_id") == id);
  }
  // Before 4.2 there is the text only.
  return text_in(refusal.get(), "errmsg").find("index: _id_ dup key") != std::string::npos;
}

}  // namespace

std::vector<InsertOutcome> MongoInsert::run() {
  if (Status status = prepare(); !status.ok()) all_pending(Kind::refused, status);
  if (pending_.empty()) return std::move(outcomes_);
  const Status unique = check_unique_ids();
  const Result<std::int64_t> found = unique.ok() ? next_id() : unique;
  if (!found.ok()) {
    const bool later = found.status().code() == ErrorCode::UNAVAILABLE;
    all_pending(later ? Kind::failed : Kind::refused, found.status());
    return std::move(outcomes_);
  }
  std::int64_t next = *found;
  bool more = true;
  while (more && !pending_.empty()) {
    if (next > batch_.max_value) {
      all_pending(
          Kind::refused,
          {ErrorCode::EXHAUSTED, fmt::format("{}: the next _id would be above max_value = {}",
                                             clients_.where(batch_.collection), batch_.max_value)});
      break;
    }
    const std::int64_t first = next;
    const std::size_t count = fitting(first);
    more = take(send(numbered(first, count)), first, count, next);
  }
  return std::move(outcomes_);
}

Status MongoInsert::prepare() {
  for (std::size_t index = 0; index < batch_.items.size(); ++index) {
    Result<Document> body = bson_of_map(*batch_.items[index].document);
    Status status = body.status();
    if (status.ok()) {
      Pending pending{index, std::move(*body), {}};
      status = prepare_unique(batch_.items[index].unique, pending);
      if (status.ok()) pending_.push_back(std::move(pending));
    }
    const bool later = status.code() == ErrorCode::UNAVAILABLE;
    if (!status.ok()) outcomes_[index] = {later ? Kind::failed : Kind::refused, 0, status};
  }
  CounterBinding binding;
  binding.collection = batch_.collection;
  binding.key = "_id";
  return check_mongo_binding(binding);
}

// The key each time: a collection can be sharded at any time.
Status MongoInsert::check_unique_ids() {
  Status status = collections_.check(clients_, batch_.collection, false);
  if (!status.ok()) return status;
  return check_shard_key(clients_, batch_.collection, "_id");
}

// Reads what a majority has: a number that a failover can revert must not be continued.
Result<std::int64_t> MongoInsert::next_id() {
  const Document numbers = only("_id", Document().add("$type", "number"));
  const Document stages =
      std::move(Document()
                    .add("0", only("$match", numbers))
                    .add("1", only("$sort", Document().add("_id", std::int64_t{-1})))
                    .add("2", Document().add("$limit", std::int64_t{1}))
                    .add("3", only("$project", Document().add("_id", std::int64_t{1}))));
  const auto highest = clients_.aggregate(batch_.collection, stages);
  if (!highest.ok()) return highest.status();
  if (!*highest) {
    // It may have been dropped, and made again as something else.
    Status status = collections_.check(clients_, batch_.collection, true);
    return status.ok() ? Result<std::int64_t>(batch_.first_id) : status;
  }
  bson_iter_t type;
  shortest_id_ =
      bson_iter_init_find(&type, (*highest)->get(), "_id") && BSON_ITER_HOLDS_INT32(&type);
  const CounterNumber number = read_counter_number((*highest)->get(), "_id");
  if (number.kind == CounterNumber::Kind::other) {
    return Status(ErrorCode::SEQ_TYPE,
                  fmt::format("{}: the highest number among the _id is {}: the next one cannot be "
                              "determined; move that document away",
                              clients_.where(batch_.collection), number.found));
  }
  if (number.value >= batch_.max_value) {
    return Status(ErrorCode::EXHAUSTED,
                  fmt::format("{}: the highest _id is {}, and max_value is {}",
                              clients_.where(batch_.collection), number.value, batch_.max_value));
  }
  return std::max(number.value + 1, batch_.first_id);
}

std::size_t MongoInsert::fitting(std::int64_t first) const {
  ASSERT(!pending_.empty() && first <= batch_.max_value);
  const auto room = static_cast<std::uint64_t>(batch_.max_value - first) + 1;
  std::size_t count = 0;
  std::size_t bytes = 0;
  for (const Pending& each : pending_) {
    bytes += each.body.get()->len;
    if (count == room || (count > 0 && bytes > kMostCommandBytes)) break;
    ++count;
  }
  return count;
}

std::vector<Document> MongoInsert::numbered(std::int64_t first, std::size_t count) const {
  ASSERT(count > 0 && count <= pending_.size());
  std::vector<Document> out;
  out.reserve(count);
  for (std::size_t at = 0; at < count; ++at)
    out.push_back(with_id(first + static_cast<std::int64_t>(at), shortest_id_, pending_[at].body));
  return out;
}

// --- the wire

MongoInsert::Answer MongoInsert::send(const std::vector<Document>& documents) {
  Answer answer;
  answer.kind = Answer::Kind::refused;
  const MongoConnection connection(clients_.pool());
  if (connection.get() == nullptr) {
    answer.error = clients_.no_connection();
    return answer;
  }
  bson_error_t error = {};
  // Of our own: by it and the number of the write the server knows a repeat.
  const SessionHandle session(mongoc_client_start_session(connection.get(), nullptr, &error));
  if (!session) {
    answer.error = clients_.status_of(error, batch_.collection);
    return answer;
  }
  Document options;
  ASSERT(mongoc_client_session_append(session.get(), options.get(), &error));
  clients_.target().add_write_concern(options);
  const CollectionHandle collection =
      connection.collection(clients_.target().database, batch_.collection);
  const BulkHandle bulk(
      mongoc_collection_create_bulk_operation_with_opts(collection.get(), options.get()));
  // The server decides which field names are valid.
  const Document unjudged = std::move(Document().add("validate", false));
  for (const Document& document : documents) {
    ASSERT(
        mongoc_bulk_operation_insert_with_opts(bulk.get(), document.get(), unjudged.get(), &error));
  }
  static_cast<void>(clients_.through_mongos(connection));
  {
    const AttemptScope scope;
    MongoReply reply;
    // The server's own words are with the attempts; what the driver makes of them says less.
    static_cast<void>(mongoc_bulk_operation_execute(bulk.get(), reply.uninitialised(), &error));
    const bool through_mongos = clients_.through_mongos(connection);
    answer = read_answer(error, reply.get(), scope.attempts(), through_mongos,
                         scope.attempts().has_open_attempt(through_mongos));
  }
  if (answer.kind != Answer::Kind::unknown || answer.transaction_number == 0) return answer;
  return repeat(documents, connection, session.get(), std::move(answer));
}

// Repeats the same write by the same number, until the server returns its outcome. Inserts that
// were applied are not repeated, and the others are applied now.
MongoInsert::Answer MongoInsert::repeat(const std::vector<Document>& documents,
                                        const MongoConnection& connection,
                                        mongoc_client_session_t* session, Answer first) {
  Document items;
  for (std::size_t at = 0; at < documents.size(); ++at)
    items.add(std::to_string(at), documents[at]);
  Document command;
  command.add("insert", batch_.collection).add("ordered", true).add_array("documents", items);
  command.add("txnNumber", first.transaction_number);
  clients_.target().add_write_concern(command);
  Document options;
  bson_error_t error = {};
  ASSERT(mongoc_client_session_append(session, options.get(), &error));
  const Clock::time_point deadline = Clock::now() + std::chrono::milliseconds(batch_.patience_ms);
  std::chrono::milliseconds pause = kFirstPause;
  while (Clock::now() < deadline) {
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongestPause);
    const AttemptScope scope;
    MongoReply reply;
    static_cast<void>(mongoc_client_command_with_opts(
        connection.get(), clients_.target().database.c_str(), command.get(), nullptr, options.get(),
        reply.uninitialised(), &error));
    Answer answer = read_answer(error, reply.get(), scope.attempts(),
                                clients_.through_mongos(connection), true);
    if (answer.kind == Answer::Kind::decided) return answer;
    // A refusal now proves nothing about earlier attempts.
    first.error = std::move(answer.error);
    first.inserted = std::max(first.inserted, answer.inserted);
    if (first.error.code() != ErrorCode::UNAVAILABLE) break;
  }
  return first;
}

MongoInsert::Answer MongoInsert::read_answer(const bson_error_t& error, const bson_t* reply,
                                             const CommandAttempts& attempts, bool through_mongos,
                                             bool repeated) const {
  Answer answer;
  answer.transaction_number = attempts.transaction_number;
  const auto concern = attempts.inserted
                           ? document_in(attempts.inserted->get(), "writeConcernError")
                           : std::optional<Document>();
  if (concern) {
    answer.error = {
        ErrorCode::UNAVAILABLE,
        fmt::format("{}: the insert was not confirmed by a majority: {}",
                    clients_.where(batch_.collection), text_in(concern->get(), "errmsg"))};
    return answer;
  }
  if (attempts.inserted) {
    answer.kind = Answer::Kind::decided;
    answer.inserted = number_in(attempts.inserted->get(), "n");
    answer.refusal = refusal_in(attempts.inserted->get());
    const auto code = answer.refusal ? code_of(*answer.refusal) : 0;
    // What passes by itself does not keep an earlier attempt from coming late.
    const bool may_come = repeated && is_transient_error(code);
    if (answer.refusal && (may_come || !proves_not_inserted(code, through_mongos))) {
      answer.kind = Answer::Kind::unknown;
      answer.error = {is_transient_error(code) ? ErrorCode::UNAVAILABLE : ErrorCode::STORE_REFUSED,
                      fmt::format("{}: {} (code {})", clients_.where(batch_.collection),
                                  text_in(answer.refusal->get(), "errmsg"), code)};
    }
    return answer;
  }
  answer.kind =
      attempts.nothing_applied(through_mongos) ? Answer::Kind::refused : Answer::Kind::unknown;
  answer.error = clients_.status_of(error, batch_.collection, reply);
  return answer;
}

// --- outcomes

void MongoInsert::all_pending(Kind kind, const Status& error) {
  for (const Pending& each : pending_) outcomes_[each.index] = {kind, 0, error};
  pending_.clear();
}

bool MongoInsert::take(const Answer& answer, std::int64_t first, std::size_t count,
                       std::int64_t& next) {
  if (answer.kind == Answer::Kind::unknown) {
    const std::size_t done = take_inserted(answer.inserted, first, count);
    take_unknown(answer, first + static_cast<std::int64_t>(done), count - done);
    return false;
  }
  if (answer.kind == Answer::Kind::refused) {
    const bool later = answer.error.code() == ErrorCode::UNAVAILABLE;
    all_pending(later ? Kind::failed : Kind::refused, answer.error);
    return false;
  }
  const std::size_t done = take_inserted(answer.inserted, first, count);
  next = first + static_cast<std::int64_t>(done);
  if (!answer.refusal || done == count) return done == count;
  return take_refusal(*answer.refusal, next);
}

std::size_t MongoInsert::take_inserted(std::int64_t inserted, std::int64_t first,
                                       std::size_t count) {
  const auto done = static_cast<std::size_t>(
      std::clamp<std::int64_t>(inserted, 0, static_cast<std::int64_t>(count)));
  for (std::size_t at = 0; at < done; ++at)
    outcomes_[pending_[at].index] = {Kind::inserted, first + static_cast<std::int64_t>(at), {}};
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(done));
  return done;
}

// The server ended at the first of those that are left.
bool MongoInsert::take_refusal(const Document& refusal, std::int64_t id) {
  ASSERT(!pending_.empty());
  const std::uint32_t code = code_of(refusal);
  const std::string text = fmt::format("{}: {} (code {})", clients_.where(batch_.collection),
                                       text_in(refusal.get(), "errmsg"), code);
  if (code == kMongoDuplicateKey && is_our_id(refusal, id)) {
    outcomes_[pending_.front().index] = {Kind::contended, 0, {}};
    return false;
  }
  if (is_transient_error(code)) {
    all_pending(Kind::failed, {ErrorCode::UNAVAILABLE, text});
    return false;
  }
  // Whichever index was named: an earlier try of this very document may be what is there.
  if (code == kMongoDuplicateKey && !bson_empty(pending_.front().unique.get()) && take_found())
    return true;
  outcomes_[pending_.front().index] = {Kind::refused, 0, {ErrorCode::DOCUMENT_REFUSED, text}};
  pending_.erase(pending_.begin());
  return true;
}

void MongoInsert::take_unknown(const Answer& answer, std::int64_t first, std::size_t count) {
  ASSERT(count <= pending_.size());
  bool readable = answer.transaction_number == 0;
  const std::string why =
      answer.transaction_number == 0
          ? "the reply was lost, and a server outside of a replica set (or with retryWrites=false) "
            "cannot report the outcome later"
          : fmt::format("the reply was lost, and could not be obtained within {} ms",
                        batch_.patience_ms);
  for (std::size_t at = 0; at < count; ++at) {
    const std::int64_t id = first + static_cast<std::int64_t>(at);
    outcomes_[pending_[at].index] = {
        Kind::unknown, id,
        Status(ErrorCode::OUTCOME_UNKNOWN,
               fmt::format("the document may have been inserted as _id {}{}: {}: {}", id,
                           now_there(id, pending_[at].body, readable), why, answer.error.text()))};
  }
  pending_.clear();
}

// For the error text only. An equal document may be another program's, and a different one may be
// ours, changed since: the outcome does not depend on it.
std::string MongoInsert::now_there(std::int64_t id, const Document& body, bool& readable) const {
  if (!readable) return "";
  const auto found = clients_.read(batch_.collection, Document().add("_id", id));
  readable = found.ok();
  if (!found.ok()) return "";
  if (!*found) return ", where there is none now";
  return bson_equal((*found)->get(), with_id(id, shortest_id_, body).get())
             ? ", where there is one like it now"
             : ", where there is another one now";
}

}  // namespace seqd
