// How a SqliteStore raises a counter, and its floor: a part of sqlite_store.h.
#include <algorithm>

#include "daemon/store/sqlite/sqlite_change.h"

namespace seqd {

Result<std::int64_t> SqliteStore::advance(const AdvanceRequest& request) {
  if (Status status = check_advance_request(request); !status.ok()) return status;
  return change(
      OlderCopy::used, [&] { return advance_in_transaction(request); },
      [](std::int64_t) { return true; });
}

Result<std::int64_t> SqliteStore::advance_in_transaction(const AdvanceRequest& request) {
  const CounterBinding& binding = request.binding;
  auto counter = read_counter(binding);
  if (!counter.ok()) return counter.status();
  auto floor = read_floor(binding);
  if (!floor.ok()) return floor.status();
  std::int64_t next_id = std::max(request.next_id, *floor);
  if (!counter->has_value()) {
    Status status = create_counter(binding, next_id - 1, meaning_of_new(binding));
    if (!status.ok()) return status;
  } else {
    const std::int64_t held = next_id_of((*counter)->value, (*counter)->meaning);
    next_id = std::max(next_id, held);
    SqliteQuery query(statements_.write_counter);
    query.bind(1, binding.key).bind(2, value_of(next_id - 1, (*counter)->meaning));
    if (held < next_id && query.step() != SQLITE_DONE) return connection_->error();
  }
  if (!request.withdraw) return next_id;
  for (const SqliteStatement* statement : {&statements_.raise_floor, &statements_.drop_parked}) {
    SqliteQuery query(*statement);
    if (query.bind(1, binding.key).bind(2, next_id).step() != SQLITE_DONE)
      return connection_->error();
  }
  return next_id;
}

Result<std::int64_t> SqliteStore::read_floor(const CounterBinding& binding) {
  SqliteQuery query(statements_.read_floor);
  const int code = query.bind(1, binding.key).step();
  if (code == SQLITE_DONE) return 0;
  if (code != SQLITE_ROW) return connection_->error();
  const bool integer = query.type(0) == SQLITE_INTEGER;
  return floor_of(integer ? std::optional(query.integer(0)) : std::nullopt, where(binding));
}

}  // namespace seqd
