// The only foreign API here is SQLite's.
#include "daemon/store/history/history_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "daemon/store/history/history_pruning.h"

namespace seqd {
namespace {

template <typename Number>
bool read_number(std::string_view& text, Number& number, int base = 10) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (failed != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool skip(std::string_view& text, char what) {
  if (text.empty() || text[0] != what) return false;
  text.remove_prefix(1);
  return true;
}

bool read_token(std::string_view& text, Token& token) {
  if (text.size() < 2 * token.size()) return false;
  for (std::uint8_t& byte : token) {
    std::string_view digits = text.substr(0, 2);
    if (!read_number(digits, byte, 16) || !digits.empty()) return false;
    text.remove_prefix(2);
  }
  return true;
}

}  // namespace

std::string spans_text(const std::vector<HeldSpan>& spans) {
  std::string text;
  for (const HeldSpan& span : spans) {
    text += fmt::format("{}{}:{}-{}", text.empty() ? "" : " ", to_hex(span.lease), span.begin,
                        span.end);
  }
  return text;
}

std::vector<HeldSpan> read_spans(std::string_view text) {
  std::vector<HeldSpan> spans;
  while (!text.empty()) {
    HeldSpan span;
    skip(text, ' ');
    const bool good = read_token(text, span.lease) && skip(text, ':') &&
                      read_number(text, span.begin) && skip(text, '-') &&
                      read_number(text, span.end);
    if (!good || span.begin > span.end) return {};
    spans.push_back(span);
  }
  return spans;
}

std::string callers_text(const IssueSpan& span, std::int64_t base) {
  std::string text;
  for (std::size_t at = 1; at < span.caller_count; ++at) {
    const std::int64_t row = span.callers[at] == 0 ? 0 : base + span.callers[at];
    text += fmt::format("{}{}", text.empty() ? "" : ",", row);
  }
  return span.others ? text + "+" : text;
}

// --- the mark

HistoryMark HistoryFile::read_mark() {
  if (!database_.file_exists()) return {};
  Result<HistoryMark> mark = try_read_mark();
  if (mark.ok()) {
    // Opening read much of the file. An error here has no effect.
    static_cast<void>(database_.run("PRAGMA shrink_memory").ok());
    return std::move(*mark);
  }
  // Set aside: as if there had been none.
  if (!database_.usable()) return {};
  HistoryMark unreadable;
  unreadable.exists = true;
  unreadable.position = std::numeric_limits<LogPosition>::max();
  return unreadable;
}

Result<HistoryMark> HistoryFile::try_read_mark() {
  if (Status status = database_.open(); !status.ok()) return status;
  HistoryMark mark;
  Result<SqliteStatement> about = database_.prepare("SELECT position, wall_ms FROM about");
  if (!about.ok()) return about.status();
  {
    SqliteQuery query(*about);
    const int code = query.step();
    if (code == SQLITE_DONE) return mark;  // made, and nothing written yet
    if (code != SQLITE_ROW) return database_.error();
    mark.exists = true;
    mark.position = static_cast<LogPosition>(query.integer(0));
    mark.wall_ms = query.integer(1);
  }
  Result<SqliteStatement> sequences = database_.prepare(
      "SELECT name, available, leased + more_leased, issued + more_issued, returned + "
      "more_returned, "
      "gaps + more_gaps, unknown + more_unknown FROM sequence WHERE ended = 0 ORDER BY name");
  if (!sequences.ok()) return sequences.status();
  SqliteQuery query(*sequences);
  int code = query.step();
  for (; code == SQLITE_ROW; code = query.step()) {
    HistoryMark::Known known;
    known.available = read_spans(query.text(1));
    known.totals = {0,
                    query.integer(2),
                    query.integer(3),
                    query.integer(4),
                    query.integer(5),
                    query.integer(6)};
    mark.sequences.emplace_back(std::string(query.text(0)), std::move(known));
  }
  if (code != SQLITE_DONE) return database_.error();
  return mark;
}

// --- writing

Status HistoryFile::write(const HistoryBatch& batch, const HistoryLimits& limits) {
  Status status = database_.open();
  if (status.ok()) status = database_.sync_fully(batch.urgent());
  if (status.ok()) status = database_.run("BEGIN IMMEDIATE");
  if (!status.ok()) return status;
  status = write_rows(batch, limits);
  if (status.ok()) status = database_.run("COMMIT");
  if (!status.ok()) {
    database_.roll_back();
    shares_.forget();
    return status;
  }
  // Beyond the bound though much of it is empty: the file returns pages.
  const Result<std::int64_t> pages = database_.number("PRAGMA page_count");
  const Result<std::int64_t> page = database_.number("PRAGMA page_size");
  if (pages.ok() && page.ok() && *pages * *page > limits.size) {
    static_cast<void>(database_.run("PRAGMA incremental_vacuum(2000)").ok());
  }
  return {};
}

Status HistoryFile::write_rows(const HistoryBatch& batch, const HistoryLimits& limits) {
  Status status = number_rows();
  if (status.ok()) status = find_sequences(batch);
  if (status.ok()) status = write_spans(batch, limits.callers);
  if (status.ok() && limits.callers) status = write_callers(batch);
  if (status.ok()) status = write_leases(batch);
  if (status.ok()) status = write_gaps(batch);
  if (status.ok()) status = write_advances(batch, limits.callers);
  if (status.ok()) status = write_sums(batch);
  if (status.ok()) status = write_about(batch);
  if (!status.ok()) return status;
  const Result<Pruned> pruned = prune_history(database_, limits, shares_, batch.wall_ms);
  if (pruned.ok()) log_holds_dropped_ = log_holds_dropped_ || pruned->dropped;
  return pruned.status();
}

Result<bool> HistoryFile::prune(const HistoryLimits& limits, std::int64_t now_ms, bool reading) {
  database_.remove_set_aside(now_ms - limits.keep_ms, now_ms);
  if (!database_.file_exists()) return false;
  Status status = database_.open();
  if (status.ok()) status = database_.run("BEGIN IMMEDIATE");
  if (!status.ok()) return status;
  const Result<Pruned> pruned = prune_history(database_, limits, shares_, now_ms);
  status = pruned.status();
  if (status.ok()) status = database_.run("COMMIT");
  if (!status.ok()) {
    database_.roll_back();
    shares_.forget();
    return status;
  }
  log_holds_dropped_ = log_holds_dropped_ || pruned->dropped;
  if (log_holds_dropped_ && !reading) log_holds_dropped_ = !database_.truncate_log();
  return pruned->more;
}

Status HistoryFile::number_rows() {
  if (caller_base_ < 0) {
    // Numbers are not given again, even if their callers are gone: spans may have them.
    const Result<std::int64_t> base = database_.number(
        "SELECT max(coalesce((SELECT max(id) FROM caller), 0), "
        "coalesce((SELECT callers FROM about), 0))");
    if (!base.ok()) return base.status();
    caller_base_ = *base;
  }
  Result<SqliteStatement> insert =
      database_.prepare("INSERT INTO host(name) VALUES(?1) ON CONFLICT(name) DO NOTHING");
  if (!insert.ok()) return insert.status();
  if (SqliteQuery(*insert).bind(1, host_).step() != SQLITE_DONE) return database_.error();
  Result<SqliteStatement> find = database_.prepare("SELECT id FROM host WHERE name = ?1");
  if (!find.ok()) return find.status();
  SqliteQuery query(*find);
  if (query.bind(1, host_).step() != SQLITE_ROW) return database_.error();
  host_row_ = query.integer(0);
  return {};
}

Status HistoryFile::find_sequences(const HistoryBatch& batch) {
  rows_.clear();
  Result<SqliteStatement> find =
      database_.prepare("SELECT id, ended FROM sequence WHERE name = ?1");
  if (!find.ok()) return find.status();
  Result<SqliteStatement> insert =
      database_.prepare("INSERT INTO sequence(name) VALUES(?1) RETURNING id");
  if (!insert.ok()) return insert.status();
  for (const HistorySequence& sequence : batch.sequences) {
    Sequence& found = rows_[sequence.id];
    SqliteQuery query(*find);
    int code = query.bind(1, sequence.name).step();
    if (code == SQLITE_ROW) {
      found = {query.integer(0), false, query.integer(1) != 0};
      continue;
    }
    if (code != SQLITE_DONE) return database_.error();
    SqliteQuery made(*insert);
    code = made.bind(1, sequence.name).step();
    if (code != SQLITE_ROW) return database_.error();
    found = {made.integer(0), true, false};
    if (made.step() != SQLITE_DONE) return database_.error();
  }
  return {};
}

Status HistoryFile::write_callers(const HistoryBatch& batch) {
  Result<SqliteStatement> insert = database_.prepare(
      "INSERT INTO caller(id, uid, pid, name, used_ms, last_span) "
      "VALUES(?1, ?2, ?3, ?4, ?5, coalesce((SELECT max(id) FROM span), 0)) "
      "ON CONFLICT(id) DO UPDATE SET used_ms = ?5, last_span = excluded.last_span");
  if (!insert.ok()) return insert.status();
  for (const HistoryCaller& caller : batch.callers) {
    SqliteQuery query(*insert);
    query.bind(1, caller_base_ + caller.number)
        .bind(2, std::int64_t{caller.uid})
        .bind(3, std::int64_t{caller.pid})
        .bind(4, caller.name)
        .bind(5, batch.wall_ms);
    if (query.step() != SQLITE_DONE) return database_.error();
  }
  return {};
}

Status HistoryFile::write_spans(const HistoryBatch& batch, bool callers) {
  Result<SqliteStatement> insert = database_.prepare(
      "INSERT INTO span(sequence, first, count, began_ms, lasted_ms, caller, others) "
      "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)");
  if (!insert.ok()) return insert.status();
  std::map<CallerNumber, std::int64_t> users;
  for (const HistoryCaller& caller : batch.callers) users[caller.number] = caller.uid;
  for (const IssueSpan& span : batch.spans) {
    const std::string others = callers ? callers_text(span, caller_base_) : "";
    std::int64_t caller = span.callers[0] == 0 ? 0 : caller_base_ + span.callers[0];
    if (!callers) caller = kCallersOff;
    SqliteQuery query(*insert);
    query.bind(1, rows_[span.sequence].row)
        .bind(2, span.begin)
        .bind(3, span.end - span.begin)
        .bind(4, span.first_ms)
        .bind(5, std::max<std::int64_t>(span.last_ms - span.first_ms, 0))
        .bind(6, caller);
    if (!others.empty()) query.bind(7, others);
    if (query.step() != SQLITE_DONE) return database_.error();
    const auto user = callers ? users.find(span.callers[0]) : users.end();
    shares_.add(user == users.end() ? SpanShares::kUnknownUser : user->second, 1);
  }
  return {};
}

Status HistoryFile::write_leases(const HistoryBatch& batch) {
  Result<SqliteStatement> insert = database_.prepare(
      "INSERT INTO lease(sequence, first, count, at_ms, token, instance, host, whole) "
      "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
  if (!insert.ok()) return insert.status();
  for (const HistoryLease& lease : batch.leases) {
    SqliteQuery query(*insert);
    query.bind(1, rows_[lease.sequence].row)
        .bind(2, lease.begin)
        .bind(3, lease.end - lease.begin)
        .bind(4, lease.wall_ms)
        .bind_blob(5, lease.lease.data(), lease.lease.size())
        .bind_blob(6, lease.instance.data(), lease.instance.size())
        .bind(7, host_row_)
        .bind(8, std::int64_t{lease.whole ? 1 : 0});
    if (query.step() != SQLITE_DONE) return database_.error();
  }
  return {};
}

// The log's entry of a gap does not say which lease it came from; the leases do.
Status HistoryFile::write_gaps(const HistoryBatch& batch) {
  Result<SqliteStatement> insert = database_.prepare(
      "INSERT INTO gap(sequence, first, count, at_ms, cause, token, instance, host) VALUES(?1, ?2, "
      "?3, ?4, ?5, coalesce(?6, (SELECT token FROM lease WHERE sequence = ?1 AND first <= ?2 ORDER "
      "BY first DESC, id DESC LIMIT 1)), ?7, ?8)");
  if (!insert.ok()) return insert.status();
  for (const HistoryGap& gap : batch.gaps) {
    SqliteQuery query(*insert);
    query.bind(1, rows_[gap.sequence].row)
        .bind(3, gap.end - gap.begin)
        .bind(4, gap.wall_ms)
        .bind(5, gap.cause)
        .bind_blob(7, gap.instance.data(), gap.instance.size())
        .bind(8, host_row_);
    if (gap.place_known) query.bind(2, gap.begin);
    if (gap.lease != Token{}) query.bind_blob(6, gap.lease.data(), gap.lease.size());
    if (query.step() != SQLITE_DONE) return database_.error();
  }
  return {};
}

Status HistoryFile::write_sums(const HistoryBatch& batch) {
  Result<SqliteStatement> add = database_.prepare(
      "UPDATE sequence SET available = ?2, leased = leased + ?3, issued = issued + ?4, "
      "returned = returned + ?5, gaps = gaps + ?6, unknown = unknown + ?7, "
      "dropped_leased = dropped_leased + ?8, dropped_issued = dropped_issued + ?9, "
      "dropped_gaps = dropped_gaps + ?10, dropped_unknown = dropped_unknown + ?11, ended = ?12 "
      "WHERE id = ?1");
  if (!add.ok()) return add.status();
  std::map<std::int64_t, bool> ended;  // a name may be there twice: it ended, and was used again
  for (const auto& [id, row] : rows_) ended[row.row] = row.ended;
  for (const HistorySequence& sequence : batch.sequences) {
    const Sequence& row = rows_[sequence.id];
    const SequenceTotals& added = sequence.added;
    const SequenceTotals& unwritten = sequence.unwritten;
    const std::string available = spans_text(sequence.available);
    SqliteQuery query(*add);
    query.bind(1, row.row).bind(2, available).bind(3, added.leased).bind(4, added.issued);
    query.bind(5, added.returned).bind(6, added.gaps).bind(7, added.unknown);
    query.bind(8, unwritten.leased).bind(9, unwritten.issued);
    query.bind(10, unwritten.gaps).bind(11, unwritten.unknown);
    query.bind(12, std::int64_t{sequence.ended ? 1 : 0});
    if (query.step() != SQLITE_DONE) return database_.error();
    // What went before a new history, or before the sequence was used again, is in the log's sums
    // only, or not even there.
    const bool began = row.fresh || std::exchange(ended[row.row], sequence.ended);
    if (sequence.ended || (!began && !sequence.balances)) continue;
    if (Status status = balance(sequence, row.row); !status.ok()) return status;
  }
  for (const auto& [row, has_ended] : ended) {
    if (!has_ended) continue;
    if (Status status = drop_ended_sequence(database_, row); !status.ok()) return status;
  }
  return {};
}

Status HistoryFile::balance(const HistorySequence& sequence, std::int64_t row) {
  Result<SqliteStatement> statement = database_.prepare(
      "UPDATE sequence SET more_leased = ?2 - leased, more_issued = ?3 - issued, "
      "more_returned = ?4 - returned, more_gaps = ?5 - gaps, more_unknown = ?6 - unknown "
      "WHERE id = ?1");
  if (!statement.ok()) return statement.status();
  const SequenceTotals& totals = sequence.totals;
  SqliteQuery query(*statement);
  query.bind(1, row).bind(2, totals.leased).bind(3, totals.issued);
  query.bind(4, totals.returned).bind(5, totals.gaps).bind(6, totals.unknown);
  return query.step() == SQLITE_DONE ? Status() : database_.error();
}

Status HistoryFile::write_about(const HistoryBatch& batch) {
  Result<SqliteStatement> update = database_.prepare(
      "UPDATE about SET position = ?1, wall_ms = ?2, callers = max(callers, ?3) RETURNING 1");
  if (!update.ok()) return update.status();
  const auto position = static_cast<std::int64_t>(batch.position);
  std::int64_t callers = 0;
  for (const HistoryCaller& caller : batch.callers)
    callers = std::max(callers, caller_base_ + caller.number);
  SqliteQuery query(*update);
  const int code = query.bind(1, position).bind(2, batch.wall_ms).bind(3, callers).step();
  if (code == SQLITE_ROW) return {};
  if (code != SQLITE_DONE) return database_.error();
  Result<SqliteStatement> insert = database_.prepare(
      "INSERT INTO about(position, wall_ms, began_ms, callers) VALUES(?1, ?2, ?2, ?3)");
  if (!insert.ok()) return insert.status();
  SqliteQuery made(*insert);
  made.bind(1, position).bind(2, batch.wall_ms).bind(3, callers);
  if (made.step() != SQLITE_DONE) return database_.error();
  return {};
}

}  // namespace seqd
