#include "daemon/store/sqlite/sqlite_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <optional>

namespace seqd {
namespace {

constexpr std::array<const char*, 3> kEndings = {"", "-wal", "-shm"};

std::optional<FileIdentity> identity_of(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return std::nullopt;
  return FileIdentity{static_cast<std::uint64_t>(found.st_dev),
                      static_cast<std::uint64_t>(found.st_ino)};
}

}  // namespace

Status SqliteFiles::note() {
  for (std::size_t file = 0; file < kEndings.size(); ++file) {
    const std::optional<FileIdentity> found = identity_of(path_ + kEndings[file]);
    if (!found) {
      return {ErrorCode::UNAVAILABLE, fmt::format("SQLite file {}{} was removed while seqd opened "
                                                  "it; it is tried again",
                                                  path_, kEndings[file])};
    }
    identities_[file] = *found;
  }
  return {};
}

std::string SqliteFiles::replaced() const {
  for (std::size_t file = 0; file < kEndings.size(); ++file) {
    const std::string path = path_ + kEndings[file];
    if (identity_of(path) != identities_[file]) return path;
  }
  return "";
}

bool SqliteFiles::is_writable() const {
  struct statvfs found {};
  return ::statvfs(path_.c_str(), &found) == 0 && (found.f_flag & ST_RDONLY) == 0;
}

}  // namespace seqd
