// The only foreign API here is SQLite's.
#include "daemon/store/history_pruning.h"

#include <algorithm>
#include <limits>
#include <map>

namespace seqd {
namespace {

constexpr std::int64_t kRowsAtOnce = 2'000;
// A batch drops at most so many times as much, so that it stays short; the next one goes on.
constexpr int kRounds = 16;

// One table of rows that age, and where its sums go.
struct Aging {
  // id, sequence, IDs (0 for what has no place), how many without a place, end of the range, when
  const char* oldest;
  const char* remove;  // all up to an id
  const char* count;   // ?1 sequence, ?2 IDs, ?3 without a place, ?4 highest end
};

constexpr Aging kSpans = {
    "SELECT id, sequence, count, 0, first + count, began_ms + lasted_ms FROM span ORDER BY id "
    "LIMIT ?1",
    "DELETE FROM span WHERE id <= ?1",
    "UPDATE sequence SET dropped_issued = dropped_issued + ?2 + 0 * ?3, "
    "issues_below = max(issues_below, ?4) WHERE id = ?1"};
constexpr Aging kLeases = {
    "SELECT id, sequence, count, 0, first + count, at_ms FROM lease ORDER BY id LIMIT ?1",
    "DELETE FROM lease WHERE id <= ?1",
    "UPDATE sequence SET dropped_leased = dropped_leased + ?2 + 0 * ?3, "
    "leases_below = max(leases_below, ?4) WHERE id = ?1"};
constexpr Aging kGaps = {
    "SELECT id, sequence, iif(first IS NULL OR cause = 'given_back', 0, count), first IS NULL, "
    "coalesce(first, 0) + count, "
    "at_ms FROM gap ORDER BY id LIMIT ?1",
    "DELETE FROM gap WHERE id <= ?1",
    "UPDATE sequence SET dropped_gaps = dropped_gaps + ?2, dropped_unknown = dropped_unknown + ?3, "
    "leases_below = max(leases_below, iif(?2 > 0, ?4, 0)) WHERE id = ?1"};

struct Dropped {
  std::int64_t ids = 0;
  std::int64_t placeless = 0;
  std::int64_t below = 0;
};

class Pruning {
 public:
  explicit Pruning(HistoryDatabase& database) : database_(database) {}

  // Drops the oldest rows that ended before `before_ms`; fewer than kRowsAtOnce when that was all.
  Result<std::int64_t> drop(const Aging& aging, std::int64_t before_ms) {
    std::map<std::int64_t, Dropped> dropped;
    std::int64_t last = 0;
    std::int64_t rows = 0;
    Result<SqliteStatement> oldest = database_.prepare(aging.oldest);
    if (!oldest.ok()) return oldest.status();
    {
      SqliteQuery query(*oldest);
      int code = query.bind(1, kRowsAtOnce).step();
      for (; code == SQLITE_ROW && query.integer(5) < before_ms; code = query.step()) {
        last = query.integer(0);
        ++rows;
        Dropped& sums = dropped[query.integer(1)];
        sums.ids += query.integer(2);
        sums.placeless += query.integer(3);
        sums.below = std::max(sums.below, query.integer(4));
      }
      if (code != SQLITE_DONE && code != SQLITE_ROW) return database_.error();
    }
    if (rows == 0) return rows;
    Status status = remove(aging, last);
    if (status.ok()) status = count(aging, dropped);
    if (!status.ok()) return status;
    return rows;
  }

  // Callers of whom nothing is left. Each was used when its youngest span was written.
  Status drop_callers() {
    const Result<std::int64_t> oldest = database_.number(
        "SELECT coalesce((SELECT began_ms FROM span ORDER BY id LIMIT 1), 9223372036854775807)");
    if (!oldest.ok()) return oldest.status();
    Result<SqliteStatement> remove = database_.prepare("DELETE FROM caller WHERE used_ms < ?1");
    if (!remove.ok()) return remove.status();
    SqliteQuery query(*remove);
    return query.bind(1, *oldest).step() == SQLITE_DONE ? Status() : database_.error();
  }

 private:
  Status remove(const Aging& aging, std::int64_t last) {
    Result<SqliteStatement> remove = database_.prepare(aging.remove);
    if (!remove.ok()) return remove.status();
    SqliteQuery query(*remove);
    return query.bind(1, last).step() == SQLITE_DONE ? Status() : database_.error();
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
};

}  // namespace

Result<std::int64_t> history_size(HistoryDatabase& database) {
  const Result<std::int64_t> pages = database.number("PRAGMA page_count");
  const Result<std::int64_t> free = database.number("PRAGMA freelist_count");
  const Result<std::int64_t> size = database.number("PRAGMA page_size");
  for (const Result<std::int64_t>* each : {&pages, &free, &size}) {
    if (!each->ok()) return each->status();
  }
  return (*pages - *free) * *size;
}

Status prune_history(HistoryDatabase& database, const HistoryLimits& limits, std::int64_t now_ms) {
  Pruning pruning(database);
  bool dropped = false;
  for (const Aging* aging : {&kSpans, &kLeases}) {
    for (int round = 0; round < kRounds; ++round) {
      const Result<std::int64_t> rows = pruning.drop(*aging, now_ms - limits.keep_ms);
      if (!rows.ok()) return rows.status();
      dropped = dropped || *rows > 0;
      if (*rows < kRowsAtOnce) break;
    }
  }
  constexpr std::int64_t kAnyAge = std::numeric_limits<std::int64_t>::max();
  const Aging* const order[] = {&kSpans, &kLeases, &kGaps};
  std::size_t at = 0;
  for (int round = 0; round < kRounds && at < std::size(order); ++round) {
    const Result<std::int64_t> size = history_size(database);
    if (!size.ok()) return size.status();
    if (*size <= limits.size) break;
    const Result<std::int64_t> rows = pruning.drop(*order[at], kAnyAge);
    if (!rows.ok()) return rows.status();
    dropped = dropped || *rows > 0;
    if (*rows == 0) ++at;
  }
  return dropped ? pruning.drop_callers() : Status();
}

}  // namespace seqd
