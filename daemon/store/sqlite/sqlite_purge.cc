// How a SqliteStore finds old counters and removes them: a part of sqlite_store.h.
//
// A counter and the records of its leases are removed in one transaction. A daemon that still looks
// one of them up would find that it was not applied, and has no IDs of it.
#include <optional>
#include <utility>

#include "daemon/store/sqlite/sqlite_store.h"

namespace seqd {
namespace {

// Keys are compared as bytes. The length comes first: it is what others' names differ in.
constexpr char kFind[] =
    "SELECT name FROM sequence WHERE name > ?1 AND typeof(name) = 'text' AND "
    "length(CAST(name AS BLOB)) = ?2 ORDER BY name LIMIT ?3";

constexpr const char* kRemove[] = {
    "DELETE FROM parked WHERE name = ?1",   "DELETE FROM lease WHERE name = ?1",
    "DELETE FROM total WHERE name = ?1",    "DELETE FROM floor WHERE name = ?1",
    "DELETE FROM sequence WHERE name = ?1",
};

RemovalOutcome failed(Status error) {
  return {RemovalOutcome::Kind::failed, std::move(error)};
}

}  // namespace

Result<CounterPage> SqliteStore::find_counters(const CounterQuery& query) {
  const std::lock_guard lock(mutex_);
  if (Status status = begin(); !status.ok()) return status;
  auto found = find_in_transaction(query);
  roll_back();
  if (!found.ok()) return found.status();
  CounterPage page;
  page.by_key_alone = true;
  page.more = found->size() == query.limit;
  if (!found->empty()) page.after = found->back().key;
  page.counters = std::move(*found);
  return page;
}

Result<std::vector<FoundCounter>> SqliteStore::find_in_transaction(const CounterQuery& query) {
  std::vector<FoundCounter> counters;
  {
    auto statement = connection_->prepare(kFind);
    if (!statement.ok()) return statement.status();
    SqliteQuery names(*statement);
    names.bind(1, query.after)
        .bind(2, static_cast<std::int64_t>(query.form.length()))
        .bind(3, static_cast<std::int64_t>(query.limit));
    int code = SQLITE_ROW;
    while ((code = names.step()) == SQLITE_ROW) {
      counters.emplace_back();
      counters.back().key = names.text(0);
    }
    if (code != SQLITE_DONE) return connection_->error();
  }
  CounterBinding binding = query.binding;
  for (FoundCounter& counter : counters) {
    binding.key = counter.key;
    const auto state = read_counter(binding);
    if (!state.ok()) {
      counter.problem = state.status().text();
    } else if (state->has_value()) {
      counter.number = (*state)->value;
      counter.last = last_issued_of(counter.number, (*state)->meaning);
    }
  }
  return counters;
}

std::vector<RemovalOutcome> SqliteStore::remove_counters(const CounterRemoval& removal) {
  const std::lock_guard lock(mutex_);
  if (Status status = begin_change(OlderCopy::used); !status.ok())
    return {failed(std::move(status))};
  std::vector<RemovalOutcome> outcomes;
  for (const FoundCounter& counter : removal.counters) {
    auto outcome = remove_in_transaction(removal.binding, counter);
    if (!outcome.ok()) {
      roll_back();
      return {failed(outcome.status())};
    }
    outcomes.push_back(std::move(*outcome));
  }
  bool maybe_applied = false;
  if (Status status = commit(&maybe_applied); !status.ok()) {
    roll_back();
    return {failed(std::move(status))};
  }
  return outcomes;
}

Result<RemovalOutcome> SqliteStore::remove_in_transaction(const CounterBinding& binding,
                                                          const FoundCounter& counter) {
  CounterBinding found = binding;
  found.key = counter.key;
  const auto state = read_counter(found);
  // Some errors roll the whole transaction back. Behind one, each removal would be a step of its
  // own, and another daemon could lease between the look at a counter and its end.
  if (!state.ok() && !connection_->in_transaction()) return state.status();
  if (!state.ok() || !state->has_value() || (*state)->value != counter.number)
    return RemovalOutcome{RemovalOutcome::Kind::changed, {}};
  for (const char* sql : kRemove) {
    auto statement = connection_->prepare(sql);
    if (!statement.ok()) return statement.status();
    SqliteQuery query(*statement);
    query.bind(1, found.key);
    if (query.step() != SQLITE_DONE) return connection_->error();
  }
  return RemovalOutcome{RemovalOutcome::Kind::removed, {}};
}

}  // namespace seqd
