#include "daemon/store/mongo/mongo_store.h"

#include <fmt/format.h>

#include "daemon/store/mongo/insert/mongo_insert.h"
#include "daemon/store/mongo/lease/mongo_advance.h"
#include "daemon/store/mongo/lease/mongo_counter.h"
#include "daemon/store/mongo/lease/mongo_forget.h"
#include "daemon/store/mongo/lease/mongo_parked.h"
#include "daemon/store/mongo/lease/mongo_return.h"
#include "daemon/store/mongo/mongo_purge.h"

namespace seqd {
namespace {

LeaseOutcome of_older_copy(LeaseOutcome outcome, bool restored) {
  outcome.restored = restored;
  return outcome;
}

}  // namespace

Result<std::unique_ptr<MongoStore>> MongoStore::open(const MongoDriver& driver,
                                                     const MongoStoreOptions& options) {
  auto target = read_mongo_uri(options);
  if (!target.ok()) return target.status();
  auto clients = MongoClients::open(driver, std::move(*target));
  if (!clients.ok()) return clients.status();
  return std::unique_ptr<MongoStore>(new MongoStore(std::move(*clients), options));
}

Token MongoStore::new_token(Random& random, const CounterBinding& binding) {
  const LeaseTrace trace = mode_.expected(binding);
  return trace == LeaseTrace::session ? session_tokens_.next(random)
                                      : new_lease_token(random, trace);
}

StorePlace MongoStore::place() const {
  const MongoTarget& target = clients_->target();
  const char* const set = mongoc_uri_get_replica_set(target.uri.get());
  return {fmt::format("mongodb {}{}{} {}", target.hosts, set == nullptr ? "" : " ",
                      set == nullptr ? "" : set, target.database),
          {}};
}

// A lease is sent as its token is marked or not at all: the token in the log then shows where to
// look.
Status MongoStore::check_trace(const LeaseRequest& request) {
  auto mode = mode_.decide(request.binding.collection, request.instance);
  if (!mode.ok()) return mode.status();
  const LeaseTrace marked = trace_of(request.token);
  // Where numbered writes go, transactions go, too.
  const bool possible =
      marked == *mode || (*mode == LeaseTrace::session && marked == LeaseTrace::transaction);
  if (possible || marked == LeaseTrace::plain) return {};
  return {ErrorCode::UNAVAILABLE,
          fmt::format("{}: leases are traced by {} from now on ({}), and this one was to be traced "
                      "by {}; it is requested again",
                      clients_->where(request.binding.collection), lease_trace_word(*mode),
                      mode_.present().reason, lease_trace_word(marked))};
}

LeaseOutcome MongoStore::lease(const LeaseRequest& request) {
  if (Status status = check_lease_request(request); !status.ok()) return refused(std::move(status));
  if (Status status = check_mongo_binding(request.binding); !status.ok())
    return refused(std::move(status));
  if (Status status = check_trace(request); !status.ok()) return refused(std::move(status));
  bool restored = false;
  // Before it, too, where what was granted could not be looked up when the comparison behind it
  // fails.
  if (trace_of(request.token) == LeaseTrace::plain) {
    Status age = check_age(request.instance, request.heartbeat, &restored);
    if (!age.ok()) return of_older_copy(refused(std::move(age)), restored);
  }
  if (is_in_ledger(trace_of(request.token))) sessions_.take_over(request.instance);
  LeaseOutcome outcome = lease_at_counter(request);
  if (outcome.kind != LeaseOutcome::Kind::granted) return outcome;
  // Behind the lease: a database that was put back before it is noticed, whenever that was.
  Status age = check_age(request.instance, request.heartbeat, &restored);
  if (age.ok()) return outcome;
  // The look-up compares again.
  if (!restored && trace_of(request.token) == LeaseTrace::plain)
    unconfirmed_.keep(request, outcome);
  return of_older_copy(unknown_outcome(std::move(age)), restored);
}

LeaseOutcome MongoStore::lease_at_counter(const LeaseRequest& request) {
  const std::pair<std::string, std::string> place(request.binding.collection,
                                                  request.binding.key_field);
  bool index_known = false;
  {
    const std::lock_guard lock(mutex_);
    index_known = indexed_.contains(place);
  }
  MongoCounter counter(*clients_, records_, sessions_, sweep_, request);
  LeaseOutcome outcome = counter.lease(index_known);
  if (outcome.kind == LeaseOutcome::Kind::refused && counter.refused_by_validator() &&
      mode_.validator_refused(request)) {
    // No waiting request fails for it yet.
    outcome = refused({ErrorCode::UNAVAILABLE,
                       outcome.error.text() + "; it is requested again without that object"});
  }
  if (outcome.kind != LeaseOutcome::Kind::granted) return outcome;
  mode_.granted(request, outcome.end - outcome.begin);
  if (!index_known) {
    const std::lock_guard lock(mutex_);
    indexed_.insert(place);
  }
  return outcome;
}

Status MongoStore::check_age(const Token& instance, std::int64_t heartbeat, bool* restored) {
  if (heartbeat == 0) return {};
  auto age = instances_.compare(instance, heartbeat);
  if (!age.ok()) return age.status();
  *restored = age->older;
  return age->older ? older_copy(clients_->where(kMongoInstances), heartbeat, age->beat) : Status();
}

Resolution MongoStore::resolve(const LeaseRequest& request) {
  // By the token alone, not by the present mode: the lease is where it was sent.
  if (trace_of(request.token) == LeaseTrace::plain) return resolve_plain(request);
  // Before it, too: in an older copy, nothing is made void, and its answer is not used.
  bool restored = false;
  Status age = check_age(request.instance, request.heartbeat, &restored);
  if (age.ok()) {
    if (is_in_ledger(trace_of(request.token))) {
      sessions_.take_over(request.instance);
      sessions_.end_suspects();
    }
    bool refused_by_validator = false;
    Resolution found = records_.resolve(request, &refused_by_validator);
    if (refused_by_validator) static_cast<void>(mode_.validator_refused(request));
    if (found.kind == Resolution::Kind::failed) return found;
    age = check_age(request.instance, request.heartbeat, &restored);
    if (age.ok()) return found;
  }
  return {.kind = Resolution::Kind::failed, .error = std::move(age), .restored = restored};
}

Resolution MongoStore::resolve_plain(const LeaseRequest& request) {
  const std::optional<Resolution> granted = unconfirmed_.find(request);
  if (!granted) return {.kind = Resolution::Kind::untraceable, .error = {}};
  bool restored = false;
  Status age = check_age(request.instance, request.heartbeat, &restored);
  if (age.ok() || restored) unconfirmed_.drop(request);
  if (age.ok()) return *granted;
  return {.kind = Resolution::Kind::failed, .error = std::move(age), .restored = restored};
}

Result<ClaimOutcome> MongoStore::claim(const ClaimRequest& request) {
  auto outcome = instances_.claim(request);
  // Leases follow a claim; their first token is then marked with the decided mode, not with the
  // expected one. If the server does not support the configured mode, the leases fail with that
  // error.
  if (outcome.ok()) static_cast<void>(mode_.decide(kMongoLedger, request.instance));
  return outcome;
}

Result<CounterReading> MongoStore::read(const ReadRequest& request) {
  if (Status status = check_counter_binding(request.binding); !status.ok()) return status;
  if (Status status = check_mongo_binding(request.binding); !status.ok()) return status;
  auto reading = read_mongo_counter(*clients_, request.binding);
  if (!reading.ok() || !reading->exists) return reading;
  auto mode = mode_.decide(request.binding.collection, request.instance);
  if (!mode.ok()) return mode.status();
  auto parked = count_parked(*clients_, request.binding, *mode);
  if (!parked.ok()) return parked.status();
  reading->parked = *parked;
  return reading;
}

Result<std::int64_t> MongoStore::advance(const AdvanceRequest& request) {
  if (Status status = check_advance_request(request); !status.ok()) return status;
  if (Status status = check_mongo_binding(request.binding); !status.ok()) return status;
  return advance_mongo_counter(*clients_, request);
}

ReturnOutcome MongoStore::return_range(const ReturnRequest& request) {
  if (Status status = check_return_request(request); !status.ok()) return kept(std::move(status));
  if (Status status = check_mongo_binding(request.binding); !status.ok())
    return kept(std::move(status));
  // As resolve() does.
  bool restored = false;
  Status age = check_age(request.instance, request.heartbeat, &restored);
  if (age.ok()) {
    if (is_in_ledger(trace_of(request.token))) {
      sessions_.take_over(request.instance);
      if (request.give_up) sessions_.end_suspects();
    }
    ReturnOutcome outcome = MongoReturn(*clients_, records_, sessions_, request).run();
    if (outcome.kind == ReturnOutcome::Kind::failed) return outcome;
    age = check_age(request.instance, request.heartbeat, &restored);
    if (age.ok()) return outcome;
  }
  ReturnOutcome older = not_known(std::move(age));
  older.restored = restored;
  return older;
}

std::vector<InsertOutcome> MongoStore::insert(const InsertBatch& batch) {
  return MongoInsert(*clients_, collections_, batch).run();
}

Result<CounterPage> MongoStore::find_counters(const CounterQuery& query) {
  CounterBinding binding = query.binding;
  binding.key = query.form.before + std::string(query.form.period, '0') + query.form.behind;
  if (Status status = check_mongo_binding(binding); !status.ok()) return status;
  return MongoPurge(*clients_).find(query);
}

std::vector<RemovalOutcome> MongoStore::remove_counters(const CounterRemoval& removal) {
  return MongoPurge(*clients_).remove(removal);
}

Result<InstanceRecords> MongoStore::forget(const ForgetRequest& request) {
  if (!request.only_look && request.entry) {
    // A transaction left open keeps a counter locked; its session is known only by our entry.
    sessions_.take_over(request.instance);
    sessions_.end_suspects();
  }
  return MongoForget(*clients_, records_, request).run();
}

}  // namespace seqd
