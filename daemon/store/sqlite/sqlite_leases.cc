// Leases in one SQLite file. A batch is one transaction, because the disk flush costs more than the
// leases.
#include <fmt/format.h>

#include <set>
#include <utility>

#include "daemon/store/sqlite/sqlite_store.h"

namespace seqd {

LeaseOutcome SqliteStore::lease(const LeaseRequest& request) {
  return std::move(lease_all({&request, 1}).front());
}

std::vector<LeaseOutcome> SqliteStore::lease_all(std::span<const LeaseRequest> requests) {
  const std::lock_guard lock(mutex_);
  bool ended = false;
  std::vector<LeaseOutcome> outcomes = lease_together(requests, &ended);
  if (!ended || requests.size() == 1) return outcomes;
  // One lease caused the rollback; it must not fail the others.
  for (std::size_t at = 0; at < requests.size(); ++at)
    outcomes[at] = std::move(lease_together(requests.subspan(at, 1), &ended).front());
  return outcomes;
}

std::vector<LeaseOutcome> SqliteStore::lease_together(std::span<const LeaseRequest> requests,
                                                      bool* ended) {
  std::vector<LeaseOutcome> outcomes(requests.size());
  std::vector<LeaseOutcome*> taken;  // granted when the transaction is committed
  const auto not_applied = [&taken](const Status& why) {
    for (LeaseOutcome* outcome : taken) *outcome = refused(why);
  };
  std::set<Token> tokens;
  Status usable = begin();
  for (std::size_t at = 0; at < requests.size(); ++at) {
    Status status = check_lease_request(requests[at]);
    if (status.ok()) status = usable;
    if (!status.ok()) {
      outcomes[at] = refused(std::move(status));
      continue;
    }
    // The first one is not committed yet, so its record proves nothing.
    if (!tokens.insert(requests[at].token).second) {
      outcomes[at] =
          unknown_outcome({ErrorCode::UNAVAILABLE, "the batch contains this lease twice"});
      continue;
    }
    bool takes = false;
    outcomes[at] = lease_in_transaction(requests[at], &takes);
    if (takes) taken.push_back(&outcomes[at]);
    // Some errors roll the whole transaction back.
    if (connection_->in_transaction()) continue;
    *ended = true;
    usable = outcomes[at].error;
    not_applied(usable);
  }
  if (!usable.ok()) return outcomes;
  if (taken.empty()) {
    abandon();
    return outcomes;
  }
  bool maybe_applied = false;
  if (const Status status = commit(&maybe_applied); !status.ok()) {
    abandon();
    if (!maybe_applied) {
      not_applied(status);
    } else {
      for (LeaseOutcome* outcome : taken) *outcome = unknown_outcome(status);
    }
  }
  return outcomes;
}

LeaseOutcome SqliteStore::lease_in_transaction(const LeaseRequest& request, bool* taken) {
  auto record = find_token(request);
  if (!record.ok()) return refused(record.status());
  if (record->known) {  // the request was delivered before
    if (record->granted)
      return record->parked ? granted_parked(record->span) : granted(record->span);
    return refused(
        {ErrorCode::STORE_REFUSED, fmt::format("{}: lease {} was given up before it arrived",
                                               where(request.binding), to_hex(request.token))});
  }
  bool restored = false;
  if (Status status = check_age(request.instance, request.heartbeat, &restored); !status.ok()) {
    LeaseOutcome outcome = refused(std::move(status));
    outcome.restored = restored;
    return outcome;
  }
  if (Status status = run(statements_.mark); !status.ok()) return refused(std::move(status));
  bool parked = false;
  auto span = take(request, &parked);
  // A refused lease leaves no trace. If it cannot be undone, the whole batch is rolled back.
  Status ended;
  if (span.ok()) {
    ended = run(statements_.keep);
  } else if (connection_->in_transaction()) {
    ended = run(statements_.undo);
    if (ended.ok()) ended = run(statements_.keep);
  }
  if (!ended.ok()) abandon();
  if (!span.ok()) return refused(span.status());
  if (!ended.ok()) return refused(std::move(ended));
  *taken = true;
  return parked ? granted_parked(*span) : granted(*span);
}

}  // namespace seqd
