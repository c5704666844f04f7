#include "daemon/store/mongo/lease/mongo_lease_mode.h"

#include <fmt/format.h>

#include <utility>

#include "daemon/store/mongo/documents/mongo_record_format.h"
#include "daemon/store/mongo/driver/mongo_numbered_writes.h"

namespace seqd {
namespace {

// The mode that the server most likely supports. A wrong guess costs one lease that is refused and
// repeated.
LeaseTrace guess(const MongoTarget& target, LeaseModeOption configured) {
  switch (configured) {
    case LeaseModeOption::slot:
      return LeaseTrace::slot;
    case LeaseModeOption::plain:
      return LeaseTrace::plain;
    case LeaseModeOption::session:
      return LeaseTrace::session;
    case LeaseModeOption::automatic:
      break;
  }
  const mongoc_uri_t* uri = target.uri.get();
  const mongoc_host_list_t* hosts = mongoc_uri_get_hosts(uri);
  const bool several = mongoc_uri_get_srv_hostname(uri) != nullptr ||
                       mongoc_uri_get_replica_set(uri) != nullptr ||
                       (hosts != nullptr && hosts->next != nullptr);
  return several ? LeaseTrace::session : LeaseTrace::slot;
}

}  // namespace

MongoLeaseMode::MongoLeaseMode(MongoClients& clients, LeaseModeOption configured)
    : clients_(clients), configured_(configured), guess_(guess(clients.target(), configured)) {
  if (configured == LeaseModeOption::plain)
    choice_ = Choice{LeaseTrace::plain, "lease_mode = \"plain\" is configured"};
}

LeaseTrace MongoLeaseMode::expected(const CounterBinding& binding) const {
  const std::lock_guard lock(mutex_);
  const LeaseTrace trace = choice_ ? choice_->trace : guess_;
  if (trace != LeaseTrace::slot) return trace;
  const bool plain =
      plain_.contains(binding.collection) || tried_plain_.contains(counter_of(binding));
  return plain ? LeaseTrace::plain : trace;
}

BlockingStore::LeaseMode MongoLeaseMode::present() const {
  const std::lock_guard lock(mutex_);
  if (!choice_) return {};
  BlockingStore::LeaseMode present{lease_trace_word(choice_->trace), choice_->reason};
  if (choice_->trace != LeaseTrace::slot) return present;
  for (const std::string& collection : plain_)
    present.reason += fmt::format(
        "; plain for collection {}, whose validator takes no further field in a counter",
        collection);
  return present;
}

Result<LeaseTrace> MongoLeaseMode::decide(const std::string& collection, const Token& instance) {
  if (configured_ == LeaseModeOption::plain) return LeaseTrace::plain;
  auto facts = clients_.server(collection);
  if (!facts.ok()) return facts.status();
  const auto known = [&]() -> std::optional<LeaseTrace> {
    const std::lock_guard lock(mutex_);
    return choice_ && facts_ == *facts ? std::optional(choice_->trace) : std::nullopt;
  };
  if (const auto trace = known()) return *trace;
  const std::lock_guard choosing(choosing_);
  if (const auto trace = known()) return *trace;  // by another thread meanwhile
  auto chosen = choose(*facts, instance);
  if (!chosen.ok()) return chosen.status();
  const std::lock_guard lock(mutex_);
  facts_ = *facts;
  choice_ = std::move(*chosen);
  return choice_->trace;
}

MongoLeaseMode::Counter MongoLeaseMode::counter_of(const CounterBinding& binding) {
  return {binding.collection, binding.key_field, binding.key_type, binding.key,
          binding.counter_field};
}

bool MongoLeaseMode::validator_refused(const LeaseRequest& request) {
  const std::lock_guard lock(mutex_);
  if (configured_ != LeaseModeOption::automatic || !choice_ || choice_->trace != LeaseTrace::slot)
    return false;
  if (trace_of(request.token) == LeaseTrace::slot) {
    tried_plain_[counter_of(request.binding)] = request.count;
    return true;
  }
  tried_plain_.erase(counter_of(request.binding));  // it was not the field
  return false;
}

void MongoLeaseMode::granted(const LeaseRequest& request, std::int64_t count) {
  if (trace_of(request.token) != LeaseTrace::plain) return;
  const std::lock_guard lock(mutex_);
  const auto tried = tried_plain_.find(counter_of(request.binding));
  if (tried == tried_plain_.end()) return;
  // A lower number than the one that was refused shows nothing: the next lease has a field again.
  if (count >= tried->second) plain_.insert(request.binding.collection);
  tried_plain_.erase(tried);
}

Status MongoLeaseMode::cannot(const char* mode, const std::string& why) const {
  return {ErrorCode::STORE_REFUSED,
          fmt::format("MongoDB at {}: lease_mode = \"{}\" is configured, but {}",
                      clients_.target().hosts, mode, why)};
}

Result<MongoLeaseMode::Choice> MongoLeaseMode::choose(const MongoServerFacts& facts,
                                                      const Token& instance) {
  using Kind = MongoServerFacts::Kind;
  const bool old = facts.wire_version < kMongoWireOfPipelines;
  switch (configured_) {
    case LeaseModeOption::plain:
      break;
    case LeaseModeOption::session:
      if (old)
        return cannot("session",
                      "the server is older than MongoDB 4.2; update it, or set \"auto\"");
      if (facts.kind == Kind::alone)
        return cannot("session",
                      "the server is standalone and has no transactions; make it a replica set "
                      "(one member is enough), or set \"slot\" or \"auto\"");
      if (facts.kind == Kind::sharded)
        return cannot("session",
                      "the server is a mongos, where seqd uses no transactions; set "
                      "\"plain\" or \"auto\"");
      return choose_session(instance);
    case LeaseModeOption::slot:
      if (old)
        return cannot("slot", "the server is older than MongoDB 4.2; update it, or set \"auto\"");
      return Choice{LeaseTrace::slot, "lease_mode = \"slot\" is configured"};
    case LeaseModeOption::automatic:
      if (old) return Choice{LeaseTrace::plain, "the server is older than MongoDB 4.2"};
      if (facts.kind == Kind::replica_set) return choose_session(instance);
      if (facts.kind == Kind::alone)
        return Choice{LeaseTrace::slot, "the server is standalone and has no transactions"};
      return Choice{LeaseTrace::plain, "the server is a mongos"};
  }
  return Choice{LeaseTrace::plain, "lease_mode = \"plain\" is configured"};
}

// Each lease is announced in the collection, and a transaction needs one that exists; making it
// shows whether that is allowed, too.
Result<MongoLeaseMode::Choice> MongoLeaseMode::choose_session(const Token& instance) {
  const Status made =
      clients_.run(Document().add("create", kMongoLedger), kMongoLedger, kMongoNamespaceExists);
  const Status taken =
      made.ok() ? MongoNumberedWrites::probe(clients_, kMongoLedger, instance) : Status();
  if (made.ok() && taken.ok()) return Choice{LeaseTrace::session, "the server is a replica set"};
  // A transient error decides nothing: the mode would stay "plain" until the server changes.
  for (const Status& failed : {made, taken})
    if (failed.code() == ErrorCode::UNAVAILABLE) return failed;
  // Nor does a server that refuses everything, as after a wrong password.
  if (!clients_.read(kMongoLedger, Document().add("_id", "probe")).ok())
    return made.ok() ? taken : made;
  const std::string why =
      made.ok() ? fmt::format("the server takes no numbered writes: {}", taken.text())
                : fmt::format("collection {} cannot be made: {}", kMongoLedger, made.text());
  if (configured_ == LeaseModeOption::automatic) return Choice{LeaseTrace::plain, why};
  return cannot("session", why + (made.ok() ? "; set \"plain\" or \"auto\""
                                            : "; let the user make and write it, or set "
                                              "\"slot\" or \"plain\""));
}

}  // namespace seqd
