#include "daemon/store/mongo/driver/mongo_numbered_writes.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "daemon/store/mongo/driver/mongo_attempts.h"

namespace seqd {
namespace {

constexpr int kMostSends = 2;  // as the driver repeats a write: once, at the primary that is then
constexpr std::uint32_t kIllegalOperation = 20;    // a server alone, which has no sessions
constexpr std::uint32_t kIncompleteHistory = 217;  // the oplog does not reach back far enough
constexpr std::uint32_t kTransactionTooOld = 225;  // the session has a higher number
// The answer of a findAndModify is kept apart: it is gone, or that of another statement.
constexpr std::uint32_t kNoImage = 5637601;
constexpr std::uint32_t kOtherImage = 5637602;

// Lease slots write at the same time, and the numbers of a session have to rise; so each has its
// own.
Token session_of(const LeaseRequest& request, const std::string& database) {
  const SessionNumber number = session_number_of(request.token);
  std::string named(request.instance.begin(), request.instance.end());
  named.append(number.salt.begin(), number.salt.end());
  named += request.sequence + '\n' + database;
  std::array<std::uint8_t, EVP_MAX_MD_SIZE> digest{};
  ASSERT(EVP_Digest(named.data(), named.size(), digest.data(), nullptr, EVP_sha256(), nullptr) ==
         1);
  Token session{};
  std::copy_n(digest.begin(), session.size(), session.begin());
  return session;
}

// Gives a session of the driver another id for the time of one command.
class LentId {
 public:
  LentId(const mongoc_client_session_t* session, const Token& id) {
    bson_iter_t found;
    bson_subtype_t type = BSON_SUBTYPE_BINARY;
    std::uint32_t size = 0;
    const std::uint8_t* bytes = nullptr;
    if (!bson_iter_init_find(&found, mongoc_client_session_get_lsid(session), "id") ||
        !BSON_ITER_HOLDS_BINARY(&found))
      return;
    bson_iter_binary(&found, &type, &size, &bytes);
    if (type != BSON_SUBTYPE_UUID || size != id.size()) return;
    // The driver's own document, which is const for callers only.
    place_ = const_cast<std::uint8_t*>(bytes);
    std::copy_n(place_, own_.size(), own_.begin());
    std::copy(id.begin(), id.end(), place_);
  }
  ~LentId() {
    if (place_ != nullptr) std::copy(own_.begin(), own_.end(), place_);
  }
  LentId(const LentId&) = delete;
  LentId& operator=(const LentId&) = delete;
  bool lent() const { return place_ != nullptr; }

 private:
  std::uint8_t* place_ = nullptr;
  Token own_{};
};

Document find_and_modify_command(const MongoWrite& write) {
  Document command;
  command.add("findAndModify", write.collection).add("query", write.filter);
  if (write.remove) return std::move(command.add("remove", true));
  // An update by pipeline has the keys of an array.
  if (bson_has_field(write.update.get(), "0")) {
    command.add_array("update", write.update);
  } else {
    command.add("update", write.update);
  }
  command.add("new", true);
  if (!write.returned_field.empty())
    command.add("fields", Document().add(write.returned_field, true));
  if (write.max_time_ms > 0) command.add("maxTimeMS", static_cast<std::int64_t>(write.max_time_ms));
  return command;
}

Document update_command(const std::string& collection, const Document& filter,
                        const Document& update, bool upsert, std::int32_t statement) {
  Document command;
  const Document one =
      std::move(Document().add("q", filter).add("u", update).add("upsert", upsert));
  command.add("update", collection).add_array("updates", Document().add("0", one));
  command.add_shortest("stmtId", statement);
  return command;
}

std::int64_t number_in(const Document& document, const std::string& path) {
  bson_iter_t found;
  return find_field(document.get(), path, &found) && BSON_ITER_HOLDS_NUMBER(&found)
             ? bson_iter_as_int64(&found)
             : 0;
}

}  // namespace

bool MongoNumberedWrites::is_forgotten(std::uint32_t server_code) {
  return server_code == kIncompleteHistory || server_code == kTransactionTooOld ||
         server_code == kIllegalOperation || server_code == kNoImage || server_code == kOtherImage;
}

MongoNumberedWrites::MongoNumberedWrites(MongoClients& clients, const LeaseRequest& request)
    : clients_(clients),
      session_(session_of(request, clients.target().database)),
      number_(session_number_of(request.token).number) {}

MongoNumberedWrites::Answer MongoNumberedWrites::send(Document command,
                                                      const std::string& collection) {
  Answer answer;
  const MongoConnection connection(clients_.pool());
  if (connection.get() == nullptr) {
    answer.no_session = clients_.no_connection();
    return answer;
  }
  const SessionHandle session(
      mongoc_client_start_session(connection.get(), nullptr, &answer.error));
  if (!session) {
    answer.no_session = clients_.status_of(answer.error, collection);
    return answer;
  }
  Document options;
  ASSERT(mongoc_client_session_append(session.get(), options.get(), &answer.error));
  const LentId id(session.get(), session_);
  if (!id.lent()) {
    answer.no_session = {ErrorCode::STORE_REFUSED,
                         fmt::format("{}: the ids of this driver's sessions are not known; set "
                                     "lease_mode = \"plain\"",
                                     clients_.where(collection))};
    return answer;
  }
  command.add("txnNumber", number_);
  clients_.target().add_write_concern(command);
  MongoReply reply;
  answer.ok = mongoc_client_command_with_opts(connection.get(), clients_.target().database.c_str(),
                                              command.get(), nullptr, options.get(),
                                              reply.uninitialised(), &answer.error);
  answer.reply = Document(reply.get());
  return answer;
}

Status MongoNumberedWrites::error_of(const Answer& answer, const std::string& collection) const {
  if (!answer.no_session.ok()) return answer.no_session;
  if (document_in(answer.reply.get(), "writeConcernError"))
    return {ErrorCode::UNAVAILABLE, fmt::format("{}: the write was not confirmed by a majority",
                                                clients_.where(collection))};
  return clients_.status_of(answer.error, collection, answer.reply.get());
}

// An update that failed: the command's answer says that it went well.
Status MongoNumberedWrites::refusal_in(const Answer& answer, const std::string& collection) const {
  const std::int64_t code = number_in(answer.reply, "writeErrors.0.code");
  if (code == 0) return {};
  const bool again = is_transient_error(static_cast<std::uint32_t>(code));
  return {again ? ErrorCode::UNAVAILABLE : ErrorCode::STORE_REFUSED,
          fmt::format("{}: code {}", clients_.where(collection), code)};
}

Result<bool> MongoNumberedWrites::update(const MongoWrite& write, std::int32_t statement) {
  ASSERT(statement > 0);
  Status error;
  for (int sent = 0; sent < kMostSends; ++sent) {
    const Answer answer =
        send(update_command(write.collection, write.filter, write.update, write.upsert, statement),
             write.collection);
    const Status refused = refusal_in(answer, write.collection);
    const bool confirmed = !document_in(answer.reply.get(), "writeConcernError");
    if (answer.ok && confirmed && refused.ok()) return number_in(answer.reply, "n") == 1;
    if (number_in(answer.reply, "writeErrors.0.code") == kMongoDuplicateKey) return false;
    error = refused.ok() ? error_of(answer, write.collection) : refused;
    if (error.code() != ErrorCode::UNAVAILABLE) break;
  }
  return error;
}

// As a new statement it matches no document.
MongoNumberedWrites::Answer MongoNumberedWrites::ask(const std::string& collection,
                                                     std::int32_t statement) {
  const Document none = std::move(Document().add("_id", Document().add_array("$in", Document())));
  Document sent;
  sent.add("$set", Document().add("state", "sent"));
  return send(update_command(collection, none, sent, false, statement), collection);
}

Result<bool> MongoNumberedWrites::remembers(const std::string& collection, std::int32_t statement) {
  const Answer answer = ask(collection, statement);
  if (Status refused = refusal_in(answer, collection); !refused.ok()) return refused;
  if (answer.ok && !document_in(answer.reply.get(), "writeConcernError"))
    return number_in(answer.reply, "n") == 1;
  if (answer.error.domain == MONGOC_ERROR_SERVER && is_forgotten(answer.error.code)) return false;
  return error_of(answer, collection);
}

MongoWriteAnswer MongoNumberedWrites::find_and_modify(const MongoWrite& write) {
  ASSERT(!write.upsert && write.lowest_of.empty());
  const AttemptScope scope;
  MongoWriteAnswer answer;
  for (int sent = 0; sent < kMostSends; ++sent) {
    const Answer got = send(find_and_modify_command(write), write.collection);
    const CommandAttempts& attempts = scope.attempts();
    const bool nothing_applied = !got.ok && attempts.nothing_applied(false);
    if (!got.no_session.ok()) {
      answer.kind =
          nothing_applied ? MongoWriteAnswer::Kind::refused : MongoWriteAnswer::Kind::unknown;
      answer.error = got.no_session;
      return answer;
    }
    answer = clients_.answer_of(got.ok, got.reply.get(), got.error, write.collection,
                                nothing_applied, attempts.started == 1);
    answer.is_open = attempts.has_open_attempt(false);
    if (answer.kind == MongoWriteAnswer::Kind::done ||
        answer.error.code() != ErrorCode::UNAVAILABLE)
      break;
  }
  return answer;
}

// Once without effect is not enough: a server that does not know what the number means would apply
// it, too, and then every repeat of a lease.
Status MongoNumberedWrites::probe(MongoClients& clients, const std::string& collection,
                                  const Token& instance) {
  LeaseRequest request;  // of no sequence: so the document is no record of a lease
  request.instance = instance;
  bson_oid_t unique;  // a session of no other process
  bson_oid_init(&unique, nullptr);
  std::copy_n(unique.bytes, sizeof unique.bytes, request.token.end() - sizeof unique.bytes);
  MongoNumberedWrites writes(clients, request);
  MongoWrite write;
  write.collection = collection;
  write.filter.add("_id", slot_of(request));
  write.update.add("$currentDate", Document().add("at", true));
  write.upsert = true;
  if (const Result<bool> made = writes.update(write, 1); !made.ok()) return made.status();
  write.upsert = false;
  write.remove = true;
  const MongoWriteAnswer first = writes.find_and_modify(write);
  if (first.kind != MongoWriteAnswer::Kind::done) return first.error;
  const auto passing = [&](const char* what) {
    return Status(ErrorCode::UNAVAILABLE, fmt::format("{}: {}", clients.where(collection), what));
  };
  // Two stores of one daemon may test at the same time.
  if (!first.document) return passing("another store removed the document of the trial");
  const MongoWriteAnswer again = writes.find_and_modify(write);
  if (again.kind != MongoWriteAnswer::Kind::done)
    return is_forgotten(again.server_code)
               ? passing("the server forgot the answer to the first write of the trial")
               : again.error;
  if (again.document && bson_equal(first.document->get(), again.document->get())) return {};
  return {ErrorCode::STORE_REFUSED,
          fmt::format("{}: it does not answer a repeated write as it answered the first one",
                      clients.where(collection))};
}

}  // namespace seqd
