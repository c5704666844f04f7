#include "daemon/store/mongo/register/mongo_register_write.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/store/mongo/driver/mongo_attempts.h"
#include "daemon/store/mongo/register/mongo_register_format.h"
#include "daemon/store/mongo/register/mongo_register_setup.h"

namespace seqd {
namespace {

using Kind = RegisterOutcome::Kind;
using Change = RegisterChange::Kind;

// In one insert; a document of a number has a few hundred bytes.
constexpr std::size_t kMostTogether = 1'000;

RegisterOutcome failed(Status error) {
  return {Kind::failed, 0, std::move(error)};
}

RegisterOutcome changed() {
  return {Kind::changed, 0, {}};
}

// Codes with which the server refuses one document, and others not.
bool is_of_document(std::uint32_t code) {
  constexpr std::uint32_t kFailedValidation = 121;
  constexpr std::uint32_t kObjectTooLarge = 10334;
  return code == kMongoDuplicateKey || code == kFailedValidation || code == kObjectTooLarge;
}

// The first entry of writeErrors.
std::optional<Document> refusal_in(const bson_t* reply) {
  bson_iter_t found;
  return find_field(reply, "writeErrors.0", &found) ? document_at(found) : std::nullopt;
}

// Whether the number or the key exists. An index of somebody else would refuse every retry, too.
bool is_of_ours(const bson_t* refusal) {
  const auto pattern = document_in(refusal, "keyPattern");
  if (!pattern) return true;  // before 4.2
  return bson_has_field(pattern->get(), "_id") ||
         (bson_has_field(pattern->get(), "counter") && bson_has_field(pattern->get(), "key"));
}

}  // namespace

RegisterOutcome MongoRegisterWrite::run() {
  for (const RegisterChange& change : changes_) {
    if (change.kind == Change::confirm || change.kind == Change::cancel) continue;
    if (Status status = prepare(); !status.ok()) return failed(std::move(status));
    break;
  }
  RegisterOutcome outcome{Kind::all, 0, {}};
  while (outcome.kind == Kind::all && outcome.done < changes_.size()) {
    const std::size_t before = outcome.done;
    outcome = apply(before);
    outcome.done += before;
  }
  return outcome;
}

Status MongoRegisterWrite::prepare() {
  if (Status status = check_register_indexes(clients_); !status.ok()) return status;
  const auto last = register_.highest();
  if (!last.ok()) return last.status();
  is_first_ = last->number == 0;
  next_ = is_first_ ? place_.binding.first_id : last->number + 1;
  closed_ = last->closed;
  return {};
}

RegisterOutcome MongoRegisterWrite::apply(std::size_t at) {
  const RegisterChange& change = changes_[at];
  switch (change.kind) {
    case Change::add:
      return add(at);
    case Change::refill:
      return refill(change);
    case Change::confirm:
      return confirm(change);
    case Change::cancel:
      return cancel(change);
    case Change::close:
      return close(change);
  }
  ASSERT(false);
}

// --- new documents

RegisterOutcome MongoRegisterWrite::add(std::size_t at) {
  std::vector<Document> documents;
  for (; at < changes_.size() && documents.size() < kMostTogether; ++at) {
    const auto behind = static_cast<std::int64_t>(documents.size());
    if (changes_[at].kind != Change::add || changes_[at].number != next_ + behind) break;
    documents.push_back(number_document(place_, changes_[at]));
  }
  if (closed_ || documents.empty()) return changed();
  if (is_first_) {
    if (Status status = claim_register_name(clients_, place_); !status.ok())
      return failed(std::move(status));
    is_first_ = false;
  }
  RegisterOutcome outcome = insert(documents);
  next_ += static_cast<std::int64_t>(outcome.done);
  return outcome;
}

RegisterOutcome MongoRegisterWrite::close(const RegisterChange& change) {
  if (closed_ || change.number != next_) return changed();
  if (is_first_) {
    if (Status status = claim_register_name(clients_, place_); !status.ok())
      return failed(std::move(status));
  }
  std::vector<Document> end;
  end.push_back(end_document(place_, change));
  RegisterOutcome outcome = insert(end);
  if (outcome.kind != Kind::all) return outcome;
  closed_ = true;
  Status status = register_.finish_close(change.number);
  if (!status.ok()) return {Kind::unknown, 0, std::move(status)};
  return outcome;
}

RegisterOutcome MongoRegisterWrite::insert(const std::vector<Document>& documents) {
  const MongoConnection connection(clients_.pool());
  if (connection.get() == nullptr) return failed(clients_.no_connection());
  const CollectionHandle handle = connection.collection(clients_.target().database, kMongoRegister);
  Document options;
  clients_.target().add_write_concern(options);
  const BulkHandle bulk(
      mongoc_collection_create_bulk_operation_with_opts(handle.get(), options.get()));
  bson_error_t error = {};
  std::size_t count = 0;
  while (count < documents.size() && mongoc_bulk_operation_insert_with_opts(
                                         bulk.get(), documents[count].get(), nullptr, &error))
    ++count;
  // The driver refuses it.
  if (count == 0) return {Kind::refused, 0, {ErrorCode::STORE_REFUSED, clients_.readable(error)}};
  static_cast<void>(clients_.through_mongos(connection));
  const AttemptScope scope;
  MongoReply unused;
  static_cast<void>(mongoc_bulk_operation_execute(bulk.get(), unused.uninitialised(), &error));
  const bool through_mongos = clients_.through_mongos(connection);
  const CommandAttempts& attempts = scope.attempts();
  if (!attempts.inserted) {
    return {attempts.nothing_applied(through_mongos) ? Kind::failed : Kind::unknown, 0,
            clients_.status_of(error, kMongoRegister, unused.get())};
  }
  const bson_t* const reply = attempts.inserted->get();
  if (const auto concern = document_in(reply, "writeConcernError")) {
    return {Kind::unknown,
            0,
            {ErrorCode::UNAVAILABLE,
             fmt::format("{}: the insert was not confirmed by a majority: {}",
                         clients_.where(kMongoRegister), text_in(concern->get(), "errmsg"))}};
  }
  const auto done = std::min(static_cast<std::size_t>(number_in(reply, "n")), count);
  const auto refusal = refusal_in(reply);
  if (!refusal && done == count) return {Kind::all, done, {}};
  const auto code = refusal ? static_cast<std::uint32_t>(number_in(refusal->get(), "code")) : 0;
  Status why(is_transient_error(code) ? ErrorCode::UNAVAILABLE : ErrorCode::STORE_REFUSED,
             fmt::format("{}: {} (code {})", clients_.where(kMongoRegister),
                         refusal ? text_in(refusal->get(), "errmsg") : "no answer", code));
  // An attempt without an answer may still come.
  const bool is_proven = refusal && !attempts.has_open_attempt(through_mongos) &&
                         proves_not_inserted(code, through_mongos);
  if (!is_proven) return {Kind::unknown, done, std::move(why)};
  if (code == kMongoDuplicateKey && is_of_ours(refusal->get())) return {Kind::changed, done, {}};
  return {is_of_document(code) ? Kind::refused : Kind::failed, done, std::move(why)};
}

// --- changes of a document

MongoWrite MongoRegisterWrite::write_of(std::int64_t number, NumberState state) const {
  MongoWrite write;
  write.collection = kMongoRegister;
  write.filter = number_filter(place_, number);
  write.filter.add("state", number_state_word(state));
  write.returned_field = "_id";
  return write;
}

RegisterOutcome MongoRegisterWrite::send(MongoWrite write) {
  const MongoWriteAnswer answer = clients_.find_and_modify(write);
  switch (answer.kind) {
    case MongoWriteAnswer::Kind::done:
      if (answer.document) return {Kind::all, 1, {}};
      if (!answer.is_open) return changed();
      return {Kind::unknown,
              0,
              {ErrorCode::UNAVAILABLE, fmt::format("{}: an answer was lost, and the write may come",
                                                   clients_.where(kMongoRegister))}};
    case MongoWriteAnswer::Kind::refused:
      if (answer.server_code == kMongoDuplicateKey && is_of_ours(answer.reply.get()))
        return changed();
      return {is_of_document(answer.server_code) ? Kind::refused : Kind::failed, 0, answer.error};
    case MongoWriteAnswer::Kind::unknown:
      break;
  }
  return {Kind::unknown, 0, answer.error};
}

RegisterOutcome MongoRegisterWrite::refill(const RegisterChange& change) {
  MongoWrite write = write_of(change.number, NumberState::free);
  write.filter.add("ended", Document().add("$ne", true));
  write.filter.add("former", Document().add("$size", static_cast<std::int64_t>(change.former)));
  write.filter.add("former.key", Document().add("$ne", change.key));
  write.update.add("$set", Document()
                               .add("state", number_state_word(NumberState::assigned))
                               .add("key", change.key)
                               .add("assigned", stamp_document(change.stamp)));
  return send(std::move(write));
}

RegisterOutcome MongoRegisterWrite::confirm(const RegisterChange& change) {
  MongoWrite write = write_of(change.number, NumberState::assigned);
  write.filter.add("key", change.key);
  write.update.add("$set", Document()
                               .add("state", number_state_word(NumberState::confirmed))
                               .add("confirmed", stamp_document(change.stamp)));
  return send(std::move(write));
}

// The key leaves the number, and stays beside it with the stamp that is read first: while number
// and key are the same, it is, too.
RegisterOutcome MongoRegisterWrite::cancel(const RegisterChange& change) {
  const auto found = clients_.read(kMongoRegister, number_filter(place_, change.number));
  if (!found.ok()) return failed(found.status());
  if (!*found || is_end(**found)) return changed();
  const auto record = record_of(**found, place_, clients_.where(kMongoRegister));
  if (!record.ok()) return {Kind::refused, 0, record.status()};
  MongoWrite write = write_of(change.number, NumberState::assigned);
  write.filter.add("key", change.key);
  if (change.free) write.filter.add("ended", Document().add("$ne", true));
  const NumberState after = change.free ? NumberState::free : NumberState::voided;
  const Document former = former_document(change.key, record->assigned, change);
  write.update.add("$set", Document().add("state", number_state_word(after)))
      .add("$unset", Document().add("key", true))
      .add("$push", Document().add("former", former));
  return send(std::move(write));
}

}  // namespace seqd
