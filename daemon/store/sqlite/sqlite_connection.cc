// The only foreign API here is SQLite's.
#include "daemon/store/sqlite/sqlite_connection.h"

#include <fmt/format.h>

#include <cerrno>
#include <utility>

#include "daemon/store/sqlite/sqlite_locks.h"
#include "daemon/store/sqlite/sqlite_open_error.h"
#include "daemon/store/sqlite/sqlite_shared_memory.h"

namespace seqd {
namespace {

constexpr std::int64_t kApplicationId = 0x73657164;  // "seqd"
constexpr std::int64_t kSchemaVersion = 8;

// `seq` has no declared type on purpose: a value written by hand stays as it is, and is detected
// instead of being converted. `parked` has ranges that were returned, with the token of the return,
// and of the lease that took it since; `floor` counters that were advanced for every host;
// `identity` what distinguishes this database from others, wherever its file is moved, and how many
// transactions changed the file (sqlite_commit_mark.h). The rows of `heartbeat` stay when an
// instance is forgotten: they detect a file restored from an older copy.
constexpr char kTables[] = R"(
  CREATE TABLE sequence(
    name TEXT PRIMARY KEY NOT NULL,
    seq NOT NULL,
    meaning TEXT);
  CREATE TABLE lease(
    ordinal INTEGER PRIMARY KEY AUTOINCREMENT,
    token BLOB NOT NULL UNIQUE,
    instance BLOB NOT NULL,
    name TEXT NOT NULL,
    state TEXT NOT NULL CHECK(state IN ('granted', 'void')),
    first INTEGER NOT NULL,
    after INTEGER NOT NULL,
    sequence TEXT);
  CREATE TABLE instance(
    id BLOB PRIMARY KEY NOT NULL,
    epoch INTEGER NOT NULL,
    nonce BLOB NOT NULL);
  CREATE TABLE total(
    name TEXT NOT NULL,
    instance BLOB NOT NULL,
    since INTEGER NOT NULL,
    leases INTEGER NOT NULL,
    ids INTEGER NOT NULL,
    PRIMARY KEY(name, instance)) WITHOUT ROWID;
  CREATE TABLE parked(
    token BLOB PRIMARY KEY NOT NULL,
    name TEXT NOT NULL,
    first INTEGER NOT NULL,
    after INTEGER NOT NULL,
    taken BLOB) WITHOUT ROWID;
  CREATE INDEX parked_by_counter ON parked(name, first);
  CREATE TABLE floor(
    name TEXT PRIMARY KEY NOT NULL,
    floor INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE identity(
    one INTEGER PRIMARY KEY CHECK(one = 1),
    identity BLOB NOT NULL,
    commits INTEGER NOT NULL DEFAULT 0);
  INSERT INTO identity(one, identity) VALUES(1, randomblob(16));
  CREATE TABLE heartbeat(
    id BLOB PRIMARY KEY NOT NULL,
    beat INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX lease_by_sequence ON lease(instance, name, sequence, ordinal);
  PRAGMA application_id = 1936028004;
  PRAGMA user_version = 8;
  COMMIT;
)";
static_assert(kApplicationId == 1936028004 && kSchemaVersion == 8);

// Of a file that could not be opened or created. Null: it is not transient.
const char* passing_reason(int error) {
  switch (error) {
    case ENOSPC:
      return "the disk is full, or has no inode for one more file; make room";
    case EDQUOT:
      return "the disk quota of the daemon's user is used up; make room";
    case EMFILE:
      return "the daemon has reached its limit of open files; raise LimitNOFILE= of its unit";
    case ENFILE:
      return "the system has reached its limit of open files; raise fs.file-max";
    default:
      return nullptr;
  }
}

}  // namespace

SqliteQuery& SqliteQuery::bind(int index, std::int64_t value) {
  ASSERT(sqlite3_bind_int64(statement_, index, value) == SQLITE_OK);
  return *this;
}

SqliteQuery& SqliteQuery::bind(int index, std::string_view text) {
  ASSERT(sqlite3_bind_text64(statement_, index, text.data(), text.size(), SQLITE_STATIC,
                             SQLITE_UTF8) == SQLITE_OK);
  return *this;
}

SqliteQuery& SqliteQuery::bind_blob(int index, const void* data, std::size_t size) {
  ASSERT(sqlite3_bind_blob64(statement_, index, data, size, SQLITE_STATIC) == SQLITE_OK);
  return *this;
}

std::string_view SqliteQuery::text(int column) const {
  const auto* text = sqlite3_column_text(statement_, column);
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(text),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::string_view SqliteQuery::blob(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);
  if (bytes == nullptr) return {};
  return {static_cast<const char*>(bytes),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

Result<std::unique_ptr<SqliteConnection>> SqliteConnection::open(const std::string& path,
                                                                 int busy_timeout_ms) {
  if (path.empty() || path[0] == ':' || path.find('\0') != std::string::npos) {
    return Status(ErrorCode::CONFIG,
                  fmt::format("SQLite file \"{}\": a path to a file is needed", path));
  }
  bound_sqlite_waits();
  give_room_to_sqlite_memory();
  take_over_sqlite_opens();
  std::unique_ptr<SqliteConnection> connection(new SqliteConnection(path, busy_timeout_ms));
  constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX;
  if (sqlite3_open_v2(path.c_str(), &connection->handle_, kFlags, nullptr) != SQLITE_OK) {
    return connection->error();
  }
  sqlite3_extended_result_codes(connection->handle_, 1);
  sqlite3_busy_timeout(connection->handle_, busy_timeout_ms);
  if (Status status = connection->check_owner(); !status.ok()) return status;
  if (Status status = connection->create_schema(); !status.ok()) return status;
  if (Status status = connection->check_health(); !status.ok()) return status;
  // Opening read the whole file. An error here has no effect.
  static_cast<void>(connection->run("PRAGMA shrink_memory"));
  const char* const resolved = sqlite3_db_filename(connection->handle_, "main");
  if (Status status = connection->files_.note(resolved); !status.ok()) return status;
  return connection;
}

SqliteConnection::~SqliteConnection() {
  sqlite3_close_v2(handle_);
}

// Before the first write: an empty file, or one of ours that this version understands.
Status SqliteConnection::check_owner() {
  auto application = pragma_integer("PRAGMA application_id");
  if (!application.ok()) return application.status();
  auto version = pragma_integer("PRAGMA user_version");
  if (!version.ok()) return version.status();
  auto objects = pragma_integer("SELECT count(*) FROM sqlite_master");
  if (!objects.ok()) return objects.status();
  if (*application == kApplicationId) {
    if (*version == kSchemaVersion) return {};
    return {ErrorCode::STORE_REFUSED,
            fmt::format("SQLite file {} was written by {} seqd (schema {}, this version knows {}); "
                        "start that version, or name another file",
                        path_, *version > kSchemaVersion ? "a newer" : "an older", *version,
                        kSchemaVersion)};
  }
  if (*application != 0 || *version != 0 || *objects != 0) {
    return {ErrorCode::STORE_REFUSED,
            fmt::format("SQLite file {} belongs to another program (application id {}, {} tables "
                        "and indexes); name "
                        "a file of seqd's own, it will be created",
                        path_, *application, *objects)};
  }
  return {};
}

Status SqliteConnection::create_schema() {
  auto mode = prepare("PRAGMA journal_mode = WAL");
  if (!mode.ok()) return mode.status();
  {
    SqliteQuery query(*mode);
    if (query.step() != SQLITE_ROW) return error();
    if (query.text(0) != "wal") {
      return {ErrorCode::STORE_REFUSED, fmt::format("SQLite file {} cannot use a write-ahead log "
                                                    "here (journal mode {}); put it on a local "
                                                    "file system",
                                                    path_, query.text(0))};
    }
  }
  if (run("PRAGMA synchronous = FULL") != SQLITE_OK) return error();
  // A savepoint may have to save pages, and there may be no directory for temporary files.
  if (run("PRAGMA temp_store = MEMORY") != SQLITE_OK) return error();
  if (run("PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF") != SQLITE_OK) {
    return error();
  }
  auto version = pragma_integer("PRAGMA user_version");
  if (!version.ok()) return version.status();
  if (*version == kSchemaVersion) return {};
  Status status = create_tables();
  if (!status.ok()) run("ROLLBACK");
  return status;
}

// In one transaction, which another daemon may have been faster with.
Status SqliteConnection::create_tables() {
  if (run("BEGIN IMMEDIATE") != SQLITE_OK) return error();
  if (Status status = check_owner(); !status.ok()) return status;
  const auto version = pragma_integer("PRAGMA user_version");
  if (!version.ok()) return version.status();
  const char* const rest = *version == kSchemaVersion ? "COMMIT" : kTables;
  return run(rest) == SQLITE_OK ? Status() : error();
}

Status SqliteConnection::check_health() {
  auto statement = prepare("PRAGMA quick_check(1)");
  if (!statement.ok()) return statement.status();
  SqliteQuery query(*statement);
  if (query.step() != SQLITE_ROW) return error();
  if (query.text(0) != "ok") {
    return {ErrorCode::STORE_REFUSED,
            fmt::format("SQLite file {} is damaged ({}); restore it from a backup and move every "
                        "sequence forward "
                        "(seqctl advance), or rescue it with `sqlite3 FILE .recover`",
                        path_, query.text(0))};
  }
  return {};
}

Result<SqliteStatement> SqliteConnection::prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(handle_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) !=
      SQLITE_OK) {
    return error();
  }
  return SqliteStatement(statement);
}

Result<std::int64_t> SqliteConnection::pragma_integer(const char* sql) {
  auto statement = prepare(sql);
  if (!statement.ok()) return statement.status();
  SqliteQuery query(*statement);
  if (query.step() != SQLITE_ROW) return error();
  return query.integer(0);
}

std::string SqliteConnection::locked_text(const char* what, int code) const {
  const std::string who = sqlite_lock_holders(path_);
  return fmt::format(
      "SQLite file {}: {} (code {}); {} has held a lock on it for more than {} ms; end its "
      "transaction (a sqlite3 shell, a backup?){}",
      path_, what, code, who.empty() ? "another process" : who, busy_timeout_ms_,
      who.empty() ? fmt::format("; `fuser -v {}` shows which", path_) : "");
}

Status SqliteConnection::error() const {
  const int code = handle_ == nullptr ? SQLITE_NOMEM : sqlite3_extended_errcode(handle_);
  const char* what = handle_ == nullptr ? "out of memory" : sqlite3_errmsg(handle_);
  auto refuse = [&](ErrorCode kind, const std::string& advice) {
    return Status(kind, fmt::format("SQLite file {}: {} (code {}); {}", path_, what, code, advice));
  };
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:  // a lock of the write-ahead log
      return {ErrorCode::UNAVAILABLE, locked_text(what, code)};
    case SQLITE_NOTADB:
      return refuse(ErrorCode::STORE_REFUSED,
                    "it is not an SQLite file, or is encrypted; name another file, or restore it");
    case SQLITE_CORRUPT:
      return refuse(ErrorCode::STORE_REFUSED,
                    "it is damaged; restore it from a backup and move every sequence forward "
                    "(seqctl advance), or "
                    "rescue it with `sqlite3 FILE .recover`");
    case SQLITE_FULL:
      return refuse(ErrorCode::UNAVAILABLE, "the disk is full; make room");
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return refuse(ErrorCode::STORE_REFUSED,
                    "the daemon's user must be able to write the file and its directory");
    case SQLITE_CANTOPEN:
      if (const char* reason = passing_reason(take_sqlite_open_error()); reason != nullptr)
        return refuse(ErrorCode::UNAVAILABLE, reason);
      return refuse(ErrorCode::STORE_REFUSED,
                    "the directory must exist and the daemon's user must be able to write the file "
                    "and the directory");
    case SQLITE_IOERR:
      if (code == SQLITE_IOERR_SHMMAP || code == SQLITE_IOERR_SHMSIZE) {
        return refuse(ErrorCode::UNAVAILABLE,
                      "the shared memory of its write-ahead log (-shm) finds no room: the disk is "
                      "full; make room");
      }
      return refuse(ErrorCode::UNAVAILABLE,
                    "the disk failed to read or write; see the kernel's log");
    default:
      return refuse(ErrorCode::STORE_REFUSED, "check the file with `sqlite3 FILE`");
  }
}

}  // namespace seqd
