// SqliteConnection: one open SQLite file that is known to be seqd's own, and its prepared
// statements. Opening checks which program created the file before anything is written to it. The
// owner calls from one thread at a time.
//
// Invariant: WAL and synchronous=FULL, so a commit that returned is on the disk, where
// check_in_place() is OK afterwards.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "daemon/base/status.h"
#include "daemon/store/sqlite/sqlite_files.h"

namespace seqd {

// A prepared statement that is reset when it leaves the scope of its use (see SqliteQuery).
struct SqliteFinalizer {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using SqliteStatement = std::unique_ptr<sqlite3_stmt, SqliteFinalizer>;

// One use of a prepared statement: bind, step, read columns. Bound memory must outlive the use.
class SqliteQuery {
 public:
  explicit SqliteQuery(const SqliteStatement& statement) : statement_(statement.get()) {}
  ~SqliteQuery() {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  }
  SqliteQuery(const SqliteQuery&) = delete;
  SqliteQuery& operator=(const SqliteQuery&) = delete;

  SqliteQuery& bind(int index, std::int64_t value);
  SqliteQuery& bind(int index, std::string_view text);
  SqliteQuery& bind_blob(int index, const void* data, std::size_t size);

  // SQLITE_ROW, SQLITE_DONE or an error.
  int step() { return sqlite3_step(statement_); }

  int type(int column) const { return sqlite3_column_type(statement_, column); }
  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string_view text(int column) const;
  std::string_view blob(int column) const;

 private:
  sqlite3_stmt* statement_;
};

class SqliteConnection {
 public:
  // Opens or creates the file. STORE_REFUSED when it is not ours, of another schema or damaged;
  // UNAVAILABLE when it is locked or has no room.
  static Result<std::unique_ptr<SqliteConnection>> open(const std::string& path,
                                                        int busy_timeout_ms);

  ~SqliteConnection();
  SqliteConnection(const SqliteConnection&) = delete;
  SqliteConnection& operator=(const SqliteConnection&) = delete;

  Result<SqliteStatement> prepare(const char* sql);
  // Runs statements without parameters; an SQLite result code.
  int run(const char* sql) { return sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr); }
  // STORE_REFUSED once the path no longer leads to the files that are open;
  // UNAVAILABLE where they cannot be relied on (sqlite_files.h).
  Status check_in_place() const { return files_.check(); }
  bool in_transaction() const { return sqlite3_get_autocommit(handle_) == 0; }

  // The last error of this connection as a Status: what happened and what to do.
  Status error() const;

 private:
  SqliteConnection(std::string path, int busy_timeout_ms)
      : path_(std::move(path)), busy_timeout_ms_(busy_timeout_ms), files_(path_) {}
  Status check_owner();
  Status create_schema();
  Status create_tables();
  Status check_health();
  Result<std::int64_t> pragma_integer(const char* sql);
  std::string locked_text(const char* what, int code) const;

  const std::string path_;
  const int busy_timeout_ms_;
  SqliteFiles files_;
  sqlite3* handle_ = nullptr;
};

}  // namespace seqd
