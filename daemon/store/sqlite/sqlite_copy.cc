// The only foreign API here is SQLite's.
#include "daemon/store/sqlite/sqlite_copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>
#include <utility>

#include "daemon/store/sqlite/sqlite_connection.h"
#include "daemon/store/sqlite/sqlite_open_error.h"

namespace seqd {
namespace {

constexpr const char* kDraft = ".new";
constexpr std::int64_t kLeftToOthers = 1 << 20;  // bytes of the file system

struct SqliteCloser {
  void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
};
using SqliteHandle = std::unique_ptr<sqlite3, SqliteCloser>;

// What every page of two files that are the same has in common.
struct Extent {
  std::int64_t schema = 0;
  std::int64_t pages = 0;
  bool operator==(const Extent&) const = default;
};

class Copying {
 public:
  Copying(std::string file, std::string copy)
      : file_(std::move(file)), copy_(std::move(copy)), draft_(copy_ + kDraft) {}
  ~Copying() { remove_draft(); }
  Copying(const Copying&) = delete;
  Copying& operator=(const Copying&) = delete;

  Status make() {
    remove_draft();
    Extent original;
    if (Status status = write(original); !status.ok()) return status;
    if (Status status = verify(original); !status.ok()) return status;
    return put_in_place();
  }

 private:
  void remove_draft() const {
    for (const char* end : {"", "-journal", "-wal", "-shm"}) ::unlink((draft_ + end).c_str());
  }

  Status failed(const std::string& why, ErrorCode code) const {
    return {code, fmt::format("SQLite file {} has a schema from before this version, and the copy "
                              "{} of it cannot be made first: {}; see that there is room for it, "
                              "and that the daemon's user may write there. Nothing was changed",
                              file_, copy_, why)};
  }
  Status failed(int error) const {
    const bool passes = error == ENOSPC || error == EDQUOT || error == EIO || error == EMFILE ||
                        error == ENFILE || error == ENOMEM;
    return failed(std::generic_category().message(error),
                  passes ? ErrorCode::UNAVAILABLE : ErrorCode::STORE_REFUSED);
  }
  Status failed(sqlite3* handle) const {
    if (handle == nullptr) return failed("no memory is left", ErrorCode::UNAVAILABLE);
    const int code = sqlite3_errcode(handle);
    const int open_error = code == SQLITE_CANTOPEN ? take_sqlite_open_error() : 0;
    if (open_error != 0) return failed(open_error);
    const bool passes = code == SQLITE_FULL || code == SQLITE_IOERR || code == SQLITE_NOMEM ||
                        code == SQLITE_BUSY || code == SQLITE_LOCKED;
    return failed(sqlite3_errmsg(handle),
                  passes ? ErrorCode::UNAVAILABLE : ErrorCode::STORE_REFUSED);
  }

  Result<SqliteHandle> open(const std::string& path, int flags) const {
    sqlite3* handle = nullptr;
    const int code = sqlite3_open_v2(path.c_str(), &handle, flags | SQLITE_OPEN_FULLMUTEX, nullptr);
    SqliteHandle owned(handle);
    if (code != SQLITE_OK) return failed(handle);
    return owned;
  }

  // The first column of the first row.
  Result<std::string> ask(sqlite3* handle, const char* sql) const {
    sqlite3_stmt* made = nullptr;
    const int code = sqlite3_prepare_v2(handle, sql, -1, &made, nullptr);
    const SqliteStatement statement(made);
    if (code != SQLITE_OK) return failed(handle);
    SqliteQuery query(statement);
    if (query.step() != SQLITE_ROW) return failed(handle);
    return std::string(query.text(0));
  }

  Result<Extent> extent_of(sqlite3* handle) const {
    const Result<std::string> schema = ask(handle, "PRAGMA user_version");
    if (!schema.ok()) return schema.status();
    const Result<std::string> pages = ask(handle, "PRAGMA page_count");
    if (!pages.ok()) return pages.status();
    return Extent{std::stoll(*schema), std::stoll(*pages)};
  }

  // Asked before anything is written: an attempt that takes the last byte takes it from every
  // program, and is repeated by each call of the store. Where it cannot be told, the copy is tried.
  Status check_room(std::int64_t bytes) const {
    struct statvfs disk {};
    if (::statvfs(directory().c_str(), &disk) != 0) return {};
    const std::int64_t wanted = bytes + kLeftToOthers;
    const auto block = static_cast<std::int64_t>(disk.f_frsize);
    if (static_cast<std::int64_t>(disk.f_bavail) >= wanted / block + 1) return {};
    return failed(fmt::format("{} bytes are free there, and it waits for {}",
                              static_cast<std::int64_t>(disk.f_bavail) * block, wanted),
                  ErrorCode::UNAVAILABLE);
  }

  Status write(Extent& original) const {
    const Result<SqliteHandle> from = open(file_, SQLITE_OPEN_READWRITE);
    if (!from.ok()) return from.status();
    const Result<Extent> extent = extent_of(from->get());
    if (!extent.ok()) return extent.status();
    original = *extent;
    const Result<std::string> page_bytes = ask(from->get(), "PRAGMA page_size");
    if (!page_bytes.ok()) return page_bytes.status();
    if (Status status = check_room(original.pages * std::stoll(*page_bytes)); !status.ok())
      return status;
    const Result<SqliteHandle> to = open(draft_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    if (!to.ok()) return to.status();
    sqlite3_backup* const backup = sqlite3_backup_init(to->get(), "main", from->get(), "main");
    if (backup == nullptr) return failed(to->get());
    sqlite3_backup_step(backup, -1);
    if (sqlite3_backup_finish(backup) != SQLITE_OK) return failed(to->get());
    // One file that can be moved about, whatever the original has beside it.
    const Result<std::string> mode = ask(to->get(), "PRAGMA journal_mode = DELETE");
    if (!mode.ok()) return mode.status();
    return *mode == "delete" ? Status() : failed("its journal mode is " + *mode, kRefused);
  }

  // Through an opening of its own, so that nothing comes from a cache of what was written.
  Status verify(const Extent& original) const {
    const Result<SqliteHandle> written = open(draft_, SQLITE_OPEN_READONLY);
    if (!written.ok()) return written.status();
    const Result<std::string> found = ask(written->get(), "PRAGMA integrity_check(1)");
    if (!found.ok()) return found.status();
    if (*found != "ok") return failed("read again, it is damaged: " + *found, kRefused);
    const Result<Extent> extent = extent_of(written->get());
    if (!extent.ok()) return extent.status();
    return *extent == original ? Status() : failed("read again, it is another one", kRefused);
  }

  std::string directory() const {
    const std::size_t end = copy_.rfind('/');
    return end == std::string::npos ? "." : copy_.substr(0, end + 1);
  }

  Status put_in_place() const {
    if (std::rename(draft_.c_str(), copy_.c_str()) != 0) return failed(errno);
    const int fd = ::open(directory().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return failed(errno);
    const int error = ::fsync(fd) == 0 ? 0 : errno;
    ::close(fd);
    return error == 0 ? Status() : failed(error);
  }

  static constexpr ErrorCode kRefused = ErrorCode::STORE_REFUSED;

  const std::string file_;
  const std::string copy_;
  const std::string draft_;
};

}  // namespace

Status copy_sqlite_file(const std::string& file, const std::string& copy) {
  return Copying(file, copy).make();
}

}  // namespace seqd
