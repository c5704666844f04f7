// The only foreign API here is SQLite's.
#include "daemon/store/history/history_pruning.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace seqd {
namespace {

constexpr std::int64_t kRowsAtOnce = 2'000;
// A batch drops at most this many times its own rows, so that it stays short; the next one
// continues.
constexpr int kRounds = 16;
// Stamps are made so often in the time for which rows are kept, but not more often than a minute.
constexpr std::int64_t kStamps = 32;
constexpr std::int64_t kLeastStampMs = 60'000;
constexpr std::int64_t kCallersAtOnce = 20'000;
constexpr std::int64_t kAnyAge = std::numeric_limits<std::int64_t>::max();

// One table of rows that age, and where its sums go.
struct Aging {
  // id, sequence, IDs (0 for what has no place), how many without a place, end of the range, when;
  // of a span also the user
  const char* oldest;
  const char* stamped;  // the highest id that stamps before ?1 have
  const char* remove;   // all up to an id
  const char* count;    // ?1 sequence, ?2 IDs, ?3 without a place, ?4 highest end
};

constexpr Aging kSpans = {
    "SELECT id, sequence, count, 0, first + count, began_ms + lasted_ms, coalesce((SELECT uid FROM "
    "caller WHERE id = span.caller), -1) FROM span ORDER BY id LIMIT ?1",
    "SELECT coalesce(max(span), 0) FROM stamp WHERE wall_ms < ?1",
    "DELETE FROM span WHERE id <= ?1",
    "UPDATE sequence SET dropped_issued = dropped_issued + ?2 + 0 * ?3, "
    "issues_below = max(issues_below, ?4) WHERE id = ?1"};
// Those of the user ?1, behind the row ?2.
constexpr char kSpansOfUser[] =
    "SELECT id, sequence, count, first + count FROM span WHERE id > ?2 AND coalesce((SELECT uid "
    "FROM caller WHERE id = span.caller), -1) = ?1 ORDER BY id LIMIT 2000";
static_assert(kRowsAtOnce == 2'000);

constexpr Aging kLeases = {
    "SELECT id, sequence, count, 0, first + count, at_ms FROM lease ORDER BY id LIMIT ?1",
    "SELECT coalesce(max(lease), 0) FROM stamp WHERE wall_ms < ?1",
    "DELETE FROM lease WHERE id <= ?1",
    "UPDATE sequence SET dropped_leased = dropped_leased + ?2 + 0 * ?3, "
    "leases_below = max(leases_below, ?4) WHERE id = ?1"};
constexpr Aging kGaps = {
    "SELECT id, sequence, iif(first IS NULL OR cause = 'returned', 0, count), first IS NULL, "
    "coalesce(first, 0) + count, "
    "at_ms FROM gap ORDER BY id LIMIT ?1",
    "SELECT 0 * ?1", "DELETE FROM gap WHERE id <= ?1",
    "UPDATE sequence SET dropped_gaps = dropped_gaps + ?2, dropped_unknown = dropped_unknown + ?3, "
    "leases_below = max(leases_below, iif(?2 > 0, ?4, 0)) WHERE id = ?1"};

struct Dropped {
  std::int64_t ids = 0;
  std::int64_t placeless = 0;
  std::int64_t below = 0;
};

class Pruning {
 public:
  Pruning(HistoryDatabase& database, SpanShares& shares, std::int64_t now_ms)
      : database_(database), shares_(shares), now_ms_(now_ms) {}

  // Drops the oldest rows that ended before `before_ms`; fewer than kRowsAtOnce when that was all.
  Result<std::int64_t> drop(const Aging& aging, std::int64_t before_ms) {
    std::map<std::int64_t, Dropped> dropped;
    std::int64_t last = 0;
    std::int64_t rows = 0;
    const Result<std::int64_t> stamped = number(aging.stamped, before_ms);
    if (!stamped.ok()) return stamped.status();
    Result<SqliteStatement> oldest = database_.prepare(aging.oldest);
    if (!oldest.ok()) return oldest.status();
    {
      SqliteQuery query(*oldest);
      int code = query.bind(1, kRowsAtOnce).step();
      for (; code == SQLITE_ROW; code = query.step()) {
        const bool by_stamp = query.integer(5) > now_ms_ && query.integer(0) <= *stamped;
        if (query.integer(5) >= before_ms && !by_stamp) break;
        last = query.integer(0);
        ++rows;
        Dropped& sums = dropped[query.integer(1)];
        sums.ids += query.integer(2);
        sums.placeless += query.integer(3);
        sums.below = std::max(sums.below, query.integer(4));
        if (&aging == &kSpans) shares_.drop(query.integer(6), 1);
      }
      if (code != SQLITE_DONE && code != SQLITE_ROW) return database_.error();
    }
    if (rows == 0) return rows;
    Status status = run(aging.remove, last);
    if (status.ok()) status = count(aging, dropped);
    if (!status.ok()) return status;
    for (const auto& [sequence, sums] : dropped) touched_.insert(sequence);
    return rows;
  }

  // Drops the oldest spans of the user who has most; 0: there are none.
  Result<std::int64_t> drop_of_most() {
    if (Status status = shares_.count(database_); !status.ok()) return status;
    std::int64_t uid = 0;
    std::int64_t gone = 0;
    std::int64_t rows = 0;
    while (rows == 0 && shares_.find_largest_user(uid, gone)) {
      std::map<std::int64_t, Dropped> dropped;
      std::vector<std::int64_t> ids;
      Result<SqliteStatement> oldest = database_.prepare(kSpansOfUser);
      if (!oldest.ok()) return oldest.status();
      SqliteQuery query(*oldest);
      int code = query.bind(1, uid).bind(2, gone).step();
      for (; code == SQLITE_ROW; code = query.step()) {
        ids.push_back(query.integer(0));
        Dropped& sums = dropped[query.integer(1)];
        sums.ids += query.integer(2);
        sums.below = std::max(sums.below, query.integer(3));
      }
      if (code != SQLITE_DONE) return database_.error();
      Status status;
      for (const std::int64_t id : ids) {
        if (status.ok()) status = run("DELETE FROM span WHERE id = ?1", id);
      }
      if (status.ok()) status = count(kSpans, dropped);
      if (!status.ok()) return status;
      for (const auto& [sequence, sums] : dropped) touched_.insert(sequence);
      rows = std::ssize(ids);
      if (rows == 0) {
        shares_.forget_user(uid);
        continue;
      }
      shares_.drop(uid, rows);
      shares_.set_gone_up_to(uid, ids.back());
      // Its callers without spans: those of others may keep older ones.
      status = run("DELETE FROM caller WHERE uid = ?1 AND last_span <= ?2", uid, ids.back());
      if (!status.ok()) return status;
    }
    return rows;
  }

  // Drops some of the oldest leases where there are more of them than spans of any user, else some
  // spans; 0: there is neither.
  Result<std::int64_t> drop_spans_or_leases() {
    if (Status status = shares_.count(database_); !status.ok()) return status;
    const Result<std::int64_t> leases = number(
        "SELECT coalesce((SELECT max(id) FROM lease) - (SELECT min(id) FROM lease) + 1, ?1)", 0);
    if (!leases.ok()) return leases.status();
    if (*leases <= shares_.largest()) {
      const Result<std::int64_t> spans = drop_of_most();
      if (!spans.ok() || *spans > 0) return spans;
    }
    return drop(kLeases, kAnyAge);
  }

  // What an administrator passed over is kept as long as leases are.
  Status drop_advances(std::int64_t before_ms) {
    Result<SqliteStatement> old =
        database_.prepare("DELETE FROM advance WHERE at_ms < ?1 RETURNING sequence");
    if (!old.ok()) return old.status();
    SqliteQuery query(*old);
    int code = query.bind(1, before_ms).step();
    for (; code == SQLITE_ROW; code = query.step()) {
      touched_.insert(query.integer(0));
      dropped_advances_ = true;
    }
    return code == SQLITE_DONE ? Status() : database_.error();
  }
  bool dropped_advances() const { return dropped_advances_; }

  // So that what is written now has a date that no clock can take back.
  Status stamp(std::int64_t keep_ms) {
    Status status = run("DELETE FROM stamp WHERE wall_ms > ?1", now_ms_);
    const std::int64_t every_ms = std::max(keep_ms / kStamps, kLeastStampMs);
    const Result<std::int64_t> recent =
        number("SELECT count(*) FROM stamp WHERE wall_ms > ?1", now_ms_ - every_ms);
    if (status.ok()) status = recent.status();
    if (!status.ok() || *recent > 0) return status;
    return run(
        "INSERT INTO stamp SELECT ?1, coalesce((SELECT max(id) FROM span), 0), "
        "coalesce((SELECT max(id) FROM lease), 0)",
        now_ms_);
  }
  Status drop_stamps(std::int64_t before_ms) {
    return run("DELETE FROM stamp WHERE wall_ms < ?1", before_ms);
  }

  // Callers without spans.
  Status drop_callers() {
    return run("DELETE FROM caller WHERE last_span < coalesce((SELECT min(id) FROM span), ?1)",
               std::numeric_limits<std::int64_t>::max());
  }

  // Sequences that the daemon has no more, and of which nothing is left.
  Status drop_sequences() {
    for (const std::int64_t sequence : touched_) {
      Status status = drop_ended_sequence(database_, sequence);
      if (!status.ok()) return status;
    }
    return {};
  }

 private:
  Status run(const char* sql, std::int64_t value, std::optional<std::int64_t> second = {}) {
    Result<SqliteStatement> statement = database_.prepare(sql);
    if (!statement.ok()) return statement.status();
    SqliteQuery query(*statement);
    query.bind(1, value);
    if (second) query.bind(2, *second);
    return query.step() == SQLITE_DONE ? Status() : database_.error();
  }

  Result<std::int64_t> number(const char* sql, std::int64_t value) {
    Result<SqliteStatement> statement = database_.prepare(sql);
    if (!statement.ok()) return statement.status();
    SqliteQuery query(*statement);
    if (query.bind(1, value).step() != SQLITE_ROW) return database_.error();
    return query.integer(0);
  }

  Status count(const Aging& aging, const std::map<std::int64_t, Dropped>& dropped) {
    Result<SqliteStatement> count = database_.prepare(aging.count);
    if (!count.ok()) return count.status();
    for (const auto& [sequence, sums] : dropped) {
      SqliteQuery query(*count);
      query.bind(1, sequence).bind(2, sums.ids).bind(3, sums.placeless).bind(4, sums.below);
      if (query.step() != SQLITE_DONE) return database_.error();
    }
    return {};
  }

  HistoryDatabase& database_;
  SpanShares& shares_;
  const std::int64_t now_ms_;
  bool dropped_advances_ = false;
  std::set<std::int64_t> touched_;  // sequences of which rows were dropped
};

// What is too old. Leaves `pruned.more` when there may be more of it.
Status drop_old(Pruning& pruning, std::int64_t before_ms, Pruned& pruned) {
  for (const Aging* aging : {&kSpans, &kLeases}) {
    int round = 0;
    for (; round < kRounds; ++round) {
      const Result<std::int64_t> rows = pruning.drop(*aging, before_ms);
      if (!rows.ok()) return rows.status();
      pruned.dropped = pruned.dropped || *rows > 0;
      if (*rows < kRowsAtOnce) break;
    }
    pruned.more = pruned.more || round == kRounds;
  }
  return pruned.more ? Status() : pruning.drop_stamps(before_ms);
}

// What there is no room for.
Status drop_excess(HistoryDatabase& database, Pruning& pruning, std::int64_t most, Pruned& pruned) {
  for (int round = 0; round < kRounds; ++round) {
    const Result<std::int64_t> size = history_used_bytes(database);
    if (!size.ok()) return size.status();
    if (*size <= most) break;
    Result<std::int64_t> rows = pruning.drop_spans_or_leases();
    if (rows.ok() && *rows == 0) rows = pruning.drop(kGaps, kAnyAge);
    if (!rows.ok()) return rows.status();
    if (*rows == 0) break;
    pruned.dropped = true;
  }
  return {};
}

// Callers that were recorded before it was switched off.
Status forget_callers(HistoryDatabase& database, Pruned& pruned) {
  const Result<std::int64_t> callers = database.number(
      "SELECT (SELECT count(*) FROM caller) + (SELECT count(*) FROM advance WHERE uid IS NOT "
      "NULL)");
  if (!callers.ok() || *callers == 0) return callers.status();
  pruned.dropped = true;
  pruned.more = pruned.more || *callers > kCallersAtOnce;
  return database.run(
      "UPDATE advance SET uid = NULL, pid = NULL WHERE uid IS NOT NULL; DELETE FROM caller WHERE "
      "id "
      "IN (SELECT id FROM caller LIMIT 20000)");
}
static_assert(kCallersAtOnce == 20'000);

}  // namespace

Result<std::int64_t> history_used_bytes(HistoryDatabase& database) {
  const Result<std::int64_t> pages = database.number("PRAGMA page_count");
  const Result<std::int64_t> free = database.number("PRAGMA freelist_count");
  const Result<std::int64_t> size = database.number("PRAGMA page_size");
  for (const Result<std::int64_t>* each : {&pages, &free, &size}) {
    if (!each->ok()) return each->status();
  }
  return (*pages - *free) * *size;
}

Status drop_ended_sequence(HistoryDatabase& database, std::int64_t row) {
  Result<SqliteStatement> statement = database.prepare(
      "DELETE FROM sequence WHERE id = ?1 AND ended = 1 AND NOT EXISTS (SELECT 1 FROM span WHERE "
      "sequence = ?1) AND NOT EXISTS (SELECT 1 FROM lease WHERE sequence = ?1) AND NOT EXISTS "
      "(SELECT 1 FROM gap WHERE sequence = ?1) AND NOT EXISTS (SELECT 1 FROM advance WHERE "
      "sequence = ?1)");
  if (!statement.ok()) return statement.status();
  SqliteQuery query(*statement);
  return query.bind(1, row).step() == SQLITE_DONE ? Status() : database.error();
}

Result<Pruned> prune_history(HistoryDatabase& database, const HistoryLimits& limits,
                             SpanShares& shares, std::int64_t now_ms) {
  Pruning pruning(database, shares, now_ms);
  Pruned pruned;
  Status status = pruning.stamp(limits.keep_ms);
  if (status.ok()) status = drop_old(pruning, now_ms - limits.keep_ms, pruned);
  if (status.ok()) status = pruning.drop_advances(now_ms - limits.keep_ms);
  pruned.dropped = pruned.dropped || pruning.dropped_advances();
  if (status.ok()) status = drop_excess(database, pruning, limits.size, pruned);
  if (status.ok() && pruned.dropped) status = pruning.drop_callers();
  if (status.ok() && pruned.dropped) status = pruning.drop_sequences();
  if (status.ok() && !limits.callers) status = forget_callers(database, pruned);
  if (!status.ok()) return status;
  return pruned;
}

}  // namespace seqd
