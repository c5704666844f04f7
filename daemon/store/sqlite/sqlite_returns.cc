// Ranges that are returned to a SqliteStore, and taken again: a part of sqlite_store.h.
//
// A return is recorded in the table of leases under its own token, in the transaction that applies
// it: so it is applied once, and a request that comes after it was given up finds that out. A batch
// is one transaction, because the disk flush costs more than the returns.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/store/sqlite/sqlite_change.h"

namespace seqd {

ReturnOutcome SqliteStore::return_range(const ReturnRequest& request) {
  return std::move(return_all({&request, 1}).front());
}

std::vector<ReturnOutcome> SqliteStore::return_all(std::span<const ReturnRequest> requests) {
  return batch(requests, &SqliteStore::return_together);
}

std::vector<ReturnOutcome> SqliteStore::return_together(std::span<const ReturnRequest> requests,
                                                        bool* ended) {
  if (const Status status = begin_change(); !status.ok()) {
    ReturnOutcome older = not_known(status);
    older.restored = status.code() == ErrorCode::SEQ_REGRESSED;
    return {requests.size(), older};
  }
  std::vector<ReturnOutcome> outcomes;
  bool written = false;
  for (const ReturnRequest& request : requests) {
    outcomes.push_back(return_in_transaction(request, &written));
    // Some errors roll the whole transaction back.
    if (connection_->in_transaction()) continue;
    *ended = true;
    roll_back();
    return {requests.size(), not_known(outcomes.back().error)};
  }
  bool maybe_applied = false;
  const Status status = written ? commit(&maybe_applied) : Status();
  if (!written || !status.ok()) roll_back();
  // The records may have been written by this transaction, so all of the returns are repeated.
  if (!status.ok()) outcomes.assign(requests.size(), not_known(status));
  return outcomes;
}

ReturnOutcome SqliteStore::return_in_transaction(const ReturnRequest& request, bool* written) {
  ASSERT(connection_->in_transaction());
  if (Status status = check_return_request(request); !status.ok()) return kept(std::move(status));
  bool restored = false;
  if (Status age = check_age(request.instance, request.heartbeat, &restored); !age.ok()) {
    ReturnOutcome older = not_known(std::move(age));
    older.restored = restored;
    return older;
  }
  const LeaseRequest lease = as_lease(request);
  auto record = find_token(lease);
  if (!record.ok()) return not_known(record.status());
  if (record->known)
    return record->granted ? returned() : kept(given_up_reason(where(request.binding)));
  if (Status status = run(statements_.mark); !status.ok()) return not_known(std::move(status));
  Status why;
  Status status = apply_return(request, &why);
  if (status.ok()) {
    status = why.ok() ? insert_token(lease, "granted", {request.begin, request.end})
                      : insert_token(lease, "void", {});
  }
  // One that failed leaves no trace. If it cannot be undone, the whole batch is rolled back.
  Status undone;
  if (!status.ok() && connection_->in_transaction()) undone = run(statements_.undo);
  if (undone.ok() && connection_->in_transaction()) undone = run(statements_.keep);
  if (!undone.ok()) roll_back();
  if (!status.ok()) return not_known(std::move(status));
  if (!undone.ok()) return not_known(std::move(undone));
  *written = true;
  return why.ok() ? returned() : kept(std::move(why));
}

Status SqliteStore::apply_return(const ReturnRequest& request, Status* why) {
  const std::string place = where(request.binding);
  *why = request.give_up ? given_up_reason(place) : Status();
  if (request.give_up) return {};
  auto counter = read_counter(request.binding);
  if (!counter.ok()) return counter.status();
  const std::int64_t next =
      counter->has_value() ? next_id_of((*counter)->value, (*counter)->meaning) : 0;
  // Above a counter that was set back the range would be leased once more.
  if (next < request.end) *why = above_the_counter(place, next, request.end);
  if (request.reuse == Reuse::tail && next > request.end) *why = not_the_tail(place, next, request);
  auto floor = read_floor(request.binding);
  if (!floor.ok()) return floor.status();
  if (request.begin < *floor) *why = below_the_floor(place, *floor, request);
  if (!why->ok()) return {};
  if (request.reuse == Reuse::parked) {
    if (Status status = park(request); !status.ok()) return status;
  } else {
    SqliteQuery query(statements_.write_counter);
    query.bind(1, request.binding.key).bind(2, value_of(request.begin - 1, (*counter)->meaning));
    if (query.step() != SQLITE_DONE) return connection_->error();
  }
  SqliteQuery query(statements_.subtract_total);
  query.bind(1, request.binding.key)
      .bind_blob(2, request.instance.data(), request.instance.size())
      .bind(3, request.end - request.begin);
  return query.step() == SQLITE_DONE ? Status() : connection_->error();
}

Status SqliteStore::park(const ReturnRequest& request) {
  SqliteQuery query(statements_.park);
  query.bind_blob(1, request.token.data(), request.token.size())
      .bind(2, request.binding.key)
      .bind(3, request.begin)
      .bind(4, request.end);
  return query.step() == SQLITE_DONE ? Status() : connection_->error();
}

// The entry stays behind, marked, for as long as the record of the lease that took it.
Result<std::optional<LeasedSpan>> SqliteStore::take_parked(const LeaseRequest& request,
                                                           std::int64_t last_issued) {
  LeasedSpan span;
  {
    SqliteQuery query(statements_.find_parked);
    const int code = query.bind(1, request.binding.key).step();
    if (code == SQLITE_DONE) return std::optional<LeasedSpan>();
    if (code != SQLITE_ROW) return connection_->error();
    span = {query.integer(0), query.integer(1)};
  }
  const std::string place = where(request.binding);
  const std::int64_t next = std::min(last_issued, INT64_MAX - 1) + 1;
  if (next < span.end) return above_the_counter(place, next, span.end);
  // The counter's own check, which a range that was returned does not replace.
  if (request.high_water > next) {
    return above_the_counter(place, next, request.high_water);
  }
  {
    SqliteQuery query(statements_.take_parked);
    query.bind(1, request.binding.key)
        .bind(2, span.begin)
        .bind_blob(3, request.token.data(), request.token.size());
    if (query.step() != SQLITE_DONE) return connection_->error();
  }
  if (Status status = insert_token(request, "granted", span); !status.ok()) return status;
  if (Status status = add_to_totals(request, span); !status.ok()) return status;
  SqliteQuery query(statements_.prune_parked);
  if (query.bind(1, request.binding.key).step() != SQLITE_DONE) return connection_->error();
  return std::optional<LeasedSpan>(span);
}

}  // namespace seqd
