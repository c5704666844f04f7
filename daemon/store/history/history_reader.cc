// The only foreign API here is SQLite's.
#include "daemon/store/history/history_reader.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <vector>

#include "daemon/store/history/history_file.h"
#include "daemon/store/history/history_pruning.h"

namespace seqd {
namespace {

// A gap, columns 0..8. Ranges that were returned stand among them, and were never lost.
constexpr char kGapsAfter[] =
    "SELECT gap.id, first, count, at_ms, cause, token, instance, host.name FROM gap LEFT JOIN host "
    "ON host.id = gap.host WHERE sequence = ?1 AND gap.id > ?2 AND cause <> 'returned' ORDER BY "
    "gap.id LIMIT ?3";
// Ranges of one kind do not overlap, but for what a fault left behind, or what was returned and
// leased again: those that hold an ID are among the nearest that begin before it, and the youngest
// is the last word.
constexpr char kGapAt[] =
    "SELECT * FROM (SELECT gap.id, first, count, at_ms, cause, token, instance, host.name FROM gap "
    "LEFT JOIN host ON host.id = gap.host WHERE sequence = ?1 AND first <= ?2 ORDER BY first DESC "
    "LIMIT 64) WHERE first + count > ?2 ORDER BY id DESC LIMIT 1";
constexpr char kSpanAt[] =
    "SELECT * FROM (SELECT first, count, began_ms, lasted_ms, caller, others FROM span WHERE "
    "sequence = ?1 AND first <= ?2 ORDER BY first DESC LIMIT 64) WHERE first + count > ?2 LIMIT 1";
constexpr char kLeaseAt[] =
    "SELECT * FROM (SELECT first, count, at_ms, token, instance, host.name, whole, lease.id FROM "
    "lease LEFT JOIN host ON host.id = lease.host WHERE sequence = ?1 AND first <= ?2 ORDER BY "
    "first DESC LIMIT 64) WHERE first + count > ?2 ORDER BY id DESC LIMIT 1";
// An ID twice: what of a span lies below the highest end of those that begin before it.
constexpr char kTwice[] =
    "SELECT coalesce(sum(max(0, min(before, first + count) - first)), 0) FROM (SELECT first, "
    "count, "
    "max(first + count) OVER (ORDER BY first, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) "
    "AS before FROM span WHERE sequence = ?1) WHERE before IS NOT NULL";
// The spans that touch a gap: from the nearest before it on.
constexpr char kInGap[] =
    "SELECT coalesce(sum(max(0, min(first + count, ?2) - max(first, ?1))), 0) FROM span WHERE "
    "sequence = ?3 AND first < ?2 AND first >= coalesce((SELECT first FROM span WHERE sequence = "
    "?3 AND first <= ?1 ORDER BY first DESC LIMIT 1), ?1)";

constexpr char kAdvanceAt[] =
    "SELECT * FROM (SELECT first, next, at_ms, uid, pid, id FROM advance WHERE sequence = ?1 AND "
    "first <= ?2 ORDER BY first DESC LIMIT 64) WHERE next > ?2 ORDER BY id DESC LIMIT 1";

Token token_of(std::string_view bytes) {
  Token token{};
  if (bytes.size() == token.size()) std::memcpy(token.data(), bytes.data(), token.size());
  return token;
}

GapRow gap_of(const SqliteQuery& query) {
  GapRow row;
  row.number = query.integer(0);
  row.gap.place_known = query.type(1) != SQLITE_NULL;
  row.gap.begin = query.integer(1);
  row.gap.end = row.gap.begin + query.integer(2);
  row.gap.wall_ms = query.integer(3);
  row.gap.cause = query.text(4);
  row.gap.lease = token_of(query.blob(5));
  row.gap.instance = token_of(query.blob(6));
  row.host = query.text(7);
  return row;
}

}  // namespace

template <typename Take>
Status HistoryReader::one_row(const char* sql, std::initializer_list<std::int64_t> parameters,
                              Take take) {
  Result<SqliteStatement> statement = database_.prepare(sql);
  if (!statement.ok()) return statement.status();
  SqliteQuery query(*statement);
  int index = 0;
  for (const std::int64_t parameter : parameters) query.bind(++index, parameter);
  const int code = query.step();
  if (code == SQLITE_DONE) return {};
  if (code != SQLITE_ROW) return database_.error();
  take(query);
  return {};
}

Result<std::int64_t> HistoryReader::sequence_row(const std::string& name) {
  if (!database_.file_exists()) return std::int64_t{0};
  if (Status status = database_.open(); !status.ok()) return status;
  Result<SqliteStatement> find = database_.prepare("SELECT id FROM sequence WHERE name = ?1");
  if (!find.ok()) return find.status();
  SqliteQuery query(*find);
  const int code = query.bind(1, name).step();
  if (code == SQLITE_DONE) return std::int64_t{0};
  if (code != SQLITE_ROW) return database_.error();
  return query.integer(0);
}

Status HistoryReader::begin() {
  if (!database_.file_exists()) return {};
  // Opened again: the file may be another one by now.
  database_.close();
  Status status = database_.open();
  if (status.ok()) status = database_.run("BEGIN");
  // The first read is what the rest sees.
  if (status.ok()) status = database_.number("SELECT count(*) FROM about").status();
  return status;
}

void HistoryReader::end() {
  database_.close();
}

// --- gaps

Result<GapsAnswer> HistoryReader::gaps(const GapsQuestion& question) {
  GapsAnswer answer;
  const Result<std::int64_t> row = sequence_row(question.name);
  if (!row.ok()) return row.status();
  if (*row == 0) return answer;
  answer.known = true;
  Status status = one_row("SELECT dropped_gaps, dropped_unknown FROM sequence WHERE id = ?1",
                          {*row}, [&](const SqliteQuery& query) {
                            answer.dropped.gaps = query.integer(0);
                            answer.dropped.unknown = query.integer(1);
                          });
  if (!status.ok()) return status;
  Result<SqliteStatement> statement = database_.prepare(kGapsAfter);
  if (!statement.ok()) return statement.status();
  SqliteQuery query(*statement);
  query.bind(1, *row).bind(2, question.after).bind(3, question.limit + 1);
  int code = query.step();
  for (; code == SQLITE_ROW; code = query.step()) {
    if (std::ssize(answer.rows) == question.limit) {
      answer.more = true;
      return answer;
    }
    answer.rows.push_back(gap_of(query));
  }
  if (code != SQLITE_DONE) return database_.error();
  return answer;
}

// --- one ID

Result<IdAnswer> HistoryReader::id(const std::string& name, std::int64_t id) {
  IdAnswer answer;
  const Result<std::int64_t> row = sequence_row(name);
  if (!row.ok()) return row.status();
  if (*row == 0) return answer;
  answer.known = true;
  Status status = read_issue(*row, id, answer);
  if (status.ok()) status = read_gap(*row, id, answer);
  if (status.ok()) status = read_lease(*row, id, answer);
  if (status.ok()) status = read_advance(*row, id, answer);
  if (status.ok()) {
    status = one_row(
        "SELECT issues_below, leases_below, "
        "(SELECT count(*) FROM gap WHERE sequence = ?1 AND first IS NULL) + dropped_unknown, "
        "(SELECT coalesce(sum(count), 0) FROM gap WHERE sequence = ?1 AND first IS NULL), "
        "more_leased > 0, (SELECT min(first) FROM lease WHERE "
        "sequence = ?1), (SELECT at_ms FROM lease ORDER BY id LIMIT 1) FROM sequence "
        "WHERE id = ?1",
        {*row}, [&](const SqliteQuery& query) {
          answer.issues_forgotten_below = query.integer(0);
          answer.leases_forgotten_below = query.integer(1);
          answer.untraceable = query.integer(2);
          answer.untraceable_ids = query.integer(3);
          answer.leased_before = query.integer(4) != 0;
          if (query.type(5) != SQLITE_NULL) answer.first_lease = query.integer(5);
          if (query.type(6) != SQLITE_NULL) answer.oldest_lease_ms = query.integer(6);
        });
  }
  if (!status.ok()) return status;
  return answer;
}

Status HistoryReader::read_issue(std::int64_t row, std::int64_t id, IdAnswer& answer) {
  std::int64_t caller = 0;
  std::string others;
  Status status = one_row(kSpanAt, {row, id}, [&](const SqliteQuery& query) {
    IssueSpan& span = answer.issue.emplace().span;
    span.begin = query.integer(0);
    span.end = span.begin + query.integer(1);
    span.first_ms = query.integer(2);
    span.last_ms = span.first_ms + query.integer(3);
    caller = query.integer(4);
    others = query.text(5);
  });
  if (!status.ok() || !answer.issue) return status;
  return read_callers(caller, others, *answer.issue);
}

Status HistoryReader::read_callers(std::int64_t first, std::string_view others, IssueRow& issue) {
  std::vector<std::int64_t> rows = {first};
  while (!others.empty()) {
    std::int64_t row = 0;
    const auto [end, failed] = std::from_chars(others.data(), others.data() + others.size(), row);
    if (failed == std::errc()) rows.push_back(row);
    if (others.back() == '+') issue.span.others = true;
    const std::size_t used = static_cast<std::size_t>(end - others.data());
    others.remove_prefix(std::min(others.size(), used + 1));
  }
  issue.span.caller_count = static_cast<std::uint8_t>(std::min(rows.size(), IssueSpan::kNamed));
  for (const std::int64_t row : rows) {
    if (row == 0 || row == kCallersOff) {
      issue.caller_missing = row == 0 ? CallerMissing::lost : CallerMissing::off;
      continue;
    }
    const std::size_t named = issue.callers.size();
    Status status = one_row("SELECT uid, pid, name FROM caller WHERE id = ?1", {row},
                            [&](const SqliteQuery& query) {
                              HistoryCaller& caller = issue.callers.emplace_back();
                              caller.uid = static_cast<std::uint32_t>(query.integer(0));
                              caller.pid = static_cast<std::int32_t>(query.integer(1));
                              caller.name = query.text(2);
                            });
    if (!status.ok()) return status;
    if (issue.callers.size() == named) issue.caller_missing = CallerMissing::dropped;
  }
  const bool some = issue.caller_missing != CallerMissing::no && !issue.callers.empty();
  issue.span.others = issue.span.others || some;
  return {};
}

Status HistoryReader::read_gap(std::int64_t row, std::int64_t id, IdAnswer& answer) {
  return one_row(kGapAt, {row, id}, [&](const SqliteQuery& query) { answer.gap = gap_of(query); });
}

Status HistoryReader::read_lease(std::int64_t row, std::int64_t id, IdAnswer& answer) {
  return one_row(kLeaseAt, {row, id}, [&](const SqliteQuery& query) {
    LeaseRow& lease = answer.lease.emplace();
    lease.lease.begin = query.integer(0);
    lease.lease.end = lease.lease.begin + query.integer(1);
    lease.lease.wall_ms = query.integer(2);
    lease.lease.lease = token_of(query.blob(3));
    lease.lease.instance = token_of(query.blob(4));
    lease.host = query.text(5);
    lease.lease.whole = query.integer(6) != 0;
  });
}

Status HistoryReader::read_advance(std::int64_t row, std::int64_t id, IdAnswer& answer) {
  return one_row(kAdvanceAt, {row, id}, [&](const SqliteQuery& query) {
    HistoryAdvance& advance = answer.advance.emplace();
    advance.begin = query.integer(0);
    advance.end = query.integer(1);
    advance.wall_ms = query.integer(2);
    if (query.type(3) == SQLITE_NULL) return;
    advance.uid = static_cast<std::uint32_t>(query.integer(3));
    advance.pid = static_cast<std::int32_t>(query.integer(4));
  });
}

// --- the sums

Result<SumsAnswer> HistoryReader::sums(const std::string& name) {
  SumsAnswer answer;
  const Result<std::int64_t> row = sequence_row(name);
  if (!row.ok()) return row.status();
  if (*row == 0) return answer;
  answer.known = true;
  Status status = one_row(
      "SELECT leased, issued, returned, gaps, unknown, more_leased, more_issued, more_returned, "
      "more_gaps, more_unknown, dropped_leased, dropped_issued, dropped_gaps, dropped_unknown, "
      "(SELECT began_ms FROM about), ended FROM sequence WHERE id = ?1",
      {*row}, [&](const SqliteQuery& query) {
        const auto at = [&](int column) { return query.integer(column); };
        answer.recorded = {0, at(0), at(1), at(2), at(3), at(4)};
        answer.adjust = {0, at(5), at(6), at(7), at(8), at(9)};
        answer.dropped = {0, at(10), at(11), 0, at(12), at(13)};
        answer.began_ms = at(14);
        answer.ended = at(15) != 0;
      });
  if (status.ok()) {
    status = one_row(
        "SELECT (SELECT coalesce(sum(count), 0) FROM lease WHERE sequence = ?1), (SELECT "
        "coalesce(sum(count), 0) FROM span WHERE sequence = ?1), (SELECT coalesce(sum(count), 0) "
        "FROM gap WHERE sequence = ?1 AND first IS NOT NULL AND cause <> 'returned'), (SELECT "
        "count(*) FROM gap WHERE sequence = ?1 AND first IS NULL), "
        "(SELECT count(*) FROM span WHERE sequence = ?1)",
        {*row}, [&](const SqliteQuery& query) {
          answer.rows = {0, query.integer(0), query.integer(1),
                         0, query.integer(2), query.integer(3)};
          answer.issue_rows = query.integer(4);
        });
  }
  if (status.ok()) status = read_overlaps(*row, answer);
  const Result<std::int64_t> size = history_used_bytes(database_);
  if (status.ok()) status = size.status();
  if (!status.ok()) return status;
  answer.size = *size;
  return answer;
}

Status HistoryReader::read_overlaps(std::int64_t row, SumsAnswer& answer) {
  Status status = one_row(
      kTwice, {row}, [&](const SqliteQuery& query) { answer.issued_twice = query.integer(0); });
  if (!status.ok()) return status;
  Result<SqliteStatement> gaps = database_.prepare(
      "SELECT first, first + count FROM gap WHERE sequence = ?1 AND first IS NOT NULL AND cause <> "
      "'returned'");
  if (!gaps.ok()) return gaps.status();
  Result<SqliteStatement> inside = database_.prepare(kInGap);
  if (!inside.ok()) return inside.status();
  SqliteQuery gap(*gaps);
  int code = gap.bind(1, row).step();
  for (; code == SQLITE_ROW; code = gap.step()) {
    SqliteQuery query(*inside);
    query.bind(1, gap.integer(0)).bind(2, gap.integer(1)).bind(3, row);
    if (query.step() != SQLITE_ROW) return database_.error();
    answer.issued_and_gap += query.integer(0);
  }
  return code == SQLITE_DONE ? Status() : database_.error();
}

}  // namespace seqd
