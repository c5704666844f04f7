// The only foreign API here is SQLite's.
#include "daemon/store/sqlite/sqlite_store.h"

#include <fmt/format.h>

#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/store/sqlite/sqlite_register.h"

namespace seqd {
namespace {

const char* type_word(int type) {
  switch (type) {
    case SQLITE_FLOAT:
      return "a floating-point number";
    case SQLITE_TEXT:
      return "text";
    case SQLITE_BLOB:
      return "a blob";
    case SQLITE_NULL:
      return "NULL";
    default:
      return "an integer";
  }
}

}  // namespace

Status SqliteStore::prepare() {
  const std::pair<SqliteStatement*, const char*> wanted[] = {
      {&statements_.begin, "BEGIN IMMEDIATE"},
      {&statements_.commit, "COMMIT"},
      {&statements_.rollback, "ROLLBACK"},
      {&statements_.mark, "SAVEPOINT mark"},
      {&statements_.keep, "RELEASE mark"},
      {&statements_.undo, "ROLLBACK TO mark"},
      {&statements_.read_counter, "SELECT seq, meaning FROM sequence WHERE name = ?1"},
      {&statements_.create_counter, "INSERT INTO sequence(name, seq, meaning) VALUES(?1, ?2, ?3)"},
      {&statements_.write_counter, "UPDATE sequence SET seq = ?2 WHERE name = ?1"},
      {&statements_.find_token, "SELECT state, first, after, name FROM lease WHERE token = ?1"},
      {&statements_.insert_token,
       "INSERT INTO lease(token, instance, name, state, first, after, sequence) VALUES(?1, ?2, ?3, "
       "?4, ?5, ?6, ?7)"},
      {&statements_.prune_tokens,
       "DELETE FROM lease WHERE instance = ?1 AND name = ?2 AND sequence = ?4 AND ordinal <= "
       "(SELECT ordinal FROM lease WHERE instance = ?1 AND name = ?2 AND sequence = ?4 ORDER BY "
       "ordinal DESC LIMIT 1 OFFSET ?3)"},
      {&statements_.add_total,
       "INSERT INTO total(name, instance, since, leases, ids) VALUES(?1, ?2, ?3, 1, ?4) "
       "ON CONFLICT(name, instance) DO UPDATE SET leases = leases + 1, ids = ids + ?4"},
      {&statements_.subtract_total,
       // An instance without sums of its own has them in the row without an instance: see
       // sqlite_forget.cc.
       "UPDATE total SET ids = ids - ?3 WHERE name = ?1 AND instance = CASE WHEN EXISTS (SELECT 1 "
       "FROM total WHERE name = ?1 AND instance = ?2) THEN ?2 ELSE zeroblob(16) END"},
      {&statements_.park, "INSERT INTO parked(token, name, first, after) VALUES(?1, ?2, ?3, ?4)"},
      {&statements_.find_parked,
       "SELECT first, after FROM parked WHERE name = ?1 AND taken IS NULL ORDER BY first "
       "LIMIT 1"},
      {&statements_.take_parked,
       "UPDATE parked SET taken = ?3 WHERE name = ?1 AND first = ?2 AND taken IS NULL"},
      {&statements_.was_parked, "SELECT 1 FROM parked WHERE name = ?1 AND taken = ?2"},
      {&statements_.prune_parked,
       "DELETE FROM parked WHERE name = ?1 AND taken IS NOT NULL AND NOT EXISTS (SELECT 1 FROM "
       "lease WHERE lease.token = parked.taken)"},
      {&statements_.read_totals,
       "SELECT min(since), sum(CASE WHEN instance = ?2 THEN leases ELSE 0 END), "
       "sum(CASE WHEN instance = ?2 THEN ids ELSE 0 END), sum(leases), sum(ids) FROM total "
       "WHERE name = ?1"},
      {&statements_.sum_parked,
       "SELECT count(*), total(after - first) FROM parked WHERE name = ?1 AND taken IS NULL"},
      {&statements_.drop_parked,
       "DELETE FROM parked WHERE name = ?1 AND taken IS NULL AND first < ?2"},
      {&statements_.read_floor, "SELECT floor FROM floor WHERE name = ?1"},
      {&statements_.raise_floor,
       "INSERT INTO floor(name, floor) VALUES(?1, ?2) "
       "ON CONFLICT(name) DO UPDATE SET floor = max(floor, ?2)"},
      {&statements_.read_commits, "SELECT commits FROM identity"},
      {&statements_.write_commits, "UPDATE identity SET commits = ?1"},
      {&statements_.mark_older, "UPDATE identity SET commits = -1 - commits WHERE commits >= 0"},
      {&statements_.read_epoch, "SELECT epoch, nonce FROM instance WHERE id = ?1"},
      {&statements_.create_epoch, "INSERT INTO instance(id, epoch, nonce) VALUES(?1, ?2, ?3)"},
      {&statements_.write_epoch, "UPDATE instance SET epoch = ?2, nonce = ?3 WHERE id = ?1"},
      {&statements_.read_beat, "SELECT beat FROM heartbeat WHERE id = ?1"},
      {&statements_.write_beat,
       "INSERT INTO heartbeat(id, beat) SELECT id, ?2 FROM instance WHERE id = ?1 "
       "ON CONFLICT(id) DO UPDATE SET beat = max(beat, ?2)"},
  };
  for (const auto& [statement, sql] : wanted) {
    auto prepared = connection_->prepare(sql);
    if (!prepared.ok()) return prepared.status();
    *statement = std::move(*prepared);
  }
  return {};
}

std::string SqliteStore::where(const CounterBinding& binding) const {
  return fmt::format("SQLite file {}, table sequence, row \"{}\"", path_, binding.key);
}

Status SqliteStore::run(const SqliteStatement& statement) {
  ASSERT(statement != nullptr);
  SqliteQuery query(statement);
  return query.step() == SQLITE_DONE ? Status() : connection_->error();
}

BlockingStore::LeaseMode SqliteStore::lease_mode() const {
  return {"transaction", "counter and lease change in one transaction of the file"};
}

Result<LeasedSpan> SqliteStore::take(const LeaseRequest& request, bool* parked) {
  Meaning meaning = Meaning::unset;
  auto last = last_issued(request, &meaning);
  if (!last.ok()) return last.status();
  // A floor that is no number disturbs no lease.
  const auto floor = read_floor(request.binding);
  if (!floor.ok() && floor.status().code() != ErrorCode::SEQ_TYPE) return floor.status();
  Status set_back =
      check_not_below_floor(*last, floor.ok() ? *floor : 0, request, where(request.binding));
  if (!set_back.ok()) return set_back;
  if (request.take_parked) {
    auto taken = take_parked(request, *last);
    if (!taken.ok()) return taken.status();
    *parked = taken->has_value();
    if (*parked) return **taken;
  }
  auto span = span_after(*last, request, where(request.binding));
  if (!span.ok()) return span.status();
  {
    SqliteQuery query(statements_.write_counter);
    query.bind(1, request.binding.key).bind(2, value_of(span->end - 1, meaning));
    if (query.step() != SQLITE_DONE) return connection_->error();
  }
  if (Status status = insert_token(request, "granted", *span); !status.ok()) return status;
  if (Status status = add_to_totals(request, *span); !status.ok()) return status;
  return *span;
}

// The counter as it stands. A number that is no ID is an error.
Result<std::optional<SqliteStore::CounterState>> SqliteStore::read_counter(
    const CounterBinding& binding) {
  SqliteQuery query(statements_.read_counter);
  const int code = query.bind(1, binding.key).step();
  if (code == SQLITE_DONE) return std::optional<CounterState>();
  if (code != SQLITE_ROW) return connection_->error();
  const std::string_view word = query.text(1);
  if (word == SqliteRegister::kMark) {
    return Status(ErrorCode::WRONG_MODE,
                  fmt::format("{} belongs to a register, whose numbers have keys: lease from a "
                              "counter of another name (sequence.key)",
                              where(binding)));
  }
  const Meaning marked = word == "last"   ? Meaning::last
                         : word == "next" ? Meaning::next
                                          : Meaning::unset;
  auto agreed = agreed_meaning(binding.meaning, marked, where(binding));
  if (!agreed.ok()) return agreed.status();
  if (query.type(0) != SQLITE_INTEGER) {
    return Status(ErrorCode::SEQ_TYPE,
                  fmt::format("{}: column seq holds {}, an integer is needed; correct it by hand",
                              where(binding), type_word(query.type(0))));
  }
  const std::int64_t value = query.integer(0);
  if (value < lowest_value(*agreed)) {
    return Status(ErrorCode::SEQ_TYPE,
                  fmt::format("{}: column seq holds {}, at least {} is needed; correct it by hand",
                              where(binding), value, lowest_value(*agreed)));
  }
  return std::optional<CounterState>({*agreed, value});
}

// Reads the counter, or creates it where that is allowed.
Result<std::int64_t> SqliteStore::last_issued(const LeaseRequest& request, Meaning* meaning) {
  const CounterBinding& binding = request.binding;
  auto counter = read_counter(binding);
  if (!counter.ok()) return counter.status();
  if (counter->has_value()) {
    *meaning = (*counter)->meaning;
    return last_issued_of((*counter)->value, *meaning);
  }
  if (request.high_water > 0) return missing_counter(request, where(request.binding));
  if (!binding.create) return creation_not_allowed(where(request.binding));
  *meaning = meaning_of_new(binding);
  if (Status status = create_counter(binding, binding.first_id - 1, *meaning); !status.ok()) {
    return status;
  }
  return binding.first_id - 1;
}

Status SqliteStore::create_counter(const CounterBinding& binding, std::int64_t last_issued,
                                   Meaning meaning) {
  SqliteQuery query(statements_.create_counter);
  query.bind(1, binding.key)
      .bind(2, value_of(last_issued, meaning))
      .bind(3, std::string_view(meaning_word(meaning)));
  return query.step() == SQLITE_DONE ? Status() : connection_->error();
}

Result<SqliteStore::TokenRecord> SqliteStore::find_token(const LeaseRequest& request) {
  SqliteQuery query(statements_.find_token);
  const int code = query.bind_blob(1, request.token.data(), request.token.size()).step();
  if (code == SQLITE_DONE) return TokenRecord{};
  if (code != SQLITE_ROW) return connection_->error();
  TokenRecord record;
  record.known = true;
  record.granted = query.text(0) == "granted";
  record.span = {query.integer(1), query.integer(2)};
  if (query.text(3) != request.binding.key ||
      (record.granted && record.span.begin >= record.span.end)) {
    return Status(ErrorCode::STORE_REFUSED,
                  fmt::format("SQLite file {}, table lease: token {} belongs to sequence \"{}\" "
                              "with the range [{}, {}), "
                              "which does not fit; remove that row if it was edited by hand",
                              path_, to_hex(request.token), query.text(3), record.span.begin,
                              record.span.end));
  }
  SqliteQuery parked(statements_.was_parked);
  parked.bind(1, request.binding.key).bind_blob(2, request.token.data(), request.token.size());
  const int found = parked.step();
  if (found != SQLITE_ROW && found != SQLITE_DONE) return connection_->error();
  record.parked = found == SQLITE_ROW;
  return record;
}

Status SqliteStore::insert_token(const LeaseRequest& request, const char* state, LeasedSpan span) {
  {
    SqliteQuery query(statements_.insert_token);
    query.bind_blob(1, request.token.data(), request.token.size())
        .bind_blob(2, request.instance.data(), request.instance.size())
        .bind(3, request.binding.key)
        .bind(4, std::string_view(state))
        .bind(5, span.begin)
        .bind(6, span.end)
        .bind(7, request.sequence);
    if (query.step() != SQLITE_DONE) return connection_->error();
  }
  SqliteQuery query(statements_.prune_tokens);
  query.bind_blob(1, request.instance.data(), request.instance.size())
      .bind(2, request.binding.key)
      .bind(3, kTokensKept)
      .bind(4, request.sequence);
  return query.step() == SQLITE_DONE ? Status() : connection_->error();
}

Status SqliteStore::add_to_totals(const LeaseRequest& request, LeasedSpan span) {
  SqliteQuery query(statements_.add_total);
  query.bind(1, request.binding.key)
      .bind_blob(2, request.instance.data(), request.instance.size())
      .bind(3, span.begin)
      .bind(4, span.end - span.begin);
  return query.step() == SQLITE_DONE ? Status() : connection_->error();
}

Result<CounterReading> SqliteStore::read(const ReadRequest& request) {
  if (Status status = check_counter_binding(request.binding); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  // A transaction, so that the counter and the sums are of one moment.
  if (Status status = begin(); !status.ok()) return status;
  auto reading = read_in_transaction(request);
  roll_back();
  return reading;
}

Result<CounterReading> SqliteStore::read_in_transaction(const ReadRequest& request) {
  auto counter = read_counter(request.binding);
  if (!counter.ok()) return counter.status();
  CounterReading reading;
  if (!counter->has_value()) return reading;
  reading.exists = true;
  reading.meaning = (*counter)->meaning;
  reading.next_id = next_id_of((*counter)->value, reading.meaning);
  auto floor = read_floor(request.binding);
  if (!floor.ok()) return floor.status();
  reading.floor = *floor;
  SqliteQuery parked(statements_.sum_parked);
  if (parked.bind(1, request.binding.key).step() != SQLITE_ROW) return connection_->error();
  reading.parked = {.ranges = parked.integer(0), .ids = parked.integer(1)};
  SqliteQuery query(statements_.read_totals);
  query.bind(1, request.binding.key).bind_blob(2, request.instance.data(), request.instance.size());
  if (query.step() != SQLITE_ROW) return connection_->error();
  if (query.type(0) == SQLITE_NULL) return reading;
  reading.totals = {.since = query.integer(0),
                    .ours = {.leases = query.integer(1), .ids = query.integer(2)},
                    .all = {.leases = query.integer(3), .ids = query.integer(4)}};
  return reading;
}

}  // namespace seqd
