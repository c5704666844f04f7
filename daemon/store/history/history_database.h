// HistoryDatabase: the SQLite file that holds the history, open, with its tables. A file that is
// damaged, another program's or of another version is set aside (renamed, kept for people) and a
// new one is begun: the history must never keep the daemon from serving. One thread at a time, but
// for interrupt().
//
// What is deleted is overwritten in the file (secure_delete), and in its write-ahead log by
// truncate_log().
//
// Invariant: WAL; a commit is on the medium only where sync_fully(true) was called before.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "daemon/store/sqlite/sqlite_connection.h"

namespace seqd {

class HistoryDatabase {
 public:
  static constexpr const char* kFileName = "history.db";
  static constexpr const char* kSetAside = ".set-aside";

  // read: of a file that another one, which writes, has opened before; it is never set aside.
  enum class Access : std::uint8_t { write, read };

  // Touches nothing yet.
  explicit HistoryDatabase(std::string path, Access access = Access::write)
      : path_(std::move(path)), access_(access) {}
  ~HistoryDatabase() { close(); }
  HistoryDatabase(const HistoryDatabase&) = delete;
  HistoryDatabase& operator=(const HistoryDatabase&) = delete;

  // Opens the file unless it is open, and makes it when it is missing. One that an error() found
  // unusable is set aside first. STATE_IO: not now. No statement may be left from before.
  Status open();
  bool file_exists() const;
  void close();
  // Closes it and removes the file, one that was set aside included. STATE_IO: something stays.
  Status remove();
  // Removes a file that was set aside and was last written before `before_ms`. One that was written
  // later than `now_ms`, by a clock that was ahead, counts as written now.
  void remove_set_aside(std::int64_t before_ms, std::int64_t now_ms);
  // Ends what runs with an error, if the file is open. From any thread, also while it is closed.
  void interrupt();
  // What was deleted is gone from the write-ahead log, too. False: not yet, as another connection
  // is reading, or the file has no room.
  [[nodiscard]] bool truncate_log();

  // Statements live as long as one batch or one question.
  Result<SqliteStatement> prepare(const char* sql);
  // Runs statements without parameters.
  Status run(const char* sql);
  // Ends a transaction that failed, if it is still open.
  void roll_back();
  // False: an error said that the file cannot be used any more.
  bool usable() const { return unusable_.empty(); }
  Status sync_fully(bool fully);
  Result<std::int64_t> number(const char* sql);

  // The last error. When it says that the file cannot be used any more, the next open() begins a
  // new one.
  Status error();
  // Warnings for the journal, each once.
  std::vector<std::string> take_warnings() { return std::exchange(warnings_, {}); }

 private:
  Status open_file();
  sqlite3* exchange_handle(sqlite3* handle);
  Status check_owner();
  Status create_tables();
  void set_aside();

  const std::string path_;
  const Access access_;
  std::mutex handle_mutex_;  // for setting handle_, and for interrupt()
  sqlite3* handle_ = nullptr;
  std::string unusable_;  // why the file cannot be used any more; empty: it can
  std::vector<std::string> warnings_;
};

}  // namespace seqd
