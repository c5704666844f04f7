// The only foreign API here is SQLite's.
#include "daemon/store/history/history_database.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "daemon/store/sqlite/sqlite_locks.h"
#include "daemon/store/sqlite/sqlite_open_error.h"
#include "daemon/store/sqlite/sqlite_shared_memory.h"

namespace seqd {
namespace {

constexpr std::int64_t kApplicationId = 0x73657168;  // "seqh"
constexpr std::int64_t kVersion = 3;
constexpr int kBusyTimeoutMs = 500;

// Counts and times that are nearly always small are kept as differences: a span takes some 45
// bytes, its index included.
constexpr char kTables[] = R"(
  PRAGMA auto_vacuum = INCREMENTAL;
  BEGIN IMMEDIATE;
  CREATE TABLE about(
    position INTEGER NOT NULL, wall_ms INTEGER NOT NULL, began_ms INTEGER NOT NULL,
    callers INTEGER NOT NULL DEFAULT 0);
  CREATE TABLE host(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
  CREATE TABLE sequence(
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, available TEXT NOT NULL DEFAULT '',
    leased INTEGER NOT NULL DEFAULT 0, issued INTEGER NOT NULL DEFAULT 0,
    returned INTEGER NOT NULL DEFAULT 0, gaps INTEGER NOT NULL DEFAULT 0,
    unknown INTEGER NOT NULL DEFAULT 0,
    more_leased INTEGER NOT NULL DEFAULT 0, more_issued INTEGER NOT NULL DEFAULT 0,
    more_returned INTEGER NOT NULL DEFAULT 0, more_gaps INTEGER NOT NULL DEFAULT 0,
    more_unknown INTEGER NOT NULL DEFAULT 0,
    dropped_leased INTEGER NOT NULL DEFAULT 0, dropped_issued INTEGER NOT NULL DEFAULT 0,
    dropped_gaps INTEGER NOT NULL DEFAULT 0, dropped_unknown INTEGER NOT NULL DEFAULT 0,
    issues_below INTEGER NOT NULL DEFAULT 0, leases_below INTEGER NOT NULL DEFAULT 0,
    ended INTEGER NOT NULL DEFAULT 0);
  CREATE TABLE span(
    id INTEGER PRIMARY KEY, sequence INTEGER NOT NULL, first INTEGER NOT NULL,
    count INTEGER NOT NULL, began_ms INTEGER NOT NULL, lasted_ms INTEGER NOT NULL,
    caller INTEGER NOT NULL, others TEXT);
  CREATE INDEX span_by_first ON span(sequence, first);
  CREATE TABLE caller(
    id INTEGER PRIMARY KEY, uid INTEGER NOT NULL, pid INTEGER NOT NULL, name TEXT NOT NULL,
    used_ms INTEGER NOT NULL, last_span INTEGER NOT NULL DEFAULT 0);
  CREATE TABLE lease(
    id INTEGER PRIMARY KEY, sequence INTEGER NOT NULL, first INTEGER NOT NULL,
    count INTEGER NOT NULL, at_ms INTEGER NOT NULL, token BLOB NOT NULL, instance BLOB NOT NULL,
    host INTEGER NOT NULL, whole INTEGER NOT NULL);
  CREATE INDEX lease_by_first ON lease(sequence, first);
  CREATE TABLE gap(
    id INTEGER PRIMARY KEY AUTOINCREMENT, sequence INTEGER NOT NULL, first INTEGER,
    count INTEGER NOT NULL, at_ms INTEGER NOT NULL, cause TEXT NOT NULL, token BLOB,
    instance BLOB NOT NULL, host INTEGER NOT NULL);
  CREATE INDEX gap_by_sequence ON gap(sequence, id);
  CREATE INDEX gap_by_first ON gap(sequence, first);
  CREATE TABLE stamp(wall_ms INTEGER NOT NULL, span INTEGER NOT NULL, lease INTEGER NOT NULL);
  CREATE TABLE advance(
    id INTEGER PRIMARY KEY, sequence INTEGER NOT NULL, first INTEGER NOT NULL,
    next INTEGER NOT NULL, at_ms INTEGER NOT NULL, uid INTEGER, pid INTEGER);
  CREATE INDEX advance_by_first ON advance(sequence, first);
  PRAGMA application_id = 1936028008;
  PRAGMA user_version = 3;
  COMMIT;
)";
static_assert(kApplicationId == 1936028008 && kVersion == 3);

}  // namespace

bool HistoryDatabase::file_exists() const {
  std::error_code ignored;
  return std::filesystem::exists(path_, ignored);
}

void HistoryDatabase::close() {
  sqlite3_close_v2(exchange_handle(nullptr));
}

sqlite3* HistoryDatabase::exchange_handle(sqlite3* handle) {
  const std::lock_guard lock(handle_mutex_);
  return std::exchange(handle_, handle);
}

Status HistoryDatabase::open() {
  if (!unusable_.empty()) set_aside();
  if (handle_ != nullptr) return {};
  Status opened = open_file();
  if (!opened.ok() && !unusable_.empty()) {
    set_aside();
    opened = open_file();
  }
  if (!opened.ok()) close();
  return opened;
}

Status HistoryDatabase::open_file() {
  close();
  bound_sqlite_waits();
  give_room_to_sqlite_memory();
  take_over_sqlite_opens();
  const int flags =
      SQLITE_OPEN_FULLMUTEX |
      (access_ == Access::read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  sqlite3* handle = nullptr;
  const int opened = sqlite3_open_v2(path_.c_str(), &handle, flags, nullptr);
  exchange_handle(handle);
  if (opened != SQLITE_OK) return error();
  sqlite3_extended_result_codes(handle_, 1);
  sqlite3_busy_timeout(handle_, kBusyTimeoutMs);
  if (Status status = check_owner(); !status.ok()) return status;
  // The cache is small: a batch touches the ends of a few tables.
  return run(
      "PRAGMA journal_size_limit = 4194304; PRAGMA cache_size = -512; "
      "PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF; PRAGMA synchronous = NORMAL; "
      "PRAGMA secure_delete = ON");
}

Status HistoryDatabase::check_owner() {
  const Result<std::int64_t> application = number("PRAGMA application_id");
  if (!application.ok()) return application.status();
  const Result<std::int64_t> version = number("PRAGMA user_version");
  if (!version.ok()) return version.status();
  const Result<std::int64_t> objects = number("SELECT count(*) FROM sqlite_master");
  if (!objects.ok()) return objects.status();
  if (*application == kApplicationId && *version == kVersion) return {};
  const bool is_empty = *application == 0 && *version == 0 && *objects == 0;
  if (access_ == Access::write && is_empty) return create_tables();
  const std::string why =
      *application == kApplicationId
          ? fmt::format("it is of version {}, this seqd writes version {}", *version, kVersion)
          : "it is not a history of seqd";
  if (access_ == Access::write) unusable_ = why;
  return {ErrorCode::STATE_IO, path_ + ": " + why};
}

Status HistoryDatabase::create_tables() {
  // Before the first table: the file shall return pages when less is kept.
  if (Status status = run("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL");
      !status.ok()) {
    return status;
  }
  Status created = run(kTables);
  if (!created.ok()) roll_back();
  return created;
}

void HistoryDatabase::interrupt() {
  const std::lock_guard lock(handle_mutex_);
  if (handle_ != nullptr) sqlite3_interrupt(handle_);
}

bool HistoryDatabase::truncate_log() {
  return handle_ != nullptr &&
         sqlite3_wal_checkpoint_v2(handle_, nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr,
                                   nullptr) == SQLITE_OK;
}

Status HistoryDatabase::remove() {
  close();
  Status status;
  for (const char* aside : {"", kSetAside}) {
    for (const char* end : {"-shm", "-wal", ""}) {
      std::error_code failed;
      std::filesystem::remove(path_ + aside + end, failed);
      if (failed)
        status = {ErrorCode::STATE_IO,
                  path_ + aside + end + " cannot be removed: " + failed.message()};
    }
  }
  return status;
}

void HistoryDatabase::remove_set_aside(std::int64_t before_ms, std::int64_t now_ms) {
  using FileClock = std::filesystem::file_time_type::clock;
  using std::chrono::milliseconds;
  const auto at = [](std::int64_t wall_ms) {
    return std::chrono::time_point_cast<FileClock::duration>(
        FileClock::from_sys(std::chrono::system_clock::time_point(milliseconds(wall_ms))));
  };
  std::error_code ignored;
  for (const char* end : {"-wal", ""}) {
    const std::string path = path_ + kSetAside + end;
    std::error_code missing;
    const auto written = std::filesystem::last_write_time(path, missing);
    if (missing) continue;
    if (written > at(now_ms)) {
      std::filesystem::last_write_time(path, at(now_ms), ignored);
    } else if (written < at(before_ms)) {
      std::filesystem::remove(path, ignored);
    }
  }
}

void HistoryDatabase::roll_back() {
  if (handle_ == nullptr || sqlite3_get_autocommit(handle_) != 0) return;
  sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
}

Result<SqliteStatement> HistoryDatabase::prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(handle_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) !=
      SQLITE_OK) {
    return error();
  }
  return SqliteStatement(statement);
}

Status HistoryDatabase::run(const char* sql) {
  if (sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return error();
  return {};
}

Status HistoryDatabase::sync_fully(bool fully) {
  return run(fully ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
}

Result<std::int64_t> HistoryDatabase::number(const char* sql) {
  Result<SqliteStatement> statement = prepare(sql);
  if (!statement.ok()) return statement.status();
  SqliteQuery query(*statement);
  if (query.step() != SQLITE_ROW) return error();
  return query.integer(0);
}

Status HistoryDatabase::error() {
  if (handle_ == nullptr) return {ErrorCode::STATE_IO, path_ + " cannot be opened: out of memory"};
  const int code = sqlite3_extended_errcode(handle_);
  const std::string what = fmt::format("{} (code {})", sqlite3_errmsg(handle_), code);
  switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
    case SQLITE_MISMATCH:
    case SQLITE_CONSTRAINT:
    case SQLITE_ERROR:  // a table or a column is missing
      if (access_ == Access::write) unusable_ = what;
      break;
    case SQLITE_BUSY:
    case SQLITE_PROTOCOL:
      if (const std::string who = sqlite_lock_holders(path_); !who.empty())
        return {ErrorCode::STATE_IO,
                fmt::format("{}: {}; {} holds a lock on it", path_, what, who)};
      break;
    default:
      break;
  }
  return {ErrorCode::STATE_IO, path_ + ": " + what};
}

// With its log, so that nothing of it is lost; one such file is kept, the youngest.
void HistoryDatabase::set_aside() {
  close();
  const std::string why = std::exchange(unusable_, {});
  std::error_code failed;
  std::error_code ignored;
  std::filesystem::remove(path_ + kSetAside + "-wal", ignored);
  std::filesystem::rename(path_ + "-wal", path_ + kSetAside + "-wal", ignored);
  std::filesystem::remove(path_ + "-shm", ignored);
  std::filesystem::rename(path_, path_ + kSetAside, failed);
  warnings_.push_back(
      failed
          ? fmt::format("{} cannot be used ({}) and cannot be renamed ({}); nothing is "
                        "recorded until it is moved away",
                        path_, why, failed.message())
          : fmt::format("{0} cannot be used ({1}); it was renamed to {0}{2} and a new history is "
                        "begun",
                        path_, why, kSetAside));
}

}  // namespace seqd
