#include "daemon/store/sqlite/sqlite_register.h"

#include <fmt/format.h>

#include <utility>

namespace seqd {
namespace {

// `key` is the one that a number belongs to now, and of the whole register: so it is unique with
// `name` alone. The record of an end, behind the highest number, closes its period.
constexpr char kTables[] = R"(
  CREATE TABLE register(
    name TEXT NOT NULL,
    period TEXT NOT NULL,
    number INTEGER NOT NULL,
    state TEXT NOT NULL CHECK(state IN ('assigned', 'confirmed', 'void', 'free', 'end')),
    key TEXT,
    text TEXT NOT NULL,
    assigned_ms INTEGER NOT NULL,
    assigned_by TEXT NOT NULL,
    confirmed_ms INTEGER NOT NULL DEFAULT 0,
    confirmed_by TEXT NOT NULL DEFAULT '',
    former INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY(name, period, number)) WITHOUT ROWID;
  CREATE UNIQUE INDEX register_by_key ON register(name, key) WHERE key IS NOT NULL;
  CREATE INDEX register_free ON register(name, period, number) WHERE state = 'free';
  CREATE TABLE register_former(
    name TEXT NOT NULL,
    period TEXT NOT NULL,
    number INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    key TEXT NOT NULL,
    assigned_ms INTEGER NOT NULL,
    assigned_by TEXT NOT NULL,
    cancelled_ms INTEGER NOT NULL,
    cancelled_by TEXT NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY(name, period, number, ordinal)) WITHOUT ROWID;
)";

constexpr std::string_view kRecord =
    "SELECT period, number, state, key, text, assigned_ms, assigned_by, confirmed_ms, "
    "confirmed_by, former FROM register ";

NumberState state_of(std::string_view word) {
  for (const NumberState state : {NumberState::confirmed, NumberState::voided, NumberState::free}) {
    if (word == number_state_word(state)) return state;
  }
  return NumberState::assigned;
}

std::string name_of_counter(const RegisterPlace& place) {
  return place.period.empty() ? place.binding.key : place.binding.key + "@" + place.period;
}

}  // namespace

// --- tables

Result<bool> SqliteRegister::open() {
  auto statement =
      connection_.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'register'");
  if (!statement.ok()) return statement.status();
  SqliteQuery query(*statement);
  const int code = query.step();
  if (code != SQLITE_ROW && code != SQLITE_DONE) return connection_.error();
  return code == SQLITE_ROW;
}

Status SqliteRegister::create() {
  const Result<bool> is_there = open();
  if (!is_there.ok() || *is_there) return is_there.status();
  return connection_.run(kTables) == SQLITE_OK ? Status() : connection_.error();
}

Status SqliteRegister::claim_name() {
  const std::string name = name_of_counter(place_);
  {
    auto statement = connection_.prepare(
        "INSERT INTO sequence(name, seq, meaning) VALUES(?1, ?2, ?2) ON CONFLICT(name) DO NOTHING");
    if (!statement.ok()) return statement.status();
    SqliteQuery query(*statement);
    if (query.bind(1, name).bind(2, kMark).step() != SQLITE_DONE) return connection_.error();
  }
  auto statement = connection_.prepare("SELECT seq FROM sequence WHERE name = ?1");
  if (!statement.ok()) return statement.status();
  SqliteQuery query(*statement);
  if (query.bind(1, name).step() != SQLITE_ROW) return connection_.error();
  if (query.text(0) == kMark) return {};
  return {ErrorCode::WRONG_MODE,
          fmt::format("\"{}\" is a counter of this store, from which IDs were leased: give the "
                      "register another name (sequence.key)",
                      name)};
}

SqliteQuery& SqliteRegister::of_period(SqliteQuery& query) const {
  return query.bind(1, place_.binding.key).bind(2, place_.period);
}

// --- reading

Result<SqliteRegister::Highest> SqliteRegister::highest() {
  auto statement = connection_.prepare(
      "SELECT number, state FROM register WHERE name = ?1 AND period = ?2 "
      "ORDER BY number DESC LIMIT 1");
  if (!statement.ok()) return statement.status();
  SqliteQuery query(*statement);
  const int code = of_period(query).step();
  if (code == SQLITE_DONE) return Highest{};
  if (code != SQLITE_ROW) return connection_.error();
  const bool closed = query.text(1) == "end";
  return Highest{closed ? query.integer(0) - 1 : query.integer(0), closed};
}

Status SqliteRegister::read_former(NumberRecord& record) {
  auto statement = connection_.prepare(
      "SELECT key, assigned_ms, assigned_by, cancelled_ms, cancelled_by, reason "
      "FROM register_former WHERE name = ?1 AND period = ?2 AND number = ?3 ORDER BY ordinal");
  if (!statement.ok()) return statement.status();
  SqliteQuery query(*statement);
  query.bind(1, place_.binding.key).bind(2, record.period).bind(3, record.number);
  int code = query.step();
  for (; code == SQLITE_ROW; code = query.step()) {
    record.former.push_back({.key = std::string(query.text(0)),
                             .assigned = {query.integer(1), std::string(query.text(2))},
                             .cancelled = {query.integer(3), std::string(query.text(4))},
                             .reason = std::string(query.text(5))});
  }
  return code == SQLITE_DONE ? Status() : connection_.error();
}

Result<std::vector<NumberRecord>> SqliteRegister::records(SqliteQuery& query) {
  std::vector<NumberRecord> found;
  int code = query.step();
  for (; code == SQLITE_ROW; code = query.step()) {
    NumberRecord record;
    record.period = query.text(0);
    record.number = query.integer(1);
    record.state = state_of(query.text(2));
    record.key = query.text(3);
    record.text = query.text(4);
    record.assigned = {query.integer(5), std::string(query.text(6))};
    record.confirmed = {query.integer(7), std::string(query.text(8))};
    if (query.integer(9) > 0) {
      if (Status status = read_former(record); !status.ok()) return status;
    }
    found.push_back(std::move(record));
  }
  if (code != SQLITE_DONE) return connection_.error();
  return found;
}

Result<std::optional<NumberRecord>> SqliteRegister::one(SqliteQuery& query) {
  auto found = records(query);
  if (!found.ok()) return found.status();
  if (found->empty()) return std::optional<NumberRecord>();
  return std::optional(std::move(found->front()));
}

Result<RegisterReading> SqliteRegister::read(const RegisterQuery& query) {
  RegisterReading reading;
  reading.of_keys.resize(query.keys.size());
  reading.of_numbers.resize(query.numbers.size());
  const Result<bool> is_there = open();
  if (!is_there.ok()) return is_there.status();
  if (!*is_there) return reading;
  const auto last = highest();
  if (!last.ok()) return last.status();
  reading.highest = last->number;
  reading.closed = last->closed;
  auto by_key = connection_.prepare(fmt::format("{}WHERE name = ?1 AND key = ?2", kRecord).c_str());
  if (!by_key.ok()) return by_key.status();
  for (std::size_t at = 0; at < query.keys.size(); ++at) {
    SqliteQuery use(*by_key);
    auto found = one(use.bind(1, place_.binding.key).bind(2, query.keys[at]));
    if (!found.ok()) return found.status();
    reading.of_keys[at] = std::move(*found);
  }
  auto by_number = connection_.prepare(
      fmt::format("{}WHERE name = ?1 AND period = ?2 AND number = ?3 AND state <> 'end'", kRecord)
          .c_str());
  if (!by_number.ok()) return by_number.status();
  for (std::size_t at = 0; at < query.numbers.size(); ++at) {
    SqliteQuery use(*by_number);
    auto found = one(of_period(use).bind(3, query.numbers[at]));
    if (!found.ok()) return found.status();
    reading.of_numbers[at] = std::move(*found);
  }
  if (query.free == 0) return reading;
  auto free = connection_.prepare(
      fmt::format(
          "{}WHERE name = ?1 AND period = ?2 AND state = 'free' ORDER BY number {} LIMIT ?3",
          kRecord, query.newest_free ? "DESC" : "ASC")
          .c_str());
  if (!free.ok()) return free.status();
  SqliteQuery use(*free);
  auto found = records(of_period(use).bind(3, static_cast<std::int64_t>(query.free)));
  if (!found.ok()) return found.status();
  reading.free = std::move(*found);
  return reading;
}

Result<std::vector<NumberRecord>> SqliteRegister::page(const RegisterPageQuery& query) {
  const Result<bool> is_there = open();
  if (!is_there.ok()) return is_there.status();
  if (!*is_there) return std::vector<NumberRecord>();
  auto statement = connection_.prepare(
      fmt::format("{}WHERE name = ?1 AND period = ?2 AND number > ?3 AND state <> 'end' "
                  "AND (?4 = '' OR state = ?4) ORDER BY number LIMIT ?5",
                  kRecord)
          .c_str());
  if (!statement.ok()) return statement.status();
  SqliteQuery use(*statement);
  of_period(use)
      .bind(3, query.after)
      .bind(4, std::string_view(query.state ? number_state_word(*query.state) : ""))
      .bind(5, static_cast<std::int64_t>(query.limit));
  return records(use);
}

// --- changing

Result<bool> SqliteRegister::changes(SqliteQuery& query) {
  const int code = query.step();
  if (code != SQLITE_ROW && code != SQLITE_DONE) return connection_.error();
  return code == SQLITE_ROW;
}

Result<bool> SqliteRegister::apply(const RegisterChange& change) {
  if (Status status = create(); !status.ok()) return status;
  switch (change.kind) {
    case RegisterChange::Kind::add:
      return change.key.empty() ? add_void(change) : add(change, "assigned");
    case RegisterChange::Kind::refill:
      return refill(change);
    case RegisterChange::Kind::confirm:
      return confirm(change);
    case RegisterChange::Kind::cancel:
      return cancel(change);
    case RegisterChange::Kind::close:
      return close(change);
  }
  return false;
}

Result<bool> SqliteRegister::add(const RegisterChange& change, std::string_view state) {
  const auto last = highest();
  if (!last.ok()) return last.status();
  const std::int64_t next = last->number == 0 ? place_.binding.first_id : last->number + 1;
  if (last->closed || change.number != next) return false;
  if (last->number == 0) {
    if (Status status = claim_name(); !status.ok()) return status;
  }
  auto statement = connection_.prepare(
      "INSERT INTO register(name, period, number, state, key, text, assigned_ms, assigned_by) "
      "VALUES(?1, ?2, ?3, ?4, nullif(?5, ''), ?6, ?7, ?8) ON CONFLICT DO NOTHING RETURNING 1");
  if (!statement.ok()) return statement.status();
  SqliteQuery query(*statement);
  of_period(query)
      .bind(3, change.number)
      .bind(4, state)
      .bind(5, change.key)
      .bind(6, change.text)
      .bind(7, change.stamp.at_ms)
      .bind(8, change.stamp.by);
  return changes(query);
}

// Its record is that of a number that was cancelled for an empty key.
Result<bool> SqliteRegister::add_void(const RegisterChange& change) {
  const Result<bool> added = add(change, "void");
  if (!added.ok() || !*added) return added;
  auto statement = connection_.prepare(
      "UPDATE register SET former = 1 WHERE name = ?1 AND period = ?2 AND number = ?3");
  if (!statement.ok()) return statement.status();
  SqliteQuery query(*statement);
  if (of_period(query).bind(3, change.number).step() != SQLITE_DONE) return connection_.error();
  auto former = connection_.prepare(
      "INSERT INTO register_former VALUES(?1, ?2, ?3, 1, '', ?4, ?5, ?4, ?5, ?6)");
  if (!former.ok()) return former.status();
  SqliteQuery reason(*former);
  of_period(reason)
      .bind(3, change.number)
      .bind(4, change.stamp.at_ms)
      .bind(5, change.stamp.by)
      .bind(6, change.reason);
  if (reason.step() != SQLITE_DONE) return connection_.error();
  return true;
}

Result<bool> SqliteRegister::refill(const RegisterChange& change) {
  auto statement = connection_.prepare(
      "UPDATE OR IGNORE register SET state = 'assigned', key = ?4, assigned_ms = ?6, "
      "assigned_by = ?7 WHERE name = ?1 AND period = ?2 AND number = ?3 AND state = 'free' "
      "AND former = ?5 AND NOT EXISTS (SELECT 1 FROM register_former AS f WHERE f.name = ?1 AND "
      "f.period = ?2 AND f.number = ?3 AND f.key = ?4) AND NOT EXISTS (SELECT 1 FROM register AS r "
      "WHERE r.name = ?1 AND r.key = ?4) RETURNING 1");
  if (!statement.ok()) return statement.status();
  SqliteQuery query(*statement);
  of_period(query)
      .bind(3, change.number)
      .bind(4, change.key)
      .bind(5, static_cast<std::int64_t>(change.former))
      .bind(6, change.stamp.at_ms)
      .bind(7, change.stamp.by);
  return changes(query);
}

Result<bool> SqliteRegister::confirm(const RegisterChange& change) {
  auto statement = connection_.prepare(
      "UPDATE register SET state = 'confirmed', confirmed_ms = ?5, confirmed_by = ?6 WHERE "
      "name = ?1 AND period = ?2 AND number = ?3 AND key = ?4 AND state = 'assigned' RETURNING 1");
  if (!statement.ok()) return statement.status();
  SqliteQuery query(*statement);
  of_period(query)
      .bind(3, change.number)
      .bind(4, change.key)
      .bind(5, change.stamp.at_ms)
      .bind(6, change.stamp.by);
  return changes(query);
}

// The key leaves the record, and stays beside it.
Result<bool> SqliteRegister::cancel(const RegisterChange& change) {
  const auto last = highest();
  if (!last.ok()) return last.status();
  if (change.free && last->closed) return false;
  {
    auto statement = connection_.prepare(
        "INSERT INTO register_former SELECT name, period, number, former + 1, key, assigned_ms, "
        "assigned_by, ?5, ?6, ?7 FROM register WHERE name = ?1 AND period = ?2 AND number = ?3 AND "
        "key = ?4 AND state = 'assigned' RETURNING 1");
    if (!statement.ok()) return statement.status();
    SqliteQuery query(*statement);
    of_period(query)
        .bind(3, change.number)
        .bind(4, change.key)
        .bind(5, change.stamp.at_ms)
        .bind(6, change.stamp.by)
        .bind(7, change.reason);
    const Result<bool> kept = changes(query);
    if (!kept.ok() || !*kept) return kept;
  }
  auto statement = connection_.prepare(
      "UPDATE register SET state = ?4, key = NULL, former = former + 1 WHERE name = ?1 AND "
      "period = ?2 AND number = ?3 RETURNING 1");
  if (!statement.ok()) return statement.status();
  SqliteQuery query(*statement);
  of_period(query)
      .bind(3, change.number)
      .bind(4, std::string_view(
                   number_state_word(change.free ? NumberState::free : NumberState::voided)));
  return changes(query);
}

Result<bool> SqliteRegister::close(const RegisterChange& change) {
  const Result<bool> ended = add(change, "end");
  if (!ended.ok() || !*ended) return ended;
  auto statement = connection_.prepare(
      "UPDATE register SET state = 'void' WHERE name = ?1 AND period = ?2 AND state = 'free'");
  if (!statement.ok()) return statement.status();
  SqliteQuery query(*statement);
  if (of_period(query).step() != SQLITE_DONE) return connection_.error();
  return true;
}

}  // namespace seqd
