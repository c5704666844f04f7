#include "daemon/store/mongo/lease/mongo_sessions.h"

#include "daemon/store/mongo/documents/mongo_instances.h"

namespace seqd {
namespace {

// The newest are kept. The server may have an open transaction for each connection, of which there
// are at most 128 (`concurrency` twice). A session that ages takes no room of one in use as long as
// there are more.
constexpr std::size_t kMostSessions = 256;
// The server drops an open transaction after a minute.
constexpr std::chrono::seconds kSuspected{90};

std::string bytes_of(const bson_t* document) {
  return {reinterpret_cast<const char*>(bson_get_data(document)), document->len};
}

Document document_of(const std::string& bytes) {
  bson_t view;
  ASSERT(
      bson_init_static(&view, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
  return Document(&view);
}

}  // namespace

void MongoSessions::take_over(const Token& instance) {
  end_inherited();
  {
    const std::lock_guard lock(mutex_);
    if (taken_over_.contains(instance)) return;
  }
  auto sessions = MongoInstances(clients_).sessions(instance);
  if (!sessions.ok()) return;  // next time
  {
    const std::lock_guard lock(mutex_);
    if (!taken_over_.insert(instance).second) return;
    for (const Document& session : *sessions) add_suspect(bytes_of(session.get()));
  }
  end_suspects();
}

void MongoSessions::inherit(const Token& former) {
  {
    const std::lock_guard lock(mutex_);
    inherited_.insert(former);
  }
  end_inherited();
}

void MongoSessions::end_inherited() {
  std::set<Token> wanted;
  {
    const std::lock_guard lock(mutex_);
    wanted = inherited_;
  }
  for (const Token& former : wanted) {
    auto sessions = MongoInstances(clients_).sessions(former);
    if (!sessions.ok()) return;  // next time
    Document ids;
    for (std::size_t i = 0; i < sessions->size(); ++i) ids.add(std::to_string(i), (*sessions)[i]);
    // A refusal is permanent; it is tried again only if there was no answer.
    if (!sessions->empty() && end(ids).code() == ErrorCode::UNAVAILABLE) return;
    const std::lock_guard lock(mutex_);
    inherited_.erase(former);
  }
}

Status MongoSessions::end(const Document& ids) {
  return clients_.run(Document().add_array("killSessions", ids), kMongoInstances, 0);
}

Status MongoSessions::announce(const Token& instance, const MongoTransaction& transaction) {
  const Document session_id = transaction.session_id();
  Bytes session = bytes_of(session_id.get());
  {
    const std::lock_guard lock(mutex_);
    if (announced_.contains({instance, session})) return {};
  }
  // The sessions of the previous daemon stay in the list until newer ones take their place:
  // replacing the list would remove what another thread has just announced.
  Status status = MongoInstances(clients_).add_session(instance, session_id, kMostSessions,
                                                       transaction.connection());
  if (!status.ok()) return status;
  const std::lock_guard lock(mutex_);
  if (announced_.size() >= kMostSessions) announced_.clear();  // they are announced again
  announced_.emplace(instance, std::move(session));
  return {};
}

MongoWriteAnswer MongoSessions::run(MongoTransaction& transaction, const MongoWrite& write) {
  MongoWriteAnswer answer = transaction.find_and_modify(write);
  // Without an answer it may be on its way yet.
  if (answer.kind != MongoWriteAnswer::Kind::done && answer.server_code == 0) suspect(transaction);
  return answer;
}

MongoWriteAnswer MongoSessions::commit(MongoTransaction& transaction, const std::string& collection,
                                       std::chrono::steady_clock::time_point deadline) {
  MongoWriteAnswer answer = transaction.commit(collection, deadline);
  // The session of one that has ended is the driver's to use again. A commit that was refused
  // otherwise, or never left, leaves the transaction open.
  const bool aborted =
      answer.kind == MongoWriteAnswer::Kind::refused && answer.again && answer.server_code != 0;
  if (answer.kind != MongoWriteAnswer::Kind::done && !aborted) suspect(transaction);
  return answer;
}

void MongoSessions::suspect(const MongoTransaction& transaction) {
  const std::lock_guard lock(mutex_);
  add_suspect(bytes_of(transaction.session_id().get()));
}

void MongoSessions::add_suspect(Bytes session) {
  if (suspects_.size() >= kMostSessions) suspects_.erase(suspects_.begin());
  suspects_.push_back({std::move(session), std::chrono::steady_clock::now() + kSuspected});
}

void MongoSessions::end_suspects() {
  Document ids;
  {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    std::erase_if(suspects_, [now](const Suspect& suspect) { return suspect.until < now; });
    if (suspects_.empty()) return;
    for (std::size_t i = 0; i < suspects_.size(); ++i)
      ids.add(std::to_string(i), document_of(suspects_[i].session));
  }
  // They stay suspects for a while: a statement that is still on its way would start again.
  static_cast<void>(end(ids));
}

}  // namespace seqd
