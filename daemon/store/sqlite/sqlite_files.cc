#include "daemon/store/sqlite/sqlite_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <optional>
#include <system_error>

namespace seqd {
namespace {

// Nothing is there; after other errors that is unknown.
bool is_absence(int error) {
  return error == ENOENT || error == ENOTDIR || error == ELOOP;
}

// None when there is nothing. UNAVAILABLE: it cannot be determined.
Result<std::optional<FileIdentity>> identity_of(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0) {
    return std::optional(FileIdentity{static_cast<std::uint64_t>(found.st_dev),
                                      static_cast<std::uint64_t>(found.st_ino)});
  }
  if (is_absence(errno)) return std::optional<FileIdentity>();
  return Status(ErrorCode::UNAVAILABLE,
                fmt::format("SQLite file {}: cannot determine whether it still exists: {}", path,
                            std::generic_category().message(errno)));
}

}  // namespace

Status SqliteFiles::note(const std::string& resolved) {
  files_ = {path_, resolved + "-wal", resolved + "-shm"};
  for (std::size_t file = 0; file < kCount; ++file) {
    const auto found = identity_of(files_[file]);
    if (!found.ok()) return found.status();
    if (!*found) {
      return {ErrorCode::UNAVAILABLE,
              fmt::format("SQLite file {} was removed while seqd opened {}", files_[file], path_)};
    }
    identities_[file] = **found;
  }
  return {};
}

Status SqliteFiles::check() const {
  for (std::size_t file = 0; file < kCount; ++file) {
    const auto found = identity_of(files_[file]);
    if (!found.ok()) return found.status();
    if (*found == identities_[file]) continue;
    return {
        ErrorCode::STORE_REFUSED,
        fmt::format("SQLite file {} was replaced, moved or removed while seqd was running; nothing "
                    "is leased from the former file any more: put it back, or restart seqd to use "
                    "the file that is there now, and raise its counters if it is older (seqctl "
                    "advance)",
                    files_[file])};
  }
  struct statvfs system {};
  if (::statvfs(path_.c_str(), &system) != 0 || (system.f_flag & ST_RDONLY) == 0) return {};
  return {ErrorCode::UNAVAILABLE,
          fmt::format("SQLite file {}: its file system was made read-only; see the kernel's log",
                      path_)};
}

}  // namespace seqd
