// What administrators passed over: a part of history_file.h. The only foreign API here is SQLite's.
#include "daemon/store/history/history_file.h"

namespace seqd {

Status HistoryFile::write_advances(const HistoryBatch& batch, bool callers) {
  if (batch.advances.empty()) return {};
  Result<SqliteStatement> insert = database_.prepare(
      "INSERT INTO advance(sequence, first, next, at_ms, uid, pid) VALUES(?1, ?2, ?3, ?4, ?5, ?6)");
  if (!insert.ok()) return insert.status();
  for (const HistoryAdvance& advance : batch.advances) {
    SqliteQuery query(*insert);
    query.bind(1, rows_[advance.sequence].row)
        .bind(2, advance.begin)
        .bind(3, advance.end)
        .bind(4, advance.wall_ms);
    if (callers && advance.uid)
      query.bind(5, std::int64_t{*advance.uid}).bind(6, std::int64_t{advance.pid});
    if (query.step() != SQLITE_DONE) return database_.error();
  }
  return {};
}

}  // namespace seqd
