// Leases in one SQLite file, and their outcomes. A batch is one transaction, because the disk flush
// costs more than the leases.
#include <fmt/format.h>

#include <set>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/store/sqlite/sqlite_change.h"

namespace seqd {
namespace {

Resolution failed(Status error) {
  return {.kind = Resolution::Kind::failed, .begin = 0, .end = 0, .error = std::move(error)};
}

}  // namespace

LeaseOutcome SqliteStore::lease(const LeaseRequest& request) {
  return std::move(lease_all({&request, 1}).front());
}

std::vector<LeaseOutcome> SqliteStore::lease_all(std::span<const LeaseRequest> requests) {
  return batch(requests, &SqliteStore::lease_together);
}

std::vector<LeaseOutcome> SqliteStore::lease_together(std::span<const LeaseRequest> requests,
                                                      bool* ended) {
  std::vector<LeaseOutcome> outcomes(requests.size());
  std::vector<LeaseOutcome*> taken;  // granted when the transaction is committed
  const auto not_applied = [&taken](const Status& why) {
    for (LeaseOutcome* outcome : taken) *outcome = refused(why);
  };
  std::set<Token> tokens;
  Status usable = begin_change();
  const bool restored = usable.code() == ErrorCode::SEQ_REGRESSED;
  for (std::size_t at = 0; at < requests.size(); ++at) {
    Status status = check_lease_request(requests[at]);
    if (status.ok()) status = usable;
    if (!status.ok()) {
      outcomes[at] = refused(std::move(status));
      outcomes[at].restored = restored;
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
  if (!usable.ok() || taken.empty()) {
    roll_back();
    return outcomes;
  }
  bool maybe_applied = false;
  if (const Status status = commit(&maybe_applied); !status.ok()) {
    roll_back();
    if (!maybe_applied) {
      not_applied(status);
    } else {
      for (LeaseOutcome* outcome : taken) *outcome = unknown_outcome(status);
    }
  }
  return outcomes;
}

LeaseOutcome SqliteStore::lease_in_transaction(const LeaseRequest& request, bool* taken) {
  ASSERT(connection_->in_transaction());
  auto record = find_token(request);
  if (!record.ok()) return refused(record.status());
  if (record->known) {  // the request was delivered before
    if (record->granted)
      return record->parked ? granted_parked(record->span) : granted(record->span);
    return refused(
        {ErrorCode::STORE_REFUSED, fmt::format("{}: lease {} was made void before it arrived",
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
  if (!ended.ok()) roll_back();
  if (!span.ok()) return refused(span.status());
  if (!ended.ok()) return refused(std::move(ended));
  *taken = true;
  return parked ? granted_parked(*span) : granted(*span);
}

Resolution SqliteStore::resolve(const LeaseRequest& request) {
  return std::move(resolve_all({&request, 1}).front());
}

std::vector<Resolution> SqliteStore::resolve_all(std::span<const LeaseRequest> requests) {
  return batch(requests, &SqliteStore::resolve_together);
}

std::vector<Resolution> SqliteStore::resolve_together(std::span<const LeaseRequest> requests,
                                                      bool* ended) {
  if (const Status status = begin_change(); !status.ok()) {
    Resolution older = failed(status);
    older.restored = status.code() == ErrorCode::SEQ_REGRESSED;
    return {requests.size(), older};
  }
  std::vector<Resolution> resolutions;
  bool written = false;
  for (const LeaseRequest& request : requests) {
    resolutions.push_back(resolve_in_transaction(request, &written));
    // Some errors roll the whole transaction back.
    if (connection_->in_transaction()) continue;
    *ended = true;
    roll_back();
    return {requests.size(), failed(resolutions.back().error)};
  }
  bool maybe_applied = false;
  const Status status = written ? commit(&maybe_applied) : Status();
  if (!written || !status.ok()) roll_back();
  // Nothing that was read counts if another file is in its place now: others may lease the same.
  if (const Status place = connection_->check_in_place(); !place.ok())
    return {requests.size(), failed(place)};
  // Only what is on the disk keeps a late request out.
  for (Resolution& resolution : resolutions) {
    if (!status.ok() && resolution.kind == Resolution::Kind::absent) resolution = failed(status);
  }
  return resolutions;
}

Resolution SqliteStore::resolve_in_transaction(const LeaseRequest& request, bool* written) {
  ASSERT(connection_->in_transaction());
  // First: in an older copy, nothing is made void, and its answer is not used.
  bool restored = false;
  if (Status age = check_age(request.instance, request.heartbeat, &restored); !age.ok()) {
    Resolution older = failed(std::move(age));
    older.restored = restored;
    return older;
  }
  auto record = find_token(request);
  if (!record.ok()) return failed(record.status());
  if (record->known && record->granted) {
    return {.kind = Resolution::Kind::granted,
            .begin = record->span.begin,
            .end = record->span.end,
            .error = {},
            .parked = record->parked};
  }
  if (!record->known) {
    // From here on a late request with this token is refused.
    *written = true;
    if (Status status = insert_token(request, "void", {}); !status.ok())
      return failed(std::move(status));
  }
  return {.kind = Resolution::Kind::absent, .begin = 0, .end = 0, .error = {}};
}

}  // namespace seqd
