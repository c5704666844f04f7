#include "daemon/main/state/state_mark.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <system_error>

#include "daemon/os/files/posix_files.h"
#include "daemon/state/decommission_mark.h"
#include "daemon/state/state_log.h"

namespace seqd {
namespace {

constexpr const char* kDirectory = "seqd-mark";
constexpr const char* kName = "has-state";

bool is_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::symlink_status(path, ignored).type() !=
         std::filesystem::file_type::not_found;
}

}  // namespace

std::string mark_directory() {
  const char* const directories = std::getenv("STATE_DIRECTORY");
  std::istringstream all(directories == nullptr ? "" : directories);
  for (std::string directory; std::getline(all, directory, ':');) {
    if (std::filesystem::path(directory).filename() == kDirectory) return directory;
  }
  return "";
}

StateMark::StateMark(const std::string& directory)
    : path_(directory.empty() ? "" : directory + "/" + kName) {}

Status StateMark::check(const std::string& state_dir) const {
  if (path_.empty() || !is_there(path_)) return {};
  const auto has = [&state_dir](const char* name) { return is_there(state_dir + "/" + name); };
  if (std::any_of(std::begin(segment_names), std::end(segment_names), has) ||
      has(decommission_mark_name))
    return {};
  return {ErrorCode::CONFIG,
          "`state_dir` " + state_dir + " has no log, but this host had one, according to " + path_ +
              ". Is its disk mounted? In an empty directory the counters of an SQLite "
              "store begin at their first ID again. Mount the disk, or move the files of the "
              "former directory there, and leave no copy behind; only if this host shall start "
              "from nothing, as after its state was moved to another host, remove " +
              path_};
}

Status StateMark::make() const {
  if (path_.empty() || is_there(path_)) return {};
  const Result<std::unique_ptr<Directory>> directory =
      open_directory(std::filesystem::path(path_).parent_path().string());
  if (!directory.ok()) return directory.status();
  if (const auto made = (*directory)->open(kName); !made.ok()) return made.status();
  return (*directory)->sync();
}

Status StateMark::remove() const {
  if (path_.empty()) return {};
  std::error_code failed;
  std::filesystem::remove(path_, failed);
  return failed ? Status(ErrorCode::STATE_IO, path_ + ": remove: " + failed.message()) : Status();
}

}  // namespace seqd
