#include "daemon/store/mongo/driver/mongo_transaction.h"

#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/store/mongo/driver/mongo_attempts.h"

namespace seqd {
namespace {

constexpr int kMostCommits = 3;  // each is repeated once by the driver

MongoWriteAnswer refusal(Status error) {
  MongoWriteAnswer answer;
  answer.kind = MongoWriteAnswer::Kind::refused;
  answer.error = std::move(error);
  return answer;
}

}  // namespace

Status MongoTransaction::begin() {
  ASSERT(!session_);
  if (connection_.get() == nullptr) return clients_.no_connection();
  bson_error_t error = {};
  session_.reset(mongoc_client_start_session(connection_.get(), nullptr, &error));
  if (!session_) return clients_.status_of(error, "");
  const TransactionOptionsHandle options(mongoc_transaction_opts_new());
  mongoc_transaction_opts_set_write_concern(options.get(), clients_.target().write_concern.get());
  mongoc_transaction_opts_set_max_commit_time_ms(options.get(),
                                                 std::max(1, clients_.target().timeout_ms / 4 * 3));
  if (!mongoc_client_session_start_transaction(session_.get(), options.get(), &error))
    return clients_.status_of(error, "");
  return {};
}

MongoWriteAnswer MongoTransaction::find_and_modify(const MongoWrite& write) {
  ASSERT(session_);
  const CollectionHandle collection =
      connection_.collection(clients_.target().database, write.collection);
  // A statement has no write concern, the commit has.
  const WriteConcernHandle none(mongoc_write_concern_new());
  mongoc_collection_set_write_concern(collection.get(), none.get());
  const ChangeOptionsHandle options = change_options(write);
  Document extra;
  bson_error_t error = {};
  if (!mongoc_client_session_append(session_.get(), extra.get(), &error))
    return refusal(clients_.status_of(error, write.collection));
  ASSERT(mongoc_find_and_modify_opts_append(options.get(), extra.get()));
  MongoReply reply;
  MongoWriteAnswer answer;
  if (mongoc_collection_find_and_modify_with_opts(collection.get(), write.filter.get(),
                                                  options.get(), reply.uninitialised(), &error)) {
    answer.kind = MongoWriteAnswer::Kind::done;
    answer.document = document_in(reply.get(), "value");
    return answer;
  }
  answer = refusal(clients_.status_of(error, write.collection, reply.get()));
  answer.again = mongoc_error_has_label(reply.get(), "TransientTransactionError");
  answer.reply = Document(reply.get());
  if (error.domain == MONGOC_ERROR_SERVER) answer.server_code = error.code;
  return answer;
}

MongoWriteAnswer MongoTransaction::commit(const std::string& collection,
                                          std::chrono::steady_clock::time_point deadline) {
  ASSERT(session_);
  const AttemptScope scope;
  for (int sent = 1;; ++sent) {
    MongoReply reply;
    bson_error_t error = {};
    MongoWriteAnswer answer;
    if (mongoc_client_session_commit_transaction(session_.get(), reply.uninitialised(), &error)) {
      answer.kind = MongoWriteAnswer::Kind::done;
      return answer;
    }
    answer.error = clients_.status_of(error, collection, reply.get());
    if (error.domain == MONGOC_ERROR_SERVER) answer.server_code = error.code;
    if (scope.attempts().nothing_applied(clients_.through_mongos(connection_))) {
      answer.kind = MongoWriteAnswer::Kind::refused;
      answer.again = mongoc_error_has_label(reply.get(), "TransientTransactionError");
      return answer;
    }
    const bool repeatable = mongoc_error_has_label(reply.get(), "UnknownTransactionCommitResult") &&
                            sent < kMostCommits && std::chrono::steady_clock::now() < deadline;
    if (!repeatable) return answer;  // unknown
  }
}

Document MongoTransaction::session_id() const {
  ASSERT(session_);
  return Document(mongoc_client_session_get_lsid(session_.get()));
}

}  // namespace seqd
