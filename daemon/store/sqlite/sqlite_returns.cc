// Ranges that are returned to a SqliteStore, and taken again: a part of sqlite_store.h.
//
// A return is recorded in the table of leases under its own token, in the transaction that applies
// it: so it is applied once, and a request that comes after it was given up finds that out.
#include <fmt/format.h>

#include <utility>

#include "daemon/store/sqlite/sqlite_store.h"

namespace seqd {

ReturnOutcome SqliteStore::return_range(const ReturnRequest& request) {
  if (Status status = check_return_request(request); !status.ok()) return kept(std::move(status));
  const std::lock_guard lock(mutex_);
  if (Status status = begin(); !status.ok()) return not_known(std::move(status));
  bool restored = false;
  if (Status age = check_age(request.instance, request.heartbeat, &restored); !age.ok()) {
    abandon();
    ReturnOutcome older = not_known(std::move(age));
    older.restored = restored;
    return older;
  }
  auto record = find_token(as_lease(request));
  if (!record.ok() || record->known) {
    abandon();
    if (!record.ok()) return not_known(record.status());
    return record->granted ? returned() : kept(given_up_reason(where(request.binding)));
  }
  Status why;
  Status status = return_in_transaction(request, &why);
  const LeaseRequest lease = as_lease(request);
  if (status.ok()) {
    status = why.ok() ? insert_token(lease, "granted", {request.begin, request.end})
                      : insert_token(lease, "void", {});
  }
  bool maybe_applied = false;
  if (status.ok()) status = commit(&maybe_applied);
  if (!status.ok()) {
    abandon();
    return not_known(std::move(status));
  }
  return why.ok() ? returned() : kept(std::move(why));
}

Status SqliteStore::return_in_transaction(const ReturnRequest& request, Status* why) {
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
  if (last_issued + 1 < span.end) return above_the_counter(place, last_issued + 1, span.end);
  // The counter's own check, which a range that was returned does not replace.
  if (request.high_water > last_issued + 1) {
    return above_the_counter(place, last_issued + 1, request.high_water);
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
